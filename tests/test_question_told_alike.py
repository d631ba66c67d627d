"""Processes that each do the whole work alone."""

from __future__ import annotations

import pytest
from question_probe import derive

from logdoctor.model import Record
from logdoctor.reasoning.questions.comparisons import told_alike

TEN, TWENTY, THIRTY = "step 10 loss 3.4931\n", "step 20 loss 1.6355\n", "step 30 loss 0.9635\n"


def derive_records(text: str) -> list[Record]:
    return derive(told_alike, text)


@pytest.mark.parametrize(
    "log", [3 * TEN + 3 * TWENTY, TEN + TWENTY + 2 * TEN + THIRTY, TEN + TWENTY + THIRTY + 3 * TEN]
)
def test_three_equal_results_are_duplicate_runs(log):
    assert [e.fields["voices"] for e in derive_records(log)] == [3]


def test_record_has_the_step_of_the_equal_results():
    assert derive_records(3 * TEN)[0].fields == {"voices": 3, "unit": "step", "step": 10}


@pytest.mark.parametrize("log", [2 * TEN + 2 * TWENTY + 2 * THIRTY, 4 * (TEN + TWENTY + THIRTY), 4 * "step 10 done\n"])
def test_lines_printed_twice_and_runs_in_turn_give_nothing(log):
    assert derive_records(log) == []


def test_lines_with_ranks_are_counted_by_rank():
    labelled = "".join(f"{rank}: {TEN}{rank}: {TWENTY}{rank}: {THIRTY}" for rank in range(2))
    assert [e.fields["voices"] for e in derive_records(labelled)] == [2]
    assert derive_records("".join(f"[rank1]: {line}" for line in (TEN, TWENTY) * 4)) == []
