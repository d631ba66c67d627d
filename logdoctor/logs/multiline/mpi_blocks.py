"""Crash reports and errors of MPI libraries.

They come from Open MPI's crash reports and error handlers, MPICH's error stacks, Hydra and MPD. Open MPI puts
``[HOST:PID] `` before every line of such a record. Lines of other processes in between are skipped.

Sources: opal/util/stacktrace.c and ompi/errhandler/errhandler_predefined.c (Open MPI 3.0-5.0), MPICH 3.1-4.2
src/mpi/errhan and src/pm/hydra (Intel MPI: the same with a RANK column), MVAPICH2 2.3 error_sighandler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice

import regex

from logdoctor.logs.multiline.crash_stacks import stack_fields
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.model.numbers import number_fields, number_or_text
from logdoctor.pack.regexes import later

MAX_FRAMES = 40
MAX_LINES = 120
MAX_LINE_CHARS = 1000

_PREFIX = later(r"\s*(?:\[(?P<host>[\w.-]{1,255}):(?P<pid>\d{1,10})\] ?)?(?P<rest>.*)", regex.DOTALL)
_FRAME = later(
    r"\[ *\d+\] (?:\[\d+,\d+\]<std\w{3}>:)?(?:(?P<lib>[^\s(\[]{1,400})(?:\((?P<function>[^()+]{0,300})[^)]{0,40}\))?)"
)
_SYSTEM = later(r"lib(?:c|pthread|stdc\+\+|gcc_s|open-pal|open-rte)[.-]|ld-linux|linux-vdso")
_SIGNAL = (
    ("signal", later(r"Signal: .{0,80}?\((\d{1,3})\)")),
    ("code", later(r"Signal code: (.{0,80}?)\s*(?:\(-?\d+\))?$")),
    ("address", later(r"Failing at address: ([^\s\[]{1,40})")),
)
_HANDLER = (
    ("rank", later(r"reported by process \[\d+,(\d{1,7})\]")),
    ("communicator", later(r"on (?:communicator |a )(.{1,120})$")),
    ("error_class", later(r"(MPI_(?:ERR|T_ERR)_\w+|MPI_SUCCESS)\b")),
    ("message", later(r"MPI_(?:ERR|T_ERR)_\w+: (.{1,300})$")),
)
_STACK = later(r"\s*(?P<at>(?:[\w:]{2,120}|\(unknown\))\(\d{0,6}\))[. ]*:\s?(?P<said>.*)")
_MSMPI_STACK = later(r"P?MPI_\w+\(.{0,600}\) failed\s*$")
"""The first line of an error stack of Microsoft MPI, which prints the call without function and line."""
_ARGUMENTS = later(r"[\w .,=()<>*/-]{0,200}[,)=][\w .,=()<>*/-]{0,80}")
_ABORT_CODE = later(r"application called MPI_Abort\([^,]{1,80}, (?P<exit_code>-?\d{1,11})\)")
_MPD_END = later(
    r"[Ee]xit status of rank \d{1,7}: (?:killed by signal (?P<signal>\d{1,3})|return code (?P<exit_code>\d{1,3}))"
)
_DASHES = later(r"\s*={20,}\s*")
_SIGNALS = range(129, 160)
"""Exit codes of a process that a signal ended."""
_BAD_END = later(
    r"(?:= +)?(?:RANK (?P<rank>\d{1,7}) )?PIDS? (?P<pid>\d{1,10}) RUNNING AT (?:[\w.-]+@)?(?P<host>[\w.-]+)|"
    r"(?:= +)?EXIT (?:CODE|STATUS): (?P<exit_code>-?\d{1,10})|(?:= +)?KILLED BY SIGNAL: (?P<signal>\d{1,3})|"
    r"(?:YOUR )?APPLICATION TERMINATED WITH THE EXIT STRING: .{0,60}?\(signal (?P<string_signal>\d{1,3})\)|"
    r"(?:= +)?(?:CLEANING UP|YOU CAN IGNORE|BAD TERMINATION)|=\s*$|(?:YOUR )?APPLICATION TERMINATED WITH|"
    r"This typically refers to a problem with|Please see the FAQ page"
)


def _same_process(head: Message, below: Iterator[Message], limit: int = MAX_LINES) -> Iterator[tuple[Message, str]]:
    """Yield the lines with the head's ``[HOST:PID]``, and their text."""
    head_match = _PREFIX.match(head.text)
    process = (head_match["host"], head_match["pid"]) if head_match else (None, None)
    for line in islice(below, limit):
        match = _PREFIX.match(line.text)
        if match and (match["host"], match["pid"]) == process:
            yield line, match["rest"]


