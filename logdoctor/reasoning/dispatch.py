"""A record goes only to those who asked for what it is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple, Protocol

from logdoctor.model import Record

Observe = Callable[[Record], None]
MAX_SORTS = 4096
"""Number of sorts of records whose readers are remembered."""


class Reader(Protocol):
    """Reads records of some sorts.

    ``READS`` names the sorts: a mark of a sign (``works``), a thing that a sign tells (``tells stack``), a kind
    (``nccl.retry``), all kinds of a format (``nccl.*``), ``failing``, or ``all``.
    """

    @property
    def READS(self) -> Collection[str]: ...  # noqa: N802 - a constant of the class

    @property
    def observe(self) -> Observe: ...


class Handler(NamedTuple):
    """Reader that is one function."""

    READS: Collection[str]
    observe: Observe


class Dispatch:
    """Table from the sort of a record to its readers, in the order of the readers."""

    def __init__(self, readers: Sequence[Reader]) -> None:
        self._readers = [(frozenset(r.READS), r.observe) for r in readers]
        self._table: dict[tuple[str, bool], tuple[Observe, ...]] = {}

    def __call__(self, record: Record) -> None:
        sort = record.kind, record.failing
        readers = self._table.get(sort)
        if readers is None:
            if len(self._table) >= MAX_SORTS:
                self._table.clear()
            readers = self._table[sort] = tuple(self._find(record))
        for observe in readers:
            observe(record)

    def _find(self, record: Record) -> Iterator[Observe]:
        sorts = sorts_of(record)
        for reads, observe in self._readers:
            if not reads.isdisjoint(sorts):
                yield observe


def sorts_of(record: Record) -> set[str]:
    """Return all sorts of a record by which it may be asked for, see `Reader`."""
    sorts = {"all", record.kind, f"{record.format}.*", *(("failing",) if record.failing else ())}
    for sign in record.signs:
        sorts |= {sign.mark, *(f"tells {what}" for what in sign.tells)}
    return sorts
