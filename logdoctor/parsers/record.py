"""What a dialect is made of: `Record`s, each one shape of line, and the readers of records of several lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct, field

from logdoctor.model import Level, Meaning, Speaker, Value

MAX_BLOCK_LINES = 400
"""A block reader is never given more lines than this (of its own speaker)."""


class Bare(Struct, frozen=True):
    """A line after the wrappers are off: what is left, who spoke, and which line below the block's head it was."""

    text: str
    speaker: Speaker = field(default_factory=Speaker)
    below: int = 0


class Block(Struct, frozen=True):
    """What a block reader found: the message, more fields, and where the block ends.

    ``text`` is the message that rules search (for a traceback: the exception line and what follows, not the frames).
    ``taken`` are the `Bare.below` numbers of the lines that belong to the record and that nobody else shall read.
    ``evidence`` is the `Bare.below` of the line to quote (0 is the head).  ``level`` and ``kind`` override the
    record's.  ``passes_on`` is the line of another program that the message quotes, as that program prints it: it is
    read as a line of its own too.
    """

    text: str
    fields: Mapping[str, Value] = field(default_factory=dict)
    taken: tuple[int, ...] = ()
    evidence: int = 0
    level: Level | None = None
    kind: str = ""
    passes_on: str = ""


BlockReader = Callable[[Bare, Mapping[str, Value], Iterator[Bare]], "Block | None"]
"""(head, fields of the head, the lines below of the same speaker) -> the block, or None if it is none after all."""


class Record(Struct, frozen=True):
    r"""One shape of line of a dialect.

    ``pattern`` (syntax of the ``regex`` package) is searched in the bare line; its named groups become the event's
    fields: whole numbers become int, empty groups are left out.  A group named ``text`` becomes `Event.text` (else the
    whole bare line is); the groups ``rank``, ``local_rank``, ``host`` and ``pid`` say whom the record is ABOUT;
    ``by_rank``, ``by_host``, ``by_pid``, ``by_local_rank``, ``by_source`` say who printed it, where the dialect's own
    prefix does and no wrapper did.

    The scan finds the line by a form derived from ``pattern`` (look-arounds, anchors, captures and trailing repeats
    dropped), so a pattern must hold some literal text; ``scan`` gives that form by hand where deriving is poor.
    ``level`` None means: what the wrapper said (glog letter, logging level), else info.  ``note`` says in plain words
    what the line means, for reports in which no rule explains it.  Of several records that match a line, the one with
    the higher ``priority`` makes the event, then the one that stands first in its dialect.  ``often`` marks lines that
    a healthy log is full of (progress): the scan keeps fewer of them.  After ``patience`` lines of others in a row a
    block is taken to have ended.
    """

    kind: str
    pattern: str
    level: Level | None = None
    block: BlockReader | None = None
    note: str = ""
    priority: int = 0
    often: bool = False
    scan: str | None = None
    patience: int = 128

    @property
    def dialect(self) -> str:
        """The dialect is the first word of the kind."""
        return self.kind.partition(".")[0]


Meanings = Mapping[str, tuple[Meaning, ...]]
"""What the kinds of a dialect tell the reasoning beyond their fields (``MEANS``); most tell nothing."""


class Wrapper(Struct, frozen=True):
    r"""One thing that a launcher, collector or viewer puts in FRONT of a line.

    ``pattern`` is matched at the start of what is left of the line; named groups ``rank``, ``local_rank``, ``host``,
    ``pid``, ``time``, ``level``, ``source``, ``tag`` tell who spoke.  ``starts`` are the characters that the prefix
    can begin with (a quick look before the regular expression is even compiled); empty means any.  ``decode`` turns
    the groups and what follows the prefix into the rest of the line and more of the speaker where plain groups do not
    do (JSON records); None says that it is no such prefix after all.  A group ``task`` is the number that a launcher
    gave the process: its rank, unless the line itself says another.  ``tag2`` is ``tag`` in another alternative.

    ``once`` prefixes stand at the head of a record only (a logger's), the others on every line (a launcher's): the
    lines below must carry the same.  After a ``last`` prefix only message follows.  ``unless`` names what
    must not be known yet: such a prefix is doubtful, and text where an outer one has said it.
    """

    name: str
    pattern: str
    starts: str = ""
    decode: Callable[[Mapping[str, str], str], tuple[str, Speaker] | None] | None = None
    once: bool = False
    last: bool = False
    unless: tuple[str, ...] = ()
