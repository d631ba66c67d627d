"""Block readers for the framed last words of simulation codes: the message is what stands between head and foot.

A rank that the program itself puts before each line (``[35] ``, ``[3]PETSC ERROR: ``) is taken off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.model import Value
from logdoctor.parsers.blocks.crash_stacks import signal_of
from logdoctor.parsers.record import Bare, Block, BlockReader
from logdoctor.regexes import later

MAX_MESSAGE_LINES = 4
MAX_STACK_LINES = 90
_REASON = later(r"\bReason: (.{1,400})")
_NO_MEMORY = later(r"[Cc]ould not malloc|[Oo]ut of memory|Memory allocation failed")
_HDF5_ENTRY = later(
    r"\s+(?:#\d{3}: \S.{0,400}? in \w{1,80}\(\): (?P<said>.{1,400})|major: |minor: (?P<minor>.{1,200}))"
)
_RANK = later(r"^\s*\[\d{1,7}\] ?")
_ART = later(r"^[\s*|]*(?:\\___/|O/\||/\| \||/ \\|/  \\|\[ABORT\])?[\s|]*|[\s*|]+$")
_OTHERS = later(
    r"MPI_ABORT was invoked|application called MPI_Abort|Abort\(-?\d{1,10}\)|(?:mpirun|mpiexec|srun|slurmstepd)\b|"
    r"=+ +BAD TERMINATION|\[[\w.-]{1,255}:\d{1,10}\] |aborting job:|Fatal error on PE|"
    r"forrtl: |Image +PC +Routine|Program received signal|Backtrace for|Charmrun\b"
)
"""What MPI, a launcher or a run-time prints behind the program's own words."""
_CHARM_FRAME = later(r"\s*(?:\[\d{1,7}\] Stack Traceback|\[\d{1,7}:\d{1,4}\] |$)")
_MPI_ABORT = later(
    r"Abort\(-?\d{1,10}\) on node \d{1,7} \(rank (\d{1,7}) in comm|"
    r"application called MPI_Abort\(.{1,80}\) - process (\d{1,7})"
)
_RULE = later(r"^[\s*%=~+#-]{8,}$")
MAX_EXCEPTION_LINES = 30
_WORD = later(r"[a-z]{2}")
"""Big letters are drawn with capitals alone."""
_DEALII_PART = later(r"(?P<condition>The violated condition was:)|(?P<additional>Additional information:)")


