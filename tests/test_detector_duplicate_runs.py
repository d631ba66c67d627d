"""Whether processes tell that each of them did the whole work alone."""

from __future__ import annotations

import pytest
from detector_probe import derive

from logdoctor.model import Record
from logdoctor.reasoning.detectors.duplicate_runs import Detector

TEN, TWENTY, THIRTY = "step 10 loss 3.4931\n", "step 20 loss 1.6355\n", "step 30 loss 0.9635\n"


def derived(text: str) -> list[Record]:
    return derive(Detector(), text)


@pytest.mark.parametrize(
    "log", [3 * TEN + 3 * TWENTY, TEN + TWENTY + 2 * TEN + THIRTY, TEN + TWENTY + THIRTY + 3 * TEN]
)
def test_three_that_tell_the_same_result_are_heard(log):
    assert [e.fields["voices"] for e in derived(log)] == [3]


def test_the_event_says_which_step_they_told():
    assert derived(3 * TEN)[0].fields == {"voices": 3, "unit": "step", "step": 10}


@pytest.mark.parametrize("log", [2 * TEN + 2 * TWENTY + 2 * THIRTY, 4 * (TEN + TWENTY + THIRTY), 4 * "step 10 done\n"])
def test_two_places_to_print_to_and_runs_in_turn_are_one_voice(log):
    assert derived(log) == []


def test_ranks_that_are_known_are_counted_by_name():
    labelled = "".join(f"{rank}: {TEN}{rank}: {TWENTY}{rank}: {THIRTY}" for rank in range(2))
    assert [e.fields["voices"] for e in derived(labelled)] == [2]
    assert derived("".join(f"[rank1]: {line}" for line in (TEN, TWENTY) * 4)) == []
