"""Lines, and the records in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from logdoctor.model.signs import LifecycleSign, Mark, Origin, Subject, Tell

Level = Literal["fatal", "error", "warning", "info"]
"""Level that the program gives its line: ``fatal`` says that the program ends, ``error`` that something failed."""

Scalar = str | int | float

Value = Scalar | tuple[int, ...] | tuple[str, ...]
"""Value of a field of a record."""
Span = tuple[int, int]
"""Start and end of a part of a text."""
NO_SPAN: Span = 0, 0
MORE_THAN_RANKS = 1 << 22
"""No job has so many ranks."""


Rank = Annotated[int, Meta(ge=0, description="a global rank")]
Count = Annotated[int, Meta(ge=0)]
Number = Annotated[int, Meta(ge=1)]
"""A count that starts at 1, for example the number of a line."""


class Line(Struct, frozen=True):
    """A log line as evidence."""

    file: str
    """The file, as it was named."""
    number: Number
    """1-based, counts newlines only."""
    text: str
    """The line as printed, or the smallest piece of a document that shows it."""
    field: str = ""
    """Path in a document, such as ``jobs[0].state``."""
    document: str = ""
    """Kind of the document, "" for a log."""


class Moment(Struct, frozen=True):
    """A place in the logs and the time printed there."""

    file: str
    """The file."""
    line: Number
    """The number of the line, 1-based."""
    time: float | None = None
    """The time that the line prints."""


class Source(Struct, frozen=True):
    """The source of a line: rank, host, process and time from its prefixes."""

    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    pid: int | None = None
    time: float | None = None
    """Seconds since 1970 by the clock that printed the line.  The zone is unknown unless it is printed."""
    level: Level | None = None
    logger: str | None = None
    tag: str | None = None
    """Another name of the process that the launcher printed, for example a pod, a Ray actor, a task label."""


class Record(Struct, frozen=True):
    """A record of a log that a parser recognised."""

    line: Line
    format: str
    """The format that recognised the record."""
    kind: str
    text: str
    """The message without prefixes.  A multi-line record keeps its newlines."""
    source: Source = Source()
    level: Level = "info"
    fields: Mapping[str, Value] = field(default_factory=dict)
    """Values that the format read from the text.

    A field ``rank``, ``local_rank``, ``host`` or ``pid`` names the subject of the record.  The subject takes precedence
    over the process that printed the record.
    """
    order: int = 0
    """Position in reading order over all logs of the job."""
    span: int = 1
    """Number of lines."""
    patterns: tuple[int, ...] = ()
    """Numbers of the symptoms that the record may show, because the scan found one of their texts in it."""
    lines: tuple[Line, ...] = ()
    """All lines of a multi-line record, because the proof of a rule may be another line than ``line``."""
    note: str = ""
    """Meaning of the record in plain words; "" if the text says it."""
    signs: tuple[LifecycleSign, ...] = ()
    """Lifecycle signs of the record; the reasoning asks for them instead of the kind."""
    origin: Origin = "job"

    def has(self, mark: Mark, of: Subject | None = None) -> bool:
        """Return whether a sign has this mark, and is of this subject if one is given."""
        for sign in self.signs:  # noqa: SIM110 - a loop is faster, and records are asked a million times
            if sign.mark == mark and (of is None or sign.of == of):
                return True
        return False

    def tells(self, what: Tell) -> bool:
        for sign in self.signs:  # noqa: SIM110 - as above
            if what in sign.tells:
                return True
        return False

    @property
    def reports_own_end(self) -> bool:
        """Return whether a process says why it ends."""
        return any(s.mark == "fails" and s.of == "process" for s in self.signs)

    @property
    def reports_end_of_other(self) -> bool:
        """Return whether another program reports the end of a process."""
        return any(s.of == "named" and (s.mark == "fails" or (s.mark == "is ended" and s.late)) for s in self.signs)

    @property
    def is_about_others(self) -> bool:
        """Return whether the record tells of another process than the one that printed it."""
        return any(sign.of == "named" for sign in self.signs)

    @property
    def is_last_word(self) -> bool:
        return any(sign.last for sign in self.signs)

    @property
    def rank(self) -> int | None:
        """Return the global rank of the subject, or else of the source."""
        value = self.fields.get("rank", self.source.rank)
        return value if isinstance(value, int) else None

    @property
    def host(self) -> str | None:
        """Return the host of the subject, or else of the source."""
        value = self.fields.get("host", self.source.host)
        return value if isinstance(value, str) else None

    @property
    def pid(self) -> int | None:
        """Return the process id of the subject, or else of the source."""
        value = self.fields.get("pid", self.source.pid)
        return value if isinstance(value, int) else None

    @property
    def time(self) -> float | None:
        return self.source.time

    @property
    def failing(self) -> bool:
        return self.level in ("error", "fatal")

    @property
    def told_level(self) -> Level | None:
        """Return the level. A line of no format that tells none has None."""
        return self.source.level if self.kind == "text.line" else self.level

    def without_lines(self) -> Record:
        """Return the record without `lines`, because the lines of many records would fill memory."""
        return replace(self, lines=()) if self.lines else self


def without_impossible_rank(fields: dict[str, Value]) -> dict[str, Value]:
    """Remove an impossible rank, or impossible ranks of a list, from ``fields`` and return them.

    Programs print an unset rank as -1, or as 4294967294, which is -2 without its sign.
    """
    rank = fields.get("rank")
    if isinstance(rank, int) and not 0 <= rank < MORE_THAN_RANKS:
        del fields["rank"]
    if "ranks" in fields:
        ranks = fields["ranks"] if isinstance(fields["ranks"], tuple) else (fields["ranks"],)
        if any(isinstance(n, int) and not 0 <= n < MORE_THAN_RANKS for n in ranks):
            fields["ranks"] = tuple(n for n in ranks if isinstance(n, int) and 0 <= n < MORE_THAN_RANKS)
    return fields


Following = Callable[[], Iterator[bytes]]
"""Function that gives the raw lines after a candidate line, for multi-line records.  The caller stops in time."""


class Candidate(Struct, frozen=True):
    """A raw line that the scan picked for the parsers."""

    raw: bytes
    """The line without its newline; a huge line is cut."""
    number: int
    patterns: tuple[int, ...]
    """Patterns that the scan found in the line."""
    following: Following
