"""Block readers for what MPI libraries print over several lines: crash reports, error handlers, Hydra's last words.

Open MPI puts ``[HOST:PID] `` before every line of such a block; a line of another process in between is passed over.
Sources: opal/util/stacktrace.c and ompi/errhandler/errhandler_predefined.c (Open MPI 3.0-5.0), MPICH 3.1-4.2
src/mpi/errhan and src/pm/hydra (Intel MPI: the same with a RANK column), MVAPICH2 2.3 error_sighandler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice

import regex

from logdoctor.model import Value
from logdoctor.parsers.record import Bare, Block
from logdoctor.parsers.signals import signal_number
from logdoctor.regexes import later

MAX_FRAMES = 40
MAX_LINES = 120
MAX_SAID = 1000

_OWN = later(r"\s*(?:\[(?P<host>[\w.-]{1,255}):(?P<pid>\d{1,10})\] ?)?(?P<rest>.*)", regex.DOTALL)
_FRAME = later(r"\[ *\d+\] (?:(?P<lib>[^\s(\[]{1,400})(?:\((?P<function>[^()+]{0,300})[^)]{0,40}\))?)")
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
_BARE_STACK = later(r"P?MPI_\w+\(.{0,600}\) failed\s*$")
"""Microsoft MPI leaves function and line out: the call, then what went wrong in it."""
_ARGUMENTS = later(r"[\w .,=()<>*/-]{0,200}[,)=][\w .,=()<>*/-]{0,80}")
_SAID_ABORT = later(r"application called MPI_Abort\([^,]{1,80}, (?P<exit_code>-?\d{1,11})\)")
_MPD_END = later(
    r"[Ee]xit status of rank \d{1,7}: (?:killed by signal (?P<signal>\d{1,3})|return code (?P<exit_code>\d{1,3}))"
)
_DASHES = later(r"\s*={20,}\s*")
_BAD_END = later(
    r"(?:= +)?(?:RANK (?P<rank>\d{1,7}) )?PIDS? (?P<pid>\d{1,10}) RUNNING AT (?:[\w.-]+@)?(?P<host>[\w.-]+)|"
    r"(?:= +)?EXIT (?:CODE|STATUS): (?P<exit_code>-?\d{1,10})|(?:= +)?KILLED BY SIGNAL: (?P<signal>\d{1,3})|"
    r"(?:YOUR )?APPLICATION TERMINATED WITH THE EXIT STRING: .{0,60}?\(signal (?P<string_signal>\d{1,3})\)|"
    r"(?:= +)?(?:CLEANING UP|YOU CAN IGNORE|BAD TERMINATION)|=\s*$|(?:YOUR )?APPLICATION TERMINATED WITH|"
    r"This typically refers to a problem with|Please see the FAQ page"
)


def _same_process(head: Bare, below: Iterator[Bare], limit: int = MAX_LINES) -> Iterator[tuple[Bare, str]]:
    """The lines below whose ``[HOST:PID]`` is the head's, without it; the lines of other processes are left out."""
    mine = _OWN.match(head.text)
    who = (mine["host"], mine["pid"]) if mine else (None, None)
    for line in islice(below, limit):
        own = _OWN.match(line.text)
        if own and (own["host"], own["pid"]) == who:
            yield line, own["rest"]


