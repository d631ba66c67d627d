import csv
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tools"))

from compare_speed import compare  # noqa: E402


def row(commit, ratio, mib=40, contest="256 MiB", program="logdoctor"):
    return {"commit": commit, "contest": contest, "program": program, "ratio": str(ratio), "MiB": str(mib)}


def test_slower_by_more_than_a_tenth_is_told():
    assert compare([row("aaa", 0.5), row("bbb", 0.56)]) == [
        "256 MiB, logdoctor: ratio 0.5 at aaa, 0.56 at bbb (1.12 x)"
    ]


def test_more_memory_by_more_than_a_tenth_is_told():
    assert compare([row("aaa", 0.5, 40), row("bbb", 0.5, 50)])


@pytest.mark.parametrize("rows", [[row("aaa", 0.5)], [row("aaa", 0.5), row("bbb", 0.54)], []])
def test_one_row_or_a_small_difference_is_not_told(rows):
    assert compare(rows) == []


def test_only_the_last_two_rows_of_a_contest_are_compared():
    rows = [
        row("aaa", 0.1),
        row("bbb", 0.5),
        row("ccc", 0.4),
        row("ccc", 9, contest="help"),
        row("ccc", 0.4, program="-q"),
    ]
    assert compare(rows) == []


def test_results_are_rows_of_one_form():
    with (ROOT / "benchmarks/results.tsv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    assert {len(row) for row in rows} == {7}
    assert all(float(value) > 0 for row in rows[1:] for value in row[4:])
