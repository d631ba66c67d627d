"""JSON in pieces, so that no document is held as a whole.

- `members` of ``{"version": 1, "jobs": [{...}, {...}]}`` gives version, jobs[0], jobs[1], and of ``[{...}]`` [0]
- `values` gives the objects that stand one after another, whether on lines of their own or not
- `objects` gives such objects too, and before each the elements of one array in it
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, NamedTuple

from logdoctor.artefacts.document import CutOff, Damaged, Document

CHUNK_BYTES = 1 << 16
MAX_PIECE = 64 << 20
"""Characters of one piece."""
LONGEST_WORD = 12
"""Characters at the end of the text that may be the start of a word, a number or an escape."""
_BLANKS = " \t\r\n\0"
Repair = Callable[[str], str]


class Piece(NamedTuple):
    """A value, its path in the document, and the line on which it begins."""

    where: str
    value: Any
    line: int


def values(document: Document, repair: Repair | None = None) -> Iterator[Piece]:
    """Yield values that stand one after another, or the elements of one array."""
    text = _Text(document, repair)
    if text.peek() == "[":
        yield from _elements(text, "")
        text.expect_end()
        return
    while text.peek():
        yield text.value("")


def members(document: Document, repair: Repair | None = None, *, several: bool = False) -> Iterator[Piece]:
    """Yield the members of the object that the document is, of arrays each element.

    ``repair`` mends a known fault. ``several`` objects may stand one after another.
    """
    text = _Text(document, repair)
    if text.peek() == "[":
        yield from _elements(text, "")
    else:
        yield from _members(text)
        while several and text.peek():
            yield from _members(text)
    text.expect_end()


def _members(text: _Text) -> Iterator[Piece]:
    for key in _keys(text):
        if text.peek() == "[":
            yield from _elements(text, key)
        else:
            yield text.value(key)


def objects(document: Document, array: str, keep: Container[str]) -> Iterator[Piece]:
    """Yield each object with its members in ``keep``, and before it the elements of its member ``array``."""
    text = _Text(document, None)
    while text.peek():
        line, kept = text.line, dict[str, Any]()
        for key in _keys(text):
            if key == array and text.peek() == "[":
                yield from _elements(text, array)
            else:
                value = text.value("").value
                kept |= {key: value} if key in keep else {}
        yield Piece("", kept, line)


def _keys(text: _Text) -> Iterator[str]:
    """Yield the keys of an object. Whoever asks takes the value before the next key."""
    text.take("{")
    while not text.try_take("}"):
        key = str(text.value("").value)
        text.take(":")
        yield key
        if not text.try_take(","):
            text.take("}")
            break


def _elements(text: _Text, where: str) -> Iterator[Piece]:
    text.take("[")
    count = 0
    while not text.try_take("]"):
        yield text.value(f"{where}[{count}]")
        count += 1
        if not text.try_take(","):
            text.take("]")
            break


def quote(entry: Mapping[str, Any], *names: str) -> str:
    """Return members of an object as they stand in JSON, as the text of a fact."""
    import json

    return ", ".join(f'"{name}": {json.dumps(entry[name], ensure_ascii=False)}' for name in names if name in entry)


class _Text:
    """The part of a document that is not read yet."""

    def __init__(self, document: Document, repair: Repair | None) -> None:
        self._document, self._repair = document, repair
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        import json  # late, because the readers are imported for each log

        self._parse, self._fault = json.JSONDecoder(strict=False).raw_decode, json.JSONDecodeError
        self._text, self._at, self._ended = "", 0, False
        self._line, self._counted = 1, 0
        """Number of the line at this place of the text."""

    @property
    def line(self) -> int:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _fill(self) -> None:
        """Read as much again as is held, so that a long piece is not parsed too often."""
        if len(self._text) - self._at > MAX_PIECE:
            raise Damaged(f"the value on its line {self.line} is longer than {MAX_PIECE >> 20} MiB")
        held, _ = self._text[self._at :], self.line
        data = self._document.read(max(CHUNK_BYTES, len(held)))
        self._ended = not data
        self._text, self._at, self._counted = held + self._decode(data, final=self._ended), 0, 0

    def peek(self) -> str:
        """Return the next character that is no blank, "" at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANKS:
                self._at += 1
            if self._at < len(self._text) or self._ended:
                return self._text[self._at : self._at + 1]
            self._fill()

    def try_take(self, sign: str) -> bool:
        found = self.peek() == sign
        self._at += found
        return found

    def take(self, sign: str) -> None:
        if not self.try_take(sign):
            raise Damaged(f"'{sign}' is missing on line {self.line}") if self.peek() else CutOff(self._cut)

    @property
    def _cut(self) -> str:
        return f"it ends within a value, on line {self.line}"

    def value(self, where: str) -> Piece:
        """Return the next value."""
        self.peek()
        while True:
            try:
                value, end = self._parse(self._text, self._at)
            except self._fault as error:
                may_go_on = error.msg.startswith("Unterminated") or error.pos > len(self._text) - LONGEST_WORD
                if not self._mend() and (not may_go_on or self._ended):
                    raise (CutOff(self._cut) if may_go_on else Damaged(f"it is no JSON on line {self.line}")) from None
            except ValueError:
                raise Damaged(f"a number on its line {self.line} is too long") from None
            else:
                if end < len(self._text) or self._ended:
                    piece = Piece(where, value, self.line)
                    self._at = end
                    return piece
            if not self._ended:
                self._fill()

    def _mend(self) -> bool:
        before = self._text
        if self._repair:
            self._text = before[: self._at] + self._repair(before[self._at :])
        return self._text != before

    def expect_end(self) -> None:
        if self.peek():
            raise Damaged(f"more follows behind its end, on line {self.line}")