def read_crash(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read Open MPI's crash report.

    Fields: signal, code, address, ``frames`` (functions, innermost first), ``library``.
    """
    taken, frames, libraries = list[int](), list[str](), list[str]()
    values: dict[str, Value] = {}
    signal_at = head.text.find("Signal: ")
    texts = ["Process received signal"] if "Process received signal" in head.text else []
    if signal_at >= 0:  # the head was cut, or the lines of two processes ran into one
        texts.append(head.text[signal_at:])
        values.update(_first_matches(_SIGNAL, texts[-1]))
    evidence = 0
    for line, rest in _same_process(head, below):
        frame = _FRAME.match(rest)
        ends = "End of error message" in rest
        if not (frame or ends or rest.startswith(("Signal", "Failing at", "Associated errno", "[", "***")) or not rest):
            break
        taken.append(line.below)
        if ends:
            break
        if frame:
            _add_frame(frame["function"], frame["lib"], frames, libraries)
        elif rest:
            texts.append(rest)
            values.update(_first_matches(_SIGNAL, rest))
            evidence = line.below if "Signal:" in rest else evidence
    return Multiline("\n".join(texts + frames), values | stack_fields(frames, libraries), tuple(taken), evidence)


def read_crash_frames(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the frames of a crash report without its head.

    Fields: ``frames`` and ``library``, as in `read_crash`. Return None for frames of system libraries only, unless the
    report's last line follows. Such a stack can be of any kind. Return None as well if a frame is abort. Its lines are
    then read one by one and show the caller of abort.
    """
    taken, frames, libraries = list[int](), list[str](), list[str]()
    match = _PREFIX.match(head.text)
    rest = match["rest"] if match else head.text
    ends, evidence = False, 0
    for line, text in chain(((None, rest),), _same_process(head, below)):
        frame = _FRAME.match(text)
        ends = "End of error message" in text
        if line and (frame or ends):
            taken.append(line.below)
        if not frame:
            break
        count = len(libraries)
        _add_frame(frame["function"], frame["lib"], frames, libraries)
        if line and not count and libraries:
            evidence = line.below
    if not (libraries or ends) or "abort" in frames:
        return None
    return Multiline("\n".join((rest, *frames)), stack_fields(frames, libraries), tuple(taken), evidence)


def _add_frame(function: str | None, lib: str | None, frames: list[str], libraries: list[str]) -> None:
    if function and len(frames) < MAX_FRAMES:
        frames.append(function)
    if lib and not _SYSTEM.search(lib):
        libraries.append(lib)


def _first_matches(patterns: tuple[tuple[str, regex.Pattern[str]], ...], text: str) -> dict[str, Value]:
    """Return, for each name, the first match of its pattern in ``text``."""
    matches = ((name, pattern.search(text)) for name, pattern in patterns)
    return {name: number_or_text(match[1]) for name, match in matches if match}


def read_error_handler(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read Open MPI's ``*** An error occurred in MPI_X``.

    Fields: communicator, error_class, message, rank (in MPI_COMM_WORLD).
    """
    match = _PREFIX.match(head.text)
    texts, taken = [match["rest"].strip("* ") if match else head.text], list[int]()
    values: dict[str, Value] = {}
    evidence = 0
    for line, raw in _same_process(head, below, 12):
        rest = raw.replace("**\\*", "***", 1)  # a copy from Markdown escapes the stars
        if not rest.startswith("***"):
            if rest.strip():
                break
            continue
        if "An error occurred in" in rest or "received signal" in rest:
            break
        taken.append(line.below)
        texts.append(rest.strip("* "))
        for name, value in _first_matches(_HANDLER, rest).items():
            values.setdefault(name, value)
        if "MPI_ERR_" in rest or "NULL communicator" in rest:
            evidence = line.below  # names the error, or says that MPI was not initialised
    return Multiline("\n".join(texts), values, tuple(taken), evidence)


def read_error_stack(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read MPICH's error stack, which prints ``function(line)....: text`` on each line.

    ``message`` is the innermost text. ``innermost`` is the function of the last line, whose name shows the part of MPI.
    """
    texts, taken = [head.text.strip()], list[int]()
    innermost = deepest = ""
    evidence = 0
    message_lines = (
        2 if "aborting job" in head.text else int(head.text.rstrip().endswith(":") and "stack:" not in head.text)
    )
    without_place = False
    for line in islice(below, MAX_FRAMES):
        match = _STACK.match(line.text)
        if match is None:
            text = line.text.strip()
            without_place = without_place or bool(not taken and _MSMPI_STACK.match(text))
            if deepest and _continues(texts[-1], text):
                taken.append(line.below)
                texts[-1] += text
                continue
            if text and (len(taken) < message_lines or text == "failed" or (without_place and text[0] not in "[-")):
                innermost = text if without_place and taken else innermost
                taken.append(line.below)
                texts.append(text)
                continue
            break
        taken.append(line.below)
        texts.append(f"{match['at']}: {match['said'].strip()}".strip(": "))
        evidence = line.below if match["said"].strip() else evidence
        innermost, deepest = match["said"].strip() or innermost, match["at"].partition("(")[0]
    extra: dict[str, Value] = {k: v for k, v in (("message", innermost), ("innermost", deepest)) if v}
    texts[0] = texts[0].replace(" in internal_", " in MPI_", 1)  # MPICH 4 names its own functions; programs call MPI_X
    function = str(fields.get("function", ""))
    if function.startswith("internal_"):
        fields = {**fields, "function": f"MPI_{function.removeprefix('internal_')}"}
    text = "\n".join(texts)
    if abort := _ABORT_CODE.search(text):
        extra |= number_fields(abort.groupdict())
    return Multiline(text, {**extra, **fields}, tuple(taken), evidence)


def _continues(line: str, text: str) -> bool:
    """Return True if ``text`` continues a line broken within parentheses."""
    return line.count("(") > line.count(")") and len(line) < MAX_LINE_CHARS and _ARGUMENTS.fullmatch(text) is not None


def read_bad_termination(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read Hydra's BAD TERMINATION: rank (Intel MPI), pid, host, exit_code, signal.

    A small exit code is one of the program, unless the exit string below the block tells a signal.
    """
    texts, taken = [head.text.strip("= ")], list[int]()
    values: dict[str, Value] = dict(fields)
    evidence = 0
    for line in islice(below, 14):
        match = _BAD_END.match(line.text.strip())
        if match is None and line.text.strip() and not _DASHES.fullmatch(line.text):
            break
        if match and "BAD TERMINATION" in line.text:
            break
        taken.append(line.below)
        if match:
            texts.append(line.text.strip("= "))
            evidence = line.below if match["exit_code"] or match["signal"] else evidence
            for name, value in match.groupdict().items():
                if value is not None:
                    values.setdefault(name.removeprefix("string_"), number_or_text(value))
    if isinstance(code := values.get("exit_code"), int) and code in _SIGNALS:
        values.setdefault("signal", code - _SIGNALS.start + 1)
    return Multiline("\n".join(s for s in texts if s), values, tuple(taken), evidence)


def read_mpd_end(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read MPD's two lines about the end of a rank. ``signal`` or ``exit_code`` come from the second."""
    for line in islice(below, 3):
        if match := _MPD_END.search(line.text):
            end_fields = number_fields(match.groupdict())
            return Multiline(f"{head.text}\n{line.text.strip()}", end_fields, (line.below,), line.below)
        if line.text.strip():
            break
    return Multiline(head.text)


def read_own_host(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Return the host that prefixes the line as ``peer``."""
    host = fields.get("host") or head.source.host
    return Multiline(head.text, {"peer": host} if host else {})
