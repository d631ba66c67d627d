"""Read plain lines with the record patterns of one format, without prefixes and scan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import regex

from logdoctor.model import Level, Speaker
from logdoctor.parsers.record import Bare, Record

NO_SOURCE = Speaker()
PRINTABLE = (*(chr(c) for c in range(32, 127)), "é", "界", "\t")


@dataclass(frozen=True)
class Parsed:
    kind: str
    level: Level
    fields: dict
    text: str


@cache
def compiled(pattern: str) -> regex.Pattern:
    return regex.compile(pattern)


def read(records: Sequence[Record], text: str, speaker: Speaker = NO_SOURCE) -> list[Parsed]:
    lines = text.split("\n")
    ranked = sorted(records, key=lambda r: -r.priority)
    results: list[Parsed] = []
    taken: set[int] = set()
    for number in range(len(lines)):
        if number in taken:
            continue
        for record in ranked:
            result = read_line(record, lines, number, speaker, taken)
            if result is not None:
                results.append(result)
                break
    return results


def read_line(record: Record, lines: list[str], number: int, speaker: Speaker, taken: set[int]) -> Parsed | None:
    match = compiled(record.pattern).search(lines[number])
    if match is None:
        return None
    fields = {k: int(v) if regex.fullmatch(r"-?\d+", v) else v for k, v in match.groupdict().items() if v}
    head_fields = dict(fields)
    text, level = str(fields.pop("text", lines[number])), record.level or speaker.level or "info"
    kind = record.kind
    if record.block is not None:
        block = record.block(
            Bare(text=lines[number], speaker=speaker), head_fields, lines_below(lines, number, speaker)
        )
        if block is None:
            return None
        fields |= block.fields
        text, level, kind = block.text, block.level or level, block.kind or kind
        taken |= {number + t for t in block.taken}
    return Parsed(kind, level, fields, text)


def lines_below(lines: list[str], number: int, speaker: Speaker) -> Iterator[Bare]:
    for offset, line in enumerate(lines[number + 1 :], 1):
        yield Bare(line, speaker, offset)


def one(records: Sequence[Record], text: str, speaker: Speaker = NO_SOURCE) -> Parsed:
    results = read(records, text, speaker)
    assert len(results) == 1, results
    return results[0]


def kinds(records: Sequence[Record], text: str) -> list[str]:
    return [s.kind for s in read(records, text)]
