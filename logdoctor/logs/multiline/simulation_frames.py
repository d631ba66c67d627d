"""Framed error messages of simulation codes. The message stands between head and foot.

A rank that the program puts before each line (``[35] ``, ``[3]PETSC ERROR: ``) is removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.multiline.crash_stacks import signal_field
from logdoctor.logs.multiline.lines_below import matching, numbers_of
from logdoctor.logs.record_pattern import Message, Multiline, MultilineReader
from logdoctor.model import Value
from logdoctor.model.numbers import number_fields
from logdoctor.pack.regexes import later

MAX_MESSAGE_LINES = 4
MAX_STACK_LINES = 90
_REASON = later(r"\bReason: (.{1,400})")
_NO_MEMORY = later(r"[Cc]ould not malloc|[Oo]ut of memory|Memory allocation failed")
_HDF5_ENTRY = later(
    r"\s+(?:#\d{3}: \S.{0,400}? in \w{1,80}\(\): (?P<said>.{1,400})|major: |minor: (?P<minor>.{1,200}))"
)
_RANK = later(r"^\s*\[\d{1,7}\] ?")
_ART = later(r"^[\s*|]*(?:\\___/|O/\||/\| \||/ \\|/  \\|\[ABORT\])?[\s|]*|[\s*|]+$")
_OTHER_OUTPUT = later(
    r"MPI_ABORT was invoked|application called MPI_Abort|Abort\(-?\d{1,10}\)|(?:mpirun|mpiexec|srun|slurmstepd)\b|"
    r"=+ +BAD TERMINATION|\[[\w.-]{1,255}:\d{1,10}\] |aborting job:|Fatal error on PE|"
    r"forrtl: |Image +PC +Routine|Program received signal|Backtrace for|Charmrun\b"
)
"""Lines that MPI, a launcher or a run-time prints behind the program's message."""
_CHARM_FRAME = later(r"\s*(?:\[\d{1,7}\] Stack Traceback|\[\d{1,7}:\d{1,4}\] |$)")
_MPI_ABORT = later(
    r"Abort\(-?\d{1,10}\) on node \d{1,7} \(rank (\d{1,7}) in comm|"
    r"application called MPI_Abort\(.{1,80}\) - process (\d{1,7})"
)
_ARROW = later(r"-> (?P<said>.*)")
_RULE = later(r"^[\s*%=~+#-]{8,}$")
MAX_EXCEPTION_LINES = 30
_WORD = later(r"[a-z]{2}")
"""Two small letters. The big letters in the box are drawn with capitals only."""
_DEALII_PART = later(r"(?P<condition>The violated condition was:)|(?P<additional>Additional information:)")


