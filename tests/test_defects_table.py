"""The table of known defects holds rows that can be compared with the versions and proofs of a log."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.version import Version

from logdoctor.ruleset.decisions import ALWAYS, _is_condition

RULES = Path(__file__).parent.parent / "rules"
NONE = "-"


class Defect(NamedTuple):
    """One row, column by column."""

    package: str
    first: str
    last: str
    signature: str
    when: str
    mended: str
    way_round: str
    defect: str
    source: str


def rows(name: str) -> list[list[str]]:
    """Return the cells of each line of a table that is no comment."""
    lines = (RULES / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


DEFECTS = [Defect(*cells) for cells in rows("defects.tsv")]
SIGNATURES = {cells[0] for cells in rows("signatures.tsv")}
each_defect = pytest.mark.parametrize("row", DEFECTS, ids=lambda row: f"{row.package}-{row.last}-{row.signature}")


def test_every_line_fills_all_columns() -> None:
    assert all(len(cells) == len(Defect._fields) and all(map(str.strip, cells)) for cells in rows("defects.tsv"))


def test_rows_are_unlike() -> None:
    keys = [(row.package, row.last, row.signature, row.when) for row in DEFECTS]
    assert len(keys) == len(set(keys))


def test_rows_stand_in_order() -> None:
    order = [(row.package, Version(row.last)) for row in DEFECTS]
    assert order == sorted(order)


@each_defect
def test_versions_rise_from_first_to_mended(row: Defect) -> None:
    versions = [Version(version) for version in (row.first, row.last) if version != NONE]
    assert versions == sorted(versions)
    assert row.mended == NONE or versions[-1] < Version(row.mended)


@each_defect
def test_signature_is_known(row: Defect) -> None:
    assert row.signature in SIGNATURES


@each_defect
def test_condition_is_narrow(row: Defect) -> None:
    assert row.when != ALWAYS
    assert _is_condition(row.when)
    assert row.when == row.when.replace(" &", "&").replace("& ", "&").strip()


@each_defect
def test_words_of_a_proof_are_lower_case_and_lie_in_no_other_word(row: Defect) -> None:
    told = [term.removeprefix("says=") for term in row.when.split("&") if term.startswith("says=")]
    words = [word for part in told for word in part.split(",")]
    assert words == [word.lower() for word in words if len(word) > 3]


@each_defect
def test_sentences_are_plain(row: Defect) -> None:
    assert row.package == row.package.lower()
    assert row.defect.endswith(".")
    assert len(row.defect) <= 150
    assert row.way_round == NONE or row.way_round.endswith(".")


@each_defect
def test_source_is_a_thread_or_a_named_page(row: Defect) -> None:
    assert "//" not in row.source
    assert row.source.rpartition("#")[2].isdigit() or " " in row.source
