"""What goes in: a job, its streams and lines, and the events that are recognised in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import IO, Annotated, Literal, Protocol

from msgspec import Meta, Struct, field
from msgspec.structs import replace

Level = Literal["fatal", "error", "warning", "info"]
"""How loud the program itself was: ``fatal`` it says that it ends, ``error`` it says that something failed."""

Meaning = Literal[
    "own end",  # a process says why it ends itself: the first such end that nothing explains is the cause
    "end told",  # others say that a process ended; ``signal``, ``exit_code``, ``rank``, ``pid`` say how and which
    "named end",  # a launcher names the process whose end it noticed first
    "own rank",  # a process tells its rank: its other lines, with its number alone, are that rank's
    "gave up",  # a process gave up on others: its own end is fallout
    "timed out",  # it waited in a collective until its time was over: what others did last before that counts
    "lost peer",  # it complains of the other side of a connection, which ``peer`` or its words name
    "job ends",  # somebody began to end the job: kills that are reported later are no news
    "why ended",  # how or why the job was ended: its words may say that its time was over
    "last words",  # a launcher or a batch system has nothing to say after this: what starts then is another job
    "done",  # it ended well: only a launch after it is another job
    "launch",  # printed once at the start, by a launcher or by the first rank
    "start",  # workers are started, for the first time or again
    "restart",  # all workers are started again: what this file told before is of an attempt that is over
    "comes up",  # a rank comes up: what was told of a failure before is of another attempt
    "once",  # a process or a job script says it once at most of one place (``file``, ``line``)
    "stack",  # where a process stands (``frames``)
]
"""What a kind of record tells the reasoning beyond its fields; its dialect says it (`Event.means`)."""

Scalar = str | int | float

Value = Scalar | tuple[int, ...] | tuple[str, ...]
"""What a field of an event holds."""
MORE_THAN_RANKS = 1 << 22


Rank = Annotated[int, Meta(ge=0, description="a global rank")]
Count = Annotated[int, Meta(ge=0)]
Number = Annotated[int, Meta(ge=1)]
"""A count that starts at 1, for example the number of a line."""


class Job(Struct, frozen=True):
    """One job to be diagnosed: a name and where its logs are.

    ``paths`` hold file names, folders, globs, archives, ``"-"`` for standard input, or open binary files.
    """

    name: str
    paths: tuple[str | IO[bytes], ...]


class Stream(Protocol):
    """One log of a job as plain bytes (already decompressed and in UTF-8), read once from start to end."""

    name: str
    """The name shown to the user: a path, ``archive.tar:member`` or ``<stdin>``."""

    def readinto(self, buffer: memoryview) -> int:
        """Fill ``buffer`` with the next bytes and return how many; 0 at the end.  Raises `InputError`."""
        ...


class Line(Struct, frozen=True):
    """A log line as evidence."""

    file: str
    number: Number
    """1-based, counts newlines only."""
    text: str
    """The line as printed, control characters written out."""


class Moment(Struct, frozen=True):
    """A place in the logs and the time printed there."""

    file: str
    line: Number
    time: float | None = None


class Speaker(Struct, frozen=True):
    """Who printed a line, as far as wrappers and prefixes tell.

    ``time`` is in seconds since 1970 of the clock that printed it, zone unknown unless printed; ``tag`` is any other
    name of the process that the launcher printed (a pod, a Ray actor, a task label).
    """

    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    pid: int | None = None
    time: float | None = None
    level: Level | None = None
    source: str | None = None
    tag: str | None = None


class Event(Struct, frozen=True):
    """One recognised record of a log.

    ``text`` is the message without wrappers and prefixes (a multi-line record keeps its newlines), ``fields`` what the
    dialect cut out of it.  ``order`` is the position in reading order over the whole job.  A field named ``rank``,
    ``local_rank``, ``host`` or ``pid`` tells whom the record speaks ABOUT and wins over who printed it.
    """

    line: Line
    dialect: str
    kind: str
    text: str
    speaker: Speaker = Speaker()
    level: Level = "info"
    fields: Mapping[str, Value] = field(default_factory=dict)
    order: int = 0
    span: int = 1
    patterns: tuple[int, ...] = ()
    """Which patterns of the rulebook the scan saw in this record (numbers into `Knowledge.owners`)."""
    lines: tuple[Line, ...] = ()
    """All lines of a record of several lines: a rule's proof may be another one than ``line``."""
    note: str = ""
    """What such a record means, in plain words; "" where it is plain."""
    means: tuple[Meaning, ...] = ()
    """The same for the reasoning, which asks for it instead of the kind."""

    @property
    def rank(self) -> int | None:
        """The global rank that the record is about, else the one that printed it."""
        value = self.fields.get("rank", self.speaker.rank)
        return value if isinstance(value, int) else None

    @property
    def host(self) -> str | None:
        """The host that the record is about, else the one that printed it."""
        value = self.fields.get("host", self.speaker.host)
        return value if isinstance(value, str) else None

    @property
    def pid(self) -> int | None:
        """The process that the record is about, else the one that printed it."""
        value = self.fields.get("pid", self.speaker.pid)
        return value if isinstance(value, int) else None

    @property
    def time(self) -> float | None:
        """When the record was printed, see `Speaker.time`."""
        return self.speaker.time

    @property
    def failing(self) -> bool:
        """Whether it reads as a failure."""
        return self.level in ("error", "fatal")

    def without_lines(self) -> Event:
        """The same without the lines that are kept for quoting: those of many would fill memory."""
        return replace(self, lines=()) if self.lines else self


def without_impossible_rank(fields: dict[str, Value]) -> dict[str, Value]:
    """``fields`` without a rank that no job has: unset ones are printed as -1, or as 4294967294 (-2 without a sign)."""
    rank = fields.get("rank")
    if isinstance(rank, int) and not 0 <= rank < MORE_THAN_RANKS:
        del fields["rank"]
    return fields


Following = Callable[[], Iterator[bytes]]
"""Gives the raw lines after a candidate line, for records of several lines (bounded by who reads them)."""


class Candidate(Struct, frozen=True):
    """A raw line that the scan picked: the bytes without its newline (cut if huge), its number, which patterns hit."""

    raw: bytes
    number: int
    patterns: tuple[int, ...]
    following: Following
