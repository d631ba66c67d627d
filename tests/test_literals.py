"""The texts by which the scan finds a record: derived from its pattern, or chosen by hand where that does better."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import hyperscan
import pytest
from format_probe import formats

from logdoctor.logs import record_patterns
from logdoctor.logs.line_parser import LineParser
from logdoctor.logs.record_pattern import RecordPattern
from logdoctor.matcher import Atom, Pattern
from logdoctor.matcher.literals import text_cost
from logdoctor.matcher.scan_pattern import literal_pattern, make_pattern
from logdoctor.pipeline.diagnosis import events

CORPUS = Path(__file__).parent.parent / "corpus"
BY_HAND = [record for record in record_patterns() if record.literal]
MORE_COST, MORE_LINES = 1000, 30
"""A derived set is worse if it costs so much more, and twice as much, or stands in so many more lines of the corpus."""


@pytest.mark.parametrize(
    ("pattern", "atoms"),
    [
        ("(?i)Lost Peer", [Atom("lost peer", caseless=True)]),
        (r"(?i:pid|tid) \d+ lost peer", [Atom(" lost peer")]),
        (r"lost (?i:Peer)", [Atom("lost peer", caseless=True)]),
        (r"(?i)a \d+(?-i: LOST PEER)", [Atom(" LOST PEER")]),
        (
            r"Thread 0x|Thread of|TID \d+ (?:of|in)",
            [Atom(f"TID {n}") for n in range(10)] + [Atom("Thread 0x"), Atom("Thread of")],
        ),
        (r"(?:[Ll]ost the neighbour|[Gg]iven up the host)", [Atom("iven up the host"), Atom("ost the neighbour")]),
        (r"NVRM: (?:The GPU|No device|[^\n]*Xid)", [Atom("NVRM: ")]),
    ],
)
def test_texts_are_derived_from_each_branch_with_the_words_beside_it(pattern: str, atoms: list[Atom]) -> None:
    assert list(make_pattern(pattern).atoms) == atoms


def test_text_that_holds_another_is_left_out_and_long_ones_are_cut() -> None:
    atoms = literal_pattern(["p4_error: ", "fatal p4_error: ", "could not send to the next process"]).atoms
    assert [atom.text for atom in atoms] == ["ot send to the next proc", "p4_error: "]


# ── laws of the texts chosen by hand ────────────────────────────────────────────────────────────────────────────────


def test_each_line_of_a_sample_holds_a_text_of_its_record(knowledge, monkeypatch) -> None:
    missing, parse = set[str](), LineParser._parse_match

    def parse_match(parser, pattern, match, text, *others):
        record = parse(parser, pattern, match, text, *others)
        if record is not None and pattern.literal and not any(literal in log for literal in pattern.literal):
            missing.add(f"{pattern.kind}: {text}")
        return record

    monkeypatch.setattr(LineParser, "_parse_match", parse_match)
    for file in formats().values():
        for sample in file.samples:
            log = sample.log  # the prefix of a line may hold the text
            list(events([io.BytesIO(log.encode() + b"\n")], knowledge=knowledge))
    assert missing == set()


def cost(pattern: Pattern) -> float:
    return sum(1e9 if atom.is_expression else text_cost(atom.text) for atom in pattern.atoms)


def derived(record: RecordPattern) -> Pattern:
    return make_pattern(record.searched, often=record.often)


def count_lines(sets: Sequence[Pattern]) -> list[int]:
    """Return for each set of texts the different lines of the corpus that hold one of them."""
    owners: dict[Atom, list[int]] = {}
    for number, pattern in enumerate(sets):
        for atom in pattern.atoms:
            owners.setdefault(atom, []).append(number)
    groups = list(owners.values())
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(expressions=[a.expression for a in owners], ids=[*range(len(owners))], flags=0)
    counts, logs = Counter[int](), (path for path in CORPUS.rglob("*.log") if path.is_file())
    scratch = hyperscan.Scratch(database)
    for line in {line for log in logs for line in log.read_bytes().splitlines()}:
        hits = set[int]()
        database.scan(line, match_event_handler=lambda i, *_: hits.add(i), scratch=scratch)  # noqa: B023
        counts.update({number for hit in hits for number in groups[hit]})
    return [counts[number] for number in range(len(sets))]


def test_texts_chosen_by_hand_do_better_than_the_derived_ones() -> None:
    chosen = [literal_pattern(record.literal) for record in BY_HAND]
    automatic = [derived(record) for record in BY_HAND]
    lines = count_lines([*chosen, *automatic])
    needless = [
        f"{record.kind}: {record.literal[:3]}: remove `literal`, the derived texts do as well"
        for number, record in enumerate(BY_HAND)
        if cost(automatic[number]) < max(2 * cost(chosen[number]), cost(chosen[number]) + MORE_COST)
        and lines[len(BY_HAND) + number] - lines[number] < MORE_LINES
    ]
    assert needless == []
