"""YAML as plain data, with the line of each part for messages about faults."""

from __future__ import annotations

from typing import Any

import yaml
from msgspec import Struct, field

from logdoctor.model import RuleError

MOST_PARTS, DEEPEST = 20_000, 20
"""Limits of a rule file. Without them, a few aliases (``*a``) of each other would unfold without end."""

PLAIN_TAGS = (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")

Path = tuple[str | int, ...]
"""The place of a value in the document, for example ``("symptoms", "busy", "text")``."""


class Document(Struct, frozen=True):
    """The plain data of a YAML file and the line of each part. Some parts can be taken from other files."""

    data: Any
    lines: dict[Path, int] = field(default_factory=dict)
    file: str = ""
    taken: dict[Path, tuple[Document, Path]] = field(default_factory=dict)

    def line(self, path: Path) -> int:
        """Return the line of ``path``, from 1. If it is missing, take the part around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def where(self, path: Path) -> str:
        """Return ``file:line`` of ``path``, in the file from which it was taken."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.taken:
                other, place = self.taken[path[:end]]
                return other.where((*place, *path[end:]))
        return f"{self.file}:{self.line(path)}"

    def take(self, path: Path, other: Document, place: Path) -> Document:
        """Return the document with the part at ``place`` of another one at ``path``. A part that is there stays."""
        *tables, key = path
        data = inner = dict(self.data)
        for name in tables:
            if not isinstance(table := inner.get(name, {}), dict):
                return self
            inner[name] = inner = dict(table)
        if key in inner:
            return self
        part = other.data
        for name in place:
            part = part[name]
        inner[key] = part
        return Document(data, self.lines, self.file, {**self.taken, path: (other, place)})


class Faults:
    """The faults of one document. ``where`` is the name of its file in messages."""

    def __init__(self, document: Document, where: str) -> None:
        self.document, self.where = document, where
        self.errors: list[RuleError] = []

    def add(self, path: Path, what: str, why: str = "", help: str = "") -> None:
        """Add a fault at the line of ``path``."""
        self.errors.append(RuleError(what, self.document.where(path), why, help))


def parse(text: str, where: str) -> Document:
    """Read one YAML document of plain data. Raise `RuleError` with file:line."""
    try:
        reader = _Reader(text)
        return Document(reader.read(), reader.lines, where)
    except yaml.YAMLError as error:
        raise _as_rule_error(error, text, where) from None


class _Reader:
    """Builds plain data from the parser's events.

    The loader's own nodes are not made, because the C code that makes them overflows the stack of the process.
    """

    def __init__(self, text: str) -> None:
        self._loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        self._events: list[Any] = []
        self._anchors: dict[str, int] = {}
        """Position of the event that each anchor marks."""
        self.lines: dict[Path, int] = {}

    def read(self) -> Any:
        """Return the data of the only document, None if there is none."""
        if isinstance(self._event(1), yaml.StreamEndEvent):
            return None
        data, end = self._value(2, ())
        after = self._event(end + 1)
        if not isinstance(after, yaml.StreamEndEvent):
            raise _fault("there is a second document", after)
        return data

    def _event(self, position: int) -> Any:
        while len(self._events) <= position:
            self._events.append(self._loader.get_event())
        return self._events[position]

    def _value(self, position: int, path: Path) -> tuple[Any, int]:
        """Return the value that begins at ``position``, and the position after it."""
        event = self._event(position)
        self.lines[path] = event.start_mark.line + 1
        if len(self.lines) > MOST_PARTS or len(path) > DEEPEST:
            raise _fault("it has too many parts, or aliases", event)
        if isinstance(event, yaml.AliasEvent):
            return self._value(self._position_of(event), path)[0], position + 1
        if event.anchor:
            self._anchors[event.anchor] = position
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event), position + 1
        if event.tag not in PLAIN_TAGS:
            raise _fault(f"the tag '{event.tag}' is not allowed", event)
        return (self._table if isinstance(event, yaml.MappingStartEvent) else self._list)(position + 1, path)

    def _position_of(self, alias: Any) -> int:
        if alias.anchor not in self._anchors:
            raise _fault(f"there is no anchor '{alias.anchor}' above", alias)
        return self._anchors[alias.anchor]

    def _table(self, position: int, path: Path) -> tuple[dict[str, Any], int]:
        table: dict[str, Any] = {}
        while not isinstance(event := self._event(position), yaml.MappingEndEvent):
            key = self._key(event, position)
            if key in table:
                raise _fault(f"the key '{key}' stands twice", event)
            here = (*path, key)
            table[key], position = self._value(position + 1, here)
            self.lines[here] = event.start_mark.line + 1
        return table, position + 1

    def _key(self, event: Any, position: int) -> str:
        named = self._event(self._position_of(event)) if isinstance(event, yaml.AliasEvent) else event
        if not isinstance(named, yaml.ScalarEvent):
            raise _fault("a key must be a text", event)
        if event is named and event.anchor:
            self._anchors[event.anchor] = position
        return str(named.value)

    def _list(self, position: int, path: Path) -> tuple[list[Any], int]:
        items: list[Any] = []
        while not isinstance(self._event(position), yaml.SequenceEndEvent):
            item, position = self._value(position, (*path, len(items)))
            items.append(item)
        return items, position + 1

    def _scalar(self, event: Any) -> Any:
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._loader.resolve(yaml.ScalarNode, event.value, event.implicit)
        try:
            value = self._loader.construct_object(yaml.ScalarNode(tag, event.value, event.start_mark, event.end_mark))
        except (ValueError, LookupError, AttributeError) as error:  # from a number of 5,000 digits, a day 99, a tag
            raise _fault(f"the value is not understood: {type(error).__name__}", event) from None
        if isinstance(value, int) and abs(value) >> 63:
            raise _fault("the number is too large", event)
        return value


def _fault(why: str, event: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(None, None, why, event.start_mark)


def _as_rule_error(error: yaml.YAMLError, text: str, where: str) -> RuleError:
    mark, position = getattr(error, "problem_mark", None), getattr(error, "position", None)
    line = mark.line + 1 if mark else None if position is None else text.count("\n", 0, position) + 1
    why = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    return RuleError(
        "this is not valid YAML",
        f"{where}:{line}" if line else where,
        why,
        "quote texts that hold ': ' or start with a special character",
    )
