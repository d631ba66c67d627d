"""A document, and what its reader finds in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from logdoctor.model import Level, Source, Value

NO_FIELDS: Mapping[str, Value] = {}
NO_SOURCE = Source()


class Damaged(Exception):
    """The document cannot be read on. The text is the end of a sentence: "it ends within a value"."""


class CutOff(Damaged):
    """The document ends within a value, as one does that is still written."""


class Fact(Struct, frozen=True):
    """One thing that a document tells.

    A format file of ``formats/`` declares the kind, with its fields in words and its lifecycle signs.
    """

    kind: str
    text: str
    """The smallest piece of the document that shows it, for people: ``"state": "OUT_OF_MEMORY"``."""
    fields: Mapping[str, Value] = NO_FIELDS
    line: int = 1
    """The line on which it stands, 1 in a document without lines."""
    where: str = ""
    """Path in the document, such as ``jobs[0].state.current[0]``, "" if the line says it."""
    level: Level = "info"
    source: Source = NO_SOURCE
    """The process that the fact is about, as far as the document names it."""
    note: str = ""
    """Meaning in plain words, "" if the text says it."""


class Passage(Struct, frozen=True):
    """Text in a document that is to be read like a log, such as the traceback in a field."""

    text: str
    line: int = 1
    where: str = ""
    source: Source = NO_SOURCE
    places: tuple[tuple[int, str], ...] = ()
    """Line and path in the document of each line of the text, if they stand in several fields."""


Found = Fact | Passage


class Document:
    """A document to read, once and from start to end."""

    def __init__(self, name: str, kind: str, read: Callable[[int], bytes], source: Source = NO_SOURCE) -> None:
        """``read`` returns at most so many bytes, and none only at the end. ``source`` is told by the file's name."""
        self.name, self.kind, self.source = name, kind, source
        self._read, self._ahead = read, b""

    @property
    def file_name(self) -> str:
        """Return the name without folders, of a member of an archive its own."""
        return self.name.rpartition("/")[2].rpartition(":")[2]

    def peek(self, size: int = 1) -> bytes:
        """Return the next bytes, which stay to be read. They are fewer only at the end."""
        while len(self._ahead) < size and (more := self._read(size - len(self._ahead))):
            self._ahead += more
        return self._ahead

    def read(self, size: int) -> bytes:
        """Return at most so many bytes. Empty only at the end."""
        if not self._ahead:
            return self._read(size)
        data, self._ahead = self._ahead[:size], self._ahead[size:]
        return data
