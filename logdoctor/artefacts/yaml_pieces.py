"""YAML in pieces, as programs write it: mappings, lists, texts, numbers, true, false and null. No alias and no tag.

An alias (``*a``) can unfold without end, and a tag can ask for any type. No program that writes a report needs them.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import Any

from logdoctor.artefacts.document import Damaged, Document
from logdoctor.artefacts.json_pieces import Piece

MAX_BYTES = 32 << 20
MAX_DEPTH = 64
MAX_PARTS = 1 << 18
"""Keys and values of one piece."""
_WORDS = {"": None, "~": None, "null": None, "Null": None, "true": True, "True": True, "false": False, "False": False}


def objects(document: Document, array: str, keep: Container[str]) -> Iterator[Piece]:
    """Yield each mapping of the document with its members in ``keep``, and before it the elements of its ``array``."""
    text = _Text(document)
    while text.skip("StreamStart", "DocumentStart", "DocumentEnd") != "StreamEnd":
        line, kept = text.line, dict[str, Any]()
        if text.next() != "MappingStart":
            raise Damaged(f"it holds no mapping on line {line}")
        while text.peek() != "MappingEnd":
            key = text.value()
            if key == array and text.peek() == "SequenceStart":
                yield from _elements(text, array)
            else:
                value = text.value()
                kept |= {key: value} if key in keep else {}
        text.next()
        yield Piece("", kept, line)


def _elements(text: _Text, where: str) -> Iterator[Piece]:
    text.next()
    count = 0
    while text.peek() != "SequenceEnd":
        line = text.line
        yield Piece(f"{where}[{count}]", text.value(), line)
        count += 1
    text.next()


class _Text:
    """The events of a YAML parser, one at a time."""

    def __init__(self, document: Document) -> None:
        import yaml  # late, because the readers are imported for each log

        self._document, self._fault = document, yaml.YAMLError
        self._left = MAX_BYTES
        self._parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(self)
        self._ahead: Any = None
        self.line = 1

    def read(self, size: int = 4096, /) -> bytes:
        """Return at most so many bytes. The parser calls it."""
        data = self._document.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise Damaged(f"it is longer than {MAX_BYTES >> 20} MiB, give it as JSON")
        return data

    def _event(self) -> Any:
        """Return the next event, which stays to be taken."""
        if self._ahead is None:
            try:
                self._ahead = self._parser.get_event()
            except (self._fault, ValueError):  # a ValueError comes from a character that is none
                raise Damaged(f"it is no YAML behind line {self.line}") from None
            self.line = self._ahead.start_mark.line + 1
        return self._ahead

    def peek(self) -> str:
        """Return the name of the next event, which stays to be taken."""
        return type(self._event()).__name__.removesuffix("Event")

    def next(self) -> str:
        name = self.peek()
        self._ahead = None
        return name

    def skip(self, *names: str) -> str:
        while self.peek() in names:
            self.next()
        return self.peek()

    def value(self) -> Any:
        self._parts = 0
        return self._value(0)

    def _value(self, depth: int) -> Any:
        event, name = self._event(), self.next()
        self._parts += 1
        if depth > MAX_DEPTH or self._parts > MAX_PARTS:
            raise Damaged(f"the value on its line {self.line} is too large")
        if name == "Scalar" and not event.tag:
            return _scalar(event.value) if event.implicit[0] and event.style in (None, "") else event.value
        if name == "SequenceStart" and not event.tag:
            return [*self._members("SequenceEnd", depth)]
        if name != "MappingStart" or event.tag:
            raise Damaged(f"it holds an alias or a tag on line {self.line}")
        parts = [*self._members("MappingEnd", depth)]
        return {str(key): value for key, value in zip(parts[::2], parts[1::2], strict=True)}

    def _members(self, end: str, depth: int) -> Iterator[Any]:
        while self.peek() != end:
            yield self._value(depth + 1)
        self.next()


def _scalar(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    return int(text) if len(text) < 20 and re.fullmatch(r"-?(?:0|[1-9]\d*)", text, re.ASCII) else text
