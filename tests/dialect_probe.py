"""One dialect alone, without wrappers and scan: what its records make of plain lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import regex

from logdoctor.model import Level, Speaker
from logdoctor.parsers.record import Bare, Record

NOBODY = Speaker()
PRINTABLE = (*(chr(c) for c in range(32, 127)), "é", "界", "\t")


@dataclass(frozen=True)
class Seen:
    kind: str
    level: Level
    fields: dict
    text: str


@cache
def compiled(pattern: str) -> regex.Pattern:
    return regex.compile(pattern)


def read(records: Sequence[Record], text: str, speaker: Speaker = NOBODY) -> list[Seen]:
    lines = text.split("\n")
    ranked = sorted(records, key=lambda r: -r.priority)
    seen: list[Seen] = []
    taken: set[int] = set()
    for number in range(len(lines)):
        if number in taken:
            continue
        for record in ranked:
            found = first(record, lines, number, speaker, taken)
            if found is not None:
                seen.append(found)
                break
    return seen


def first(record: Record, lines: list[str], number: int, speaker: Speaker, taken: set[int]) -> Seen | None:
    match = compiled(record.pattern).search(lines[number])
    if match is None:
        return None
    fields = {k: int(v) if regex.fullmatch(r"-?\d+", v) else v for k, v in match.groupdict().items() if v}
    given = dict(fields)
    text, level = str(fields.pop("text", lines[number])), record.level or speaker.level or "info"
    kind = record.kind
    if record.block is not None:
        block = record.block(Bare(text=lines[number], speaker=speaker), given, below(lines, number, speaker))
        if block is None:
            return None
        fields |= block.fields
        text, level, kind = block.text, block.level or level, block.kind or kind
        taken |= {number + t for t in block.taken}
    return Seen(kind, level, fields, text)


def below(lines: list[str], number: int, speaker: Speaker) -> Iterator[Bare]:
    for offset, line in enumerate(lines[number + 1 :], 1):
        yield Bare(line, speaker, offset)


def one(records: Sequence[Record], text: str, speaker: Speaker = NOBODY) -> Seen:
    seen = read(records, text, speaker)
    assert len(seen) == 1, seen
    return seen[0]


def kinds(records: Sequence[Record], text: str) -> list[str]:
    return [s.kind for s in read(records, text)]
