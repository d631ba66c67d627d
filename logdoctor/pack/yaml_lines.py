"""YAML as plain data, with the line of each part for messages about faults."""

from __future__ import annotations

from typing import Any

import yaml
from msgspec import Struct, field

from logdoctor.model import RuleError

MOST_PARTS, DEEPEST = 20_000, 20
"""Limits of a rule file. Without them, a few aliases (``*a``) of each other would unfold without end."""

Path = tuple[str | int, ...]
"""The place of a value in the document, for example ``("symptoms", "busy", "text")``."""


class Document(Struct, frozen=True):
    """The plain data of a YAML file and the line of each part."""

    data: Any
    lines: dict[Path, int] = field(default_factory=dict)

    def line(self, path: Path) -> int:
        """Return the line of ``path``, from 1. If it is missing, take the part around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


class Faults:
    """The faults of one file. ``where`` is the name of the file in messages."""

    def __init__(self, document: Document, where: str) -> None:
        self.document, self.where = document, where
        self.errors: list[RuleError] = []

    def add(self, path: Path, what: str, why: str = "", help: str = "") -> None:
        """Add a fault at the line of ``path``."""
        self.errors.append(RuleError(what, f"{self.where}:{self.document.line(path)}", why, help))


def parse(text: str, where: str) -> Document:
    """Read one YAML document of plain data. Raise `RuleError` with file:line."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        node = loader.get_single_node()
        lines: dict[Path, int] = {}
        return Document(_plain(loader, node, (), lines) if node else None, lines)
    except yaml.YAMLError as error:
        raise _as_rule_error(error, where) from None
    finally:
        loader.dispose()


def _plain(loader: Any, node: Any, path: Path, lines: dict[Path, int]) -> Any:
    lines[path] = node.start_mark.line + 1
    if len(lines) > MOST_PARTS or len(path) > DEEPEST:
        raise yaml.constructor.ConstructorError(None, None, "it has too many parts, or aliases", node.start_mark)
    if isinstance(node, yaml.MappingNode):
        table: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            if key in table:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key '{key}' stands twice", key_node.start_mark
                )
            table[key] = _plain(loader, value_node, (*path, key), lines)
            here = (*path, key)
            lines[here] = key_node.start_mark.line + 1
        return table
    if isinstance(node, yaml.SequenceNode):
        return [_plain(loader, child, (*path, i), lines) for i, child in enumerate(node.value)]
    return loader.construct_object(node)


def _as_rule_error(error: yaml.YAMLError, where: str) -> RuleError:
    mark = getattr(error, "problem_mark", None)
    place = f"{where}:{mark.line + 1}" if mark else where
    why = getattr(error, "problem", None) or str(error)
    return RuleError(
        "this is not valid YAML", place, why, "quote texts that hold ': ' or start with a special character"
    )