def message_reader(stop: str, *, skip: str = r"$^", alone: bool = False) -> MultilineReader:
    """Return a reader that joins the lines below to a message.

    The message ends at a line that matches ``stop``. Lines that match ``skip`` are left out. Without a message the
    reader returns None, unless ``alone`` says that the head is enough.
    """
    stop_pattern, skipped = later(stop), later(skip)

    def read(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
        texts, taken, evidence = [str(fields.get("message", "")).strip()], list[int](), 0
        for line in islice(below, 16):
            text = _RANK.sub("", line.text).strip()
            if (
                stop_pattern.search(text)
                or _OTHER_OUTPUT.match(text)
                or (_RULE.match(text) and any(texts))
                or sum(map(bool, texts)) >= MAX_MESSAGE_LINES
            ):
                break
            taken.append(line.below)
            if not _RULE.match(text) and not skipped.search(text):
                texts.append(_ART.sub("", text))
                evidence = evidence or (line.below if texts[-1] and not texts[0] else 0)
        message = " ".join(part for part in texts if part)
        if not message:
            return Multiline(head.text) if alone else None
        text = head.text if message in head.text else f"{head.text}\n{message}"
        return Multiline(text, {"message": message}, tuple(taken), evidence)

    return read


def ranked_message_reader(heads: str, inputs: str, stop: str, skip: str) -> MultilineReader:
    """Return a reader for a rank's line above a framed message.

    The head of the frame matches ``heads``. A head that matches ``inputs`` says that the program cannot use its input.
    For ``stop`` and ``skip`` see `message_reader`.
    """
    read = message_reader(stop, skip=skip)
    head_pattern, input_pattern = later(heads), later(inputs)

    def read_ranked(_head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
        first = next((line for line in islice(below, MAX_MESSAGE_LINES) if line.text.strip()), None)
        multiline = read(first, {}, below) if first and head_pattern.match(first.text) else None
        if first is None or multiline is None:
            return None
        kind = "simulation.input" if input_pattern.match(first.text) else ""
        return Multiline(
            multiline.text, {**fields, **multiline.fields}, (first.below, *multiline.taken), first.below, kind=kind
        )

    return read_ranked


def read_dealii_error(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read deal.II's text of an exception.

    The message is the additional information, else the condition that was violated.
    """
    parts, part = {"condition": list[str](), "additional": list[str]()}, ""
    taken = list[int]()
    for line in islice(below, MAX_EXCEPTION_LINES):
        text = line.text.strip()
        if _RULE.match(text) or text.startswith("Stacktrace:") or (not text and parts["additional"]):
            break
        heading = _DEALII_PART.match(text)
        part = heading.lastgroup or "" if heading else part
        if part and text and heading is None:
            parts[part].append(text)
            taken.append(line.below)
    texts = parts["additional"] if "".join(parts["additional"]) not in ("", "(none)") else parts["condition"]
    message = " ".join(texts[:MAX_MESSAGE_LINES])
    return Multiline(f"{head.text}\n{message}".strip(), {"message": message} if message else {}, tuple(taken))


def read_arrow(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read DFTB+'s lines behind ``->``. Return None if none follow, because other programs print such heads."""
    lines = [*matching(below, _ARROW, MAX_MESSAGE_LINES)]
    message = " ".join(arrow["said"].strip() for _, arrow in lines)
    taken = numbers_of(line for line, _ in lines)
    return Multiline(f"{head.text}\n{message}", {"message": message}, taken) if lines else None


def read_vasp_box(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the message in VASP's box, below the big letters."""
    texts, taken = list[str](), list[int]()
    for line in islice(below, MAX_EXCEPTION_LINES):
        text = line.text.strip(" |")
        if _RULE.match(line.text) or text.startswith("---->"):
            taken.append(line.below)
            break
        taken.append(line.below)
        if _WORD.search(text):
            texts.append(text)
    message = " ".join(texts[:MAX_MESSAGE_LINES])
    return Multiline(f"{head.text}\n{message}".strip(), {"message": message} if message else {}, tuple(taken))


def read_charm_end(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read Charm++'s ``Processor N Exiting: …`` and the ``Reason:`` below.

    Fields: message, and signal if one was caught. N is the number of a worker thread. MPI's abort below the stack names
    the rank that ended.
    """
    texts, taken = list[str](), list[int]()
    rest = list(islice(below, MAX_STACK_LINES))
    for line in rest[:MAX_MESSAGE_LINES]:
        text = line.text.strip(" $")
        reason = _REASON.search(text)
        if not text or (reason is None) == (not texts) or _OTHER_OUTPUT.match(text):
            break
        texts.append(reason[1] if reason else text)
        taken.append(line.below)
    message = " ".join(texts)
    kind = "simulation.no_memory" if _NO_MEMORY.search(message) else ""
    extra = dict(signal_field({"message": message})) if "Signal" in str(fields.get("how", "")) else {}
    next_text = next((line.text for line in rest[len(taken) :] if not _CHARM_FRAME.match(line.text)), "")
    if abort := _MPI_ABORT.match(next_text):
        extra |= number_fields({"rank": abort[1] or abort[2]})
    text = f"{head.text}\n{message}".strip()
    return Multiline(text, {"message": message, **extra}, tuple(taken), taken[0] if taken else 0, kind=kind)


def read_hdf5_stack(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read HDF5's error stack. The message is the innermost text with its minor code.

    The line to quote is the line with that text.
    """
    texts, taken, evidence, minor = [head.text], list[int](), 0, ""
    message = ""
    for line, entry in matching(below, _HDF5_ENTRY, MAX_STACK_LINES):
        taken.append(line.below)
        if entry["said"]:
            message, evidence, minor = entry["said"].strip(), line.below, ""
            texts.append(line.text.strip())
        minor = entry["minor"] or minor
    if not message:
        return Multiline(head.text)
    message = f"{message} ({minor.strip()})" if minor else message
    return Multiline("\n".join([*texts, message]), {"message": message}, tuple(taken), evidence)
