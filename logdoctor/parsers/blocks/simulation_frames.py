"""Block readers for the framed last words of simulation codes: the message is what stands between head and foot.

A rank that the program itself puts before each line (``[35] ``, ``[3]PETSC ERROR: ``) is taken off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.model import Value
from logdoctor.parsers.record import Bare, Block, BlockReader
from logdoctor.regexes import later

MAX_MESSAGE_LINES = 4
_RANK = later(r"^\s*\[\d{1,7}\] ?")
_ART = later(r"^[\s*|]*(?:\\___/|O/\||/\| \||/ \\|/  \\|\[ABORT\])?[\s|]*|[\s*|]+$")
_OTHERS = later(
    r"MPI_ABORT was invoked|application called MPI_Abort|Abort\(-?\d{1,10}\)|(?:mpirun|mpiexec|srun|slurmstepd)\b|"
    r"=+ +BAD TERMINATION|\[[\w.-]{1,255}:\d{1,10}\] |forrtl: |Image +PC +Routine|Program received signal|Backtrace for"
)
"""What MPI, a launcher or a run-time prints behind the program's own words."""
_RULE = later(r"^[\s*%=~+#-]{8,}$")


def message_below(stop: str, *, skip: str = r"$^", alone: bool = False) -> BlockReader:
    """A reader that joins the lines below the head to its message, up to a line like ``stop``; not those of ``skip``.

    Where no message follows it is no such record, unless its head says enough ``alone``.
    """
    ends, passed = later(stop), later(skip)

    def read(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
        said, taken = [str(fields.get("message", "")).strip()], list[int]()
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
        message = " ".join(part for part in said if part)
        if not message:
            return Block(head.text) if alone else None
        text = head.text if message in head.text else f"{head.text}\n{message}"
        return Block(text, {"message": message}, tuple(taken))

    return read
