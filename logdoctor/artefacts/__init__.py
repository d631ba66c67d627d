"""Documents that a failed job leaves behind, read into flat facts.

A document is a file that is no log: a dump, a report, a table. Each module of ``readers/`` reads one kind of them. A
reader knows form: it names no failure, knows no other reader and no rule. There is no list of readers to extend.

A reader has ``KIND``, the kind's name in the answer, and two functions:

- ``sniff(head)`` tells a document of the kind by its first bytes, up to `HEAD_BYTES`, whatever its name
- ``read(document)`` yields what the document tells, and raises `Damaged` where it cannot be read on

Optional: ``PER_HOST``, words in the names of such documents, if each tells of one host. What else such a name says may
be the host.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Protocol, cast

from logdoctor.artefacts.document import Damaged, Document, Fact, Found, Passage
from logdoctor.pack.module_names import module_names

__all__ = ["Damaged", "Document", "Fact", "Found", "Passage", "Reader", "all_readers", "detect_kind", "reader_of"]

HEAD_BYTES = 4096
_FOLDER = "readers"


class Reader(Protocol):
    """A module of ``readers/``."""

    KIND: str

    def sniff(self, head: bytes, /) -> bool: ...

    def read(self, document: Document, /) -> Iterable[Found]: ...


@cache
def all_readers() -> tuple[Reader, ...]:
    """Return the readers in the order of their files."""
    names = module_names([str(Path(__file__).parent / _FOLDER)])
    return tuple(cast("Reader", importlib.import_module(f"{__name__}.{_FOLDER}.{name}")) for name in names)


def detect_kind(head: bytes) -> str:
    """Return the kind of a document that begins with ``head``, "" for all else.

    No two readers may claim the same document; a law over their samples checks it.
    """
    return next((reader.KIND for reader in all_readers() if reader.sniff(head)), "")


def reader_of(kind: str) -> Reader:
    return next(reader for reader in all_readers() if kind == reader.KIND)


@cache
def is_per_host(kind: str) -> bool:
    """Return whether each document of the kind tells of one host."""
    return hasattr(reader_of(kind), "PER_HOST")


@cache
def file_names() -> tuple[str, ...]:
    """Return the words in the names of documents that each tell of one host."""
    return tuple(dict.fromkeys(word for reader in all_readers() for word in getattr(reader, "PER_HOST", ())))


def read(document: Document) -> Iterator[Found]:
    """Yield what the document tells. Raise `Damaged` where it cannot be read on."""
    try:
        yield from reader_of(document.kind).read(document)
    except RecursionError:
        raise Damaged("it is nested too deep") from None
