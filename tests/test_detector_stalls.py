"""Whom Horovod's stalls name."""

from __future__ import annotations

from handmade_records import handmade

from logdoctor.model import Line, Record, Source, Value
from logdoctor.reasoning.detectors.stalls import Detector
from logdoctor.reasoning.job_state import JobState


def derived(*stalls: dict[str, Value]) -> list[Record]:
    detector = Detector()
    for order, fields in enumerate(stalls):
        kind = "frameworks.stall" if fields else "elastic.restart"
        detector.observe(handmade(Line("job.log", order, ""), kind, "", Source(), "error", fields, order))
    return detector.derive(JobState())


def test_horovod_waits_for_one_rank_or_the_ranks_for_each_other() -> None:
    (one,) = derived({"missing": (3,), "stalled_ops": "grad_1, grad_2", "sides": 1})
    (many,) = derived({"missing": (0, 1), "stalled_ops": "bcast_1, bcast_2", "sides": 2})
    assert (one.kind, one.fields["late"]) == ("ledger.stalled", (3,))
    assert (many.kind, many.fields["op"]) == ("ledger.collective_mismatch", "bcast_1")


def test_a_stall_that_is_cut_before_its_ranks_does_not_hide_the_one_that_names_them() -> None:
    (found,) = derived({"missing": (3,), "stalled_ops": "grad_1", "sides": 1}, {"sides": 0})
    assert found.fields["late"] == (3,)


def test_a_stall_of_an_attempt_before_counts_for_nothing() -> None:
    assert derived({"missing": (3,), "stalled_ops": "grad_1", "sides": 1}, {}) == []
