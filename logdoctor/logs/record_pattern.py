"""Record patterns, prefixes, and the types that readers of multi-line records use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

from msgspec import Struct, field

from logdoctor.model import Level, LifecycleSign, Source, Value

MAX_MULTILINE_LINES = 400
"""A reader of multi-line records gets at most this many lines of its source."""


class Message(Struct, frozen=True):
    """Message of a line without its prefixes, with its source.

    ``below`` counts the lines from the first line of the record, which is 0.
    """

    text: str
    source: Source = field(default_factory=Source)
    below: int = 0


class Multiline(Struct, frozen=True):
    """Multi-line record, as its reader returns it.

    - ``text``: the message that rules search; for a traceback the exception line and the lines after it, not the frames
    - ``fields``: added to the fields of the first line
    - ``taken``: `Message.below` of the lines of this record, which give no record of their own
    - ``evidence``: `Message.below` of the line to quote; 0 is the first line
    - ``level``, ``kind``: override those of the record pattern
    - ``quoted_line``: a line of another program that the message quotes; it is parsed as a line of its own as well
    """

    text: str
    fields: Mapping[str, Value] = field(default_factory=dict)
    taken: tuple[int, ...] = ()
    evidence: int = 0
    level: Level | None = None
    kind: str = ""
    quoted_line: str = ""


MultilineReader = Callable[[Message, Mapping[str, Value], Iterator[Message]], "Multiline | None"]
"""Arguments: first line, its fields, the lines below of the same source. None: this is no such record."""


class LineReader(Struct, frozen=True, array_like=True):
    """Reader of a multi-line record, as plain data.

    - ``name``: a function ``module.function``, see `find_function`
    - ``options``: the function is called with them and returns the reader; without them it is the reader
    """

    name: str
    options: dict[str, str | bool | int] | None = None

    def __call__(self, head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
        function = find_function(self.name)
        reader: MultilineReader = function if self.options is None else function(**self.options)
        return reader(head, fields, below)


class RecordPattern(Struct, frozen=True, array_like=True):
    r"""Pattern of one kind of line of a format.

    - ``kind``: the format's name, a dot, a word (``nccl.warning``)
    - ``pattern``: searched in the message (syntax of the ``regex`` package); it must hold some literal text
    - ``level``: None takes the level of the prefix (glog letter, logging level), else info
    - ``read_lines``: reader of a multi-line record
    - ``note``: meaning of the line in plain words, for reports in which no rule explains the line
    - ``general``: fits lines of other programs too, so it is tried after all others (see `logs.precedence`)
    - ``last``: fits nearly any line, so it is tried after the general ones
    - ``often``: a healthy log has many such lines (progress), so the scan keeps fewer of them
    - ``literal``: texts, of which each line of the record holds one, if the scan would do poorly with derived texts
    - ``line``: pattern that the whole line must hold, with its prefixes
    - ``patience``: a multi-line record ends after this many lines of other sources in a row

    Named groups become fields.  Whole numbers become int, empty groups are left out.  Some names are special:

    - ``text`` becomes `Record.text`; without this group the whole message does
    - ``rank``, ``local_rank``, ``host``, ``pid``: the process that the record is ABOUT
    - ``by_rank``, ``by_host``, ``by_pid``, ``by_local_rank``, ``by_logger``: the source, unless a prefix names it

    The scan finds the line by texts that are derived from ``line`` or ``pattern`` (`logdoctor.matcher.literals`).
    """

    kind: str
    pattern: str
    level: Level | None = None
    read_lines: LineReader | None = None
    note: str = ""
    general: bool = False
    last: bool = False
    often: bool = False
    literal: tuple[str, ...] = ()
    line: str | None = None
    patience: int = 128

    @property
    def searched(self) -> str:
        """Return the pattern from which the texts of the scan are derived."""
        return self.line or self.pattern

    @property
    def format(self) -> str:
        return self.kind.partition(".")[0]


LifecycleSigns = Mapping[str, tuple[LifecycleSign, ...]]
"""Lifecycle signs of the kinds of a format (``signs``). Most kinds have none."""


class Prefix(Struct, frozen=True, array_like=True):
    r"""Prefix of a launcher, logger, collector or viewer.

    - ``pattern``: matched at the start of the text that outer prefixes left
    - ``starts``: characters with which the prefix can begin, tested before the pattern is compiled; empty means any
    - ``decode``: name of a function (`find_function`) for prefixes that need more than groups (JSON lines).  It
      gets the groups and the rest of the line.  It returns the message and more of the source, or None
    - ``once``: stands only on the first line of a record, like the prefix of a logger; without it the prefix stands on
      every line, like that of a launcher, and the lines below must carry the same prefix
    - ``last``: only the message follows, so no further prefix is stripped
    - ``unless``: labels that outer prefixes must not have given, because the pattern would then match a message

    The groups ``rank``, ``local_rank``, ``host``, ``pid``, ``time``, ``level``, ``logger`` and ``tag`` describe the
    source.  ``task`` is the number that a launcher gave the process: its rank, unless the line names another rank.
    ``tag2`` is ``tag`` in another alternative.
    """

    name: str
    pattern: str
    starts: str = ""
    decode: str = ""
    once: bool = False
    last: bool = False
    unless: tuple[str, ...] = ()


_ROOMS = ("logdoctor.logs.multiline", "logdoctor.logs.decoders")


@cache
def find_function(name: str) -> Any:
    """Import the function that a format file names, or another constant of its module.

    ``ray.read_death`` is a reader of lines in `logs.multiline`, ``json_lines.read_json`` decodes a prefix in
    `logs.decoders`.  Raises `LookupError`.
    """
    module, _, attribute = name.rpartition(".")
    for room in _ROOMS if module else ():
        with suppress(ModuleNotFoundError, AttributeError):
            return getattr(import_module(f"{room}.{module}"), attribute)
    raise LookupError(name)