def read_crash(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """Open MPI's crash report: signal, code, address, ``frames`` (functions, innermost first) and ``library``."""
    del fields
    said, taken, frames, libraries = ["Process received signal"], list[int](), list[str](), list[str]()
    found: dict[str, Value] = {}
    glued = head.text.find("Signal: ")
    if glued > 0:  # the next line stands behind the head where two processes wrote at once
        said.append(head.text[glued:])
        found.update(_first_found(_SIGNAL, said[-1]))
    proof = 0
    for line, rest in _same_process(head, below):
        frame = _FRAME.match(rest)
        ends = "End of error message" in rest
        if not (frame or ends or rest.startswith(("Signal", "Failing at", "Associated errno", "[", "***")) or not rest):
            break
        taken.append(line.below)
        if ends:
            break
        if frame:
            _note_frame(frame["function"], frame["lib"], frames, libraries)
        elif rest:
            said.append(rest)
            found.update(_first_found(_SIGNAL, rest))
            proof = line.below if "Signal:" in rest else proof
    if frames:
        found["frames"] = tuple(frames)
    if libraries:
        found["library"] = libraries[0]
    return Block("\n".join(said + frames), found, tuple(taken), proof)


def read_crash_frames(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """The frames of a crash report whose head is missing: ``frames`` and ``library``, as `read_crash` does.

    None for frames of nothing but the system's libraries without the report's last line (a stack of any kind), and
    for those that end in abort: who called it is told of the frames themselves.
    """
    del fields
    taken, frames, libraries = list[int](), list[str](), list[str]()
    own = _OWN.match(head.text)
    rest = own["rest"] if own else head.text
    ends, proof = False, 0
    for line, text in chain(((None, rest),), _same_process(head, below)):
        frame = _FRAME.match(text)
        ends = "End of error message" in text
        if line and (frame or ends):
            taken.append(line.below)
        if not frame:
            break
        known = len(libraries)
        _note_frame(frame["function"], frame["lib"], frames, libraries)
        if line and not known and libraries:
            proof = line.below
    if not (libraries or ends) or "abort" in frames:
        return None
    found: dict[str, Value] = {"frames": tuple(frames)} if frames else {}
    if libraries:
        found["library"] = libraries[0]
    return Block("\n".join((rest, *frames)), found, tuple(taken), proof)


def _note_frame(function: str | None, lib: str | None, frames: list[str], libraries: list[str]) -> None:
    if function and len(frames) < MAX_FRAMES:
        frames.append(function)
    if lib and not _SYSTEM.search(lib):
        libraries.append(lib)


def _first_found(patterns: tuple[tuple[str, regex.Pattern[str]], ...], text: str) -> dict[str, Value]:
    """What the first pattern of each name finds in ``text``."""
    hits = ((name, pattern.search(text)) for name, pattern in patterns)
    return {name: int(hit[1]) if hit[1].isdecimal() else hit[1] for name, hit in hits if hit}


def read_error_handler(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """Open MPI's ``*** An error occurred in MPI_X`` lines: communicator, error_class, message, world rank."""
    del fields
    own = _OWN.match(head.text)
    said, taken = [own["rest"].strip("* ") if own else head.text], list[int]()
    found: dict[str, Value] = {}
    proof = 0
    for line, printed in _same_process(head, below, 12):
        rest = printed.replace("**\\*", "***", 1)  # as Markdown writes it
        if not rest.startswith("***"):
            if rest.strip():
                break
            continue
        if "An error occurred in" in rest or "received signal" in rest:
            break
        taken.append(line.below)
        said.append(rest.strip("* "))
        for name, value in _first_found(_HANDLER, rest).items():
            found.setdefault(name, value)
        if "MPI_ERR_" in rest or "NULL communicator" in rest:
            proof = line.below  # says what was wrong, or that MPI was not even up
    return Block("\n".join(said), found, tuple(taken), proof)


def read_error_stack(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """MPICH's error stack, one ``function(line): text`` a line without its dots.

    ``message`` is the innermost text, ``innermost`` the function of the last line, whose name tells the part of MPI.
    """
    said, taken = [head.text.strip()], list[int]()
    innermost = deepest = ""
    proof = 0
    words_first = (
        2 if "aborting job" in head.text else int(head.text.rstrip().endswith(":") and "stack:" not in head.text)
    )
    bare = False
    for line in islice(below, MAX_FRAMES):
        found = _STACK.match(line.text)
        if found is None:
            text = line.text.strip()
            bare = bare or bool(not taken and _BARE_STACK.match(text))
            if deepest and _goes_on(said[-1], text):
                taken.append(line.below)
                said[-1] += text
                continue
            if text and (len(taken) < words_first or text == "failed" or (bare and text[0] not in "[-")):
                innermost = text if bare and taken else innermost
                taken.append(line.below)
                said.append(text)
                continue
            break
        taken.append(line.below)
        said.append(f"{found['at']}: {found['said'].strip()}".strip(": "))
        proof = line.below if found["said"].strip() else proof
        innermost, deepest = found["said"].strip() or innermost, found["at"].partition("(")[0]
    more: dict[str, Value] = {k: v for k, v in (("message", innermost), ("innermost", deepest)) if v}
    said[0] = said[0].replace(" in internal_", " in MPI_", 1)  # MPICH 4 names its own functions; programs call MPI_X
    function = str(fields.get("function", ""))
    if function.startswith("internal_"):
        fields = {**fields, "function": f"MPI_{function.removeprefix('internal_')}"}
    text = "\n".join(said)
    if abort := _SAID_ABORT.search(text):
        more["exit_code"] = int(abort["exit_code"])
    return Block(text, {**more, **fields}, tuple(taken), proof)


def _goes_on(said: str, text: str) -> bool:
    """Whether a line that was broken within its parentheses goes on with ``text``."""
    return said.count("(") > said.count(")") and len(said) < MAX_SAID and _ARGUMENTS.fullmatch(text) is not None


def read_bad_termination(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """Hydra's BAD TERMINATION block: rank (Intel MPI), pid, host, exit_code as printed (a wait status), signal."""
    said, taken = [head.text.strip("= ")], list[int]()
    found: dict[str, Value] = dict(fields)
    proof = 0
    for line in islice(below, 14):
        part = _BAD_END.match(line.text.strip())
        if part is None and line.text.strip() and not _DASHES.fullmatch(line.text):
            break
        if part and "BAD TERMINATION" in line.text:
            break
        taken.append(line.below)
        if part:
            said.append(line.text.strip("= "))
            proof = line.below if part["exit_code"] or part["signal"] else proof
            for name, value in part.groupdict().items():
                if value is not None:
                    found.setdefault(name.removeprefix("string_"), int(value) if value.isdecimal() else value)
    return Block("\n".join(s for s in said if s), found, tuple(taken), proof)


def read_mpd_end(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """MPD's two lines about a rank that ended: ``signal`` or ``exit_code`` from the second."""
    del fields
    for line in islice(below, 3):
        if found := _MPD_END.search(line.text):
            given = {k: int(v) for k, v in found.groupdict().items() if v}
            return Block(f"{head.text}\n{line.text.strip()}", given, (line.below,), line.below)
        if line.text.strip():
            break
    return Block(head.text)


def with_signal(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """One line that names a signal in words (field ``signal_text``): its number as ``signal``."""
    del below
    number = signal_number(str(fields.get("signal_text", "")))
    return Block(head.text, {} if number is None else {"signal": number})


def on_nid(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """A line of ALPS about a node by number: ``host`` as the node is called, ``signal`` where the line has one."""
    named = with_signal(head, fields, below)
    return Block(head.text, {**(named.fields if named else {}), "host": f"nid{fields.get('nid', 0):0>5}"})


def of_its_host(head: Bare, fields: Mapping[str, Value], _below: Iterator[Bare]) -> Block:
    """A line about the node that stands in front of it: ``peer``."""
    host = fields.get("host") or head.speaker.host
    return Block(head.text, {"peer": host} if host else {})