def message_below(stop: str, *, skip: str = r"$^", alone: bool = False) -> BlockReader:
    """A reader that joins the lines below the head to its message, up to a line like ``stop``; not those of ``skip``.

    Where no message follows it is no such record, unless its head says enough ``alone``.
    """
    ends, passed = later(stop), later(skip)

    def read(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
        said, taken, proof = [str(fields.get("message", "")).strip()], list[int](), 0
        for line in islice(below, 16):
            text = _RANK.sub("", line.text).strip()
            if (
                ends.search(text)
                or _OTHERS.match(text)
                or (_RULE.match(text) and any(said))
                or sum(map(bool, said)) >= MAX_MESSAGE_LINES
            ):
                break
            taken.append(line.below)
            if not _RULE.match(text) and not passed.search(text):
                said.append(_ART.sub("", text))
                proof = proof or (line.below if said[-1] and not said[0] else 0)
        message = " ".join(part for part in said if part)
        if not message:
            return Block(head.text) if alone else None
        text = head.text if message in head.text else f"{head.text}\n{message}"
        return Block(text, {"message": message}, tuple(taken), proof)

    return read


def named_below(heads: str, inputs: str, read: BlockReader) -> BlockReader:
    """A reader of a line that names the rank above one of ``heads``, whose message ``read`` reads.

    Those of ``inputs`` say that the program cannot use its input.
    """
    wanted, refused = later(heads), later(inputs)

    def read_both(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
        del head
        first = next((line for line in islice(below, MAX_MESSAGE_LINES) if line.text.strip()), None)
        block = read(first, {}, below) if first and wanted.match(first.text) else None
        if first is None or block is None:
            return None
        kind = "simulation.input" if refused.match(first.text) else ""
        return Block(block.text, {**fields, **block.fields}, (first.below, *block.taken), first.below, kind=kind)

    return read_both


def read_dealii_error(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """deal.II's text of an exception: message is what it says additionally, else the condition that did not hold."""
    del fields
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
    said = parts["additional"] if "".join(parts["additional"]) not in ("", "(none)") else parts["condition"]
    message = " ".join(said[:MAX_MESSAGE_LINES])
    return Block(f"{head.text}\n{message}".strip(), {"message": message} if message else {}, tuple(taken))


def read_arrow(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """DFTB+'s lines behind ``->``; other programs put something else, or nothing, under such a head."""
    del fields
    said, taken = list[str](), list[int]()
    for line in islice(below, MAX_MESSAGE_LINES):
        if not line.text.startswith("-> "):
            break
        said.append(line.text[3:].strip())
        taken.append(line.below)
    message = " ".join(said)
    return Block(f"{head.text}\n{message}", {"message": message}, tuple(taken)) if said else None


def read_vasp_box(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """What VASP says in its box, below the big letters and above that it refuses to go on."""
    del fields
    said, taken = list[str](), list[int]()
    for line in islice(below, MAX_EXCEPTION_LINES):
        text = line.text.strip(" |")
        if _RULE.match(line.text) or text.startswith("---->"):
            taken.append(line.below)
            break
        taken.append(line.below)
        if _WORD.search(text):
            said.append(text)
    message = " ".join(said[:MAX_MESSAGE_LINES])
    return Block(f"{head.text}\n{message}".strip(), {"message": message} if message else {}, tuple(taken))


def read_foam_stack(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """The head of OpenFOAM's stack; None where it is that of a signal handler, which speaks for itself."""
    del fields
    return None if any("::sigHandler" in line.text for line in islice(below, MAX_MESSAGE_LINES)) else Block(head.text)


def read_charm_end(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """Charm++'s ``Processor N Exiting: …`` and the ``Reason:`` under it: message, and signal where one was caught.

    The number is that of a worker thread.  Where MPI's abort under the stack names the rank, that is who ended.
    """
    said, taken = list[str](), list[int]()
    rest = list(islice(below, MAX_STACK_LINES))
    for line in rest[:MAX_MESSAGE_LINES]:
        text = line.text.strip(" $")
        reason = _REASON.search(text)
        if not text or (reason is None) == (not said) or _OTHERS.match(text):
            break
        said.append(reason[1] if reason else text)
        taken.append(line.below)
    message = " ".join(said)
    kind = "simulation.no_memory" if _NO_MEMORY.search(message) else ""
    more = dict(signal_of({"message": message})) if "Signal" in str(fields.get("how", "")) else {}
    under = next((line.text for line in rest[len(taken) :] if not _CHARM_FRAME.match(line.text)), "")
    if abort := _MPI_ABORT.match(under):
        more["rank"] = int(abort[1] or abort[2])
    text = f"{head.text}\n{message}".strip()
    return Block(text, {"message": message, **more}, tuple(taken), taken[0] if taken else 0, kind=kind)


def read_hdf5_stack(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """HDF5's error stack: message is the innermost text, with its minor code; that line is the one to quote."""
    del fields
    said, taken, proof, minor = [head.text], list[int](), 0, ""
    message = ""
    for line in islice(below, MAX_STACK_LINES):
        entry = _HDF5_ENTRY.match(line.text)
        if entry is None:
            break
        taken.append(line.below)
        if entry["said"]:
            message, proof, minor = entry["said"].strip(), line.below, ""
            said.append(line.text.strip())
        minor = entry["minor"] or minor
    if not message:
        return Block(head.text)
    message = f"{message} ({minor.strip()})" if minor else message
    return Block("\n".join([*said, message]), {"message": message}, tuple(taken), proof)
