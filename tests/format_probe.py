"""Read plain lines with the record patterns of one format, without prefixes and scan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import regex

from logdoctor.logs.format_files import FormatFile, load_formats
from logdoctor.logs.record_pattern import Message, RecordPattern
from logdoctor.model import Level, Source

NO_SOURCE = Source()
PRINTABLE = (*(chr(c) for c in range(32, 127)), "é", "界", "\t")


@dataclass(frozen=True)
class Parsed:
    kind: str
    level: Level
    fields: dict
    text: str


@cache
def formats() -> dict[str, FormatFile]:
    """Return the format files by name."""
    return {file.name: file for file in load_formats()}


def records(name: str) -> tuple[RecordPattern, ...]:
    """Return the record patterns of one format file."""
    return formats()[name].record_patterns


@cache
def compiled(pattern: str) -> regex.Pattern:
    return regex.compile(pattern)


def read(patterns: Sequence[RecordPattern], text: str, source: Source = NO_SOURCE) -> list[Parsed]:
    lines = text.split("\n")
    results: list[Parsed] = []
    taken: set[int] = set()
    for number in range(len(lines)):
        if number in taken:
            continue
        for pattern in patterns:
            result = read_line(pattern, lines, number, source, taken)
            if result is not None:
                results.append(result)
                break
    return results


def read_line(pattern: RecordPattern, lines: list[str], number: int, source: Source, taken: set[int]) -> Parsed | None:
    match = compiled(pattern.pattern).search(lines[number])
    if match is None:
        return None
    fields = {k: int(v) if regex.fullmatch(r"-?\d+", v) else v for k, v in match.groupdict().items() if v}
    head_fields = dict(fields)
    text, level = str(fields.pop("text", lines[number])), pattern.level or source.level or "info"
    kind = pattern.kind
    if pattern.read_lines is not None:
        multiline = pattern.read_lines(
            Message(text=lines[number], source=source), head_fields, lines_below(lines, number, source)
        )
        if multiline is None:
            return None
        fields |= multiline.fields
        text, level, kind = multiline.text, multiline.level or level, multiline.kind or kind
        taken |= {number + t for t in multiline.taken}
    return Parsed(kind, level, fields, text)


def lines_below(lines: list[str], number: int, source: Source) -> Iterator[Message]:
    for offset, line in enumerate(lines[number + 1 :], 1):
        yield Message(line, source, offset)


def read_record(patterns: Sequence[RecordPattern], text: str, source: Source = NO_SOURCE) -> Parsed:
    results = read(patterns, text, source)
    assert len(results) == 1, results
    return results[0]


def kinds(patterns: Sequence[RecordPattern], text: str) -> list[str]:
    return [s.kind for s in read(patterns, text)]
