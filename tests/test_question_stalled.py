"""Ranks that Horovod's stalls name."""

from __future__ import annotations

from handmade_records import make_record
from question_probe import Probe

from logdoctor.model import Line, Record, Source, Value
from logdoctor.reasoning.questions.waiting import stalled


def derive_records(*stalls: dict[str, Value]) -> list[Record]:
    probe = Probe()
    for order, fields in enumerate(stalls):
        kind = "frameworks.stall" if fields else "elastic.restart"
        probe.observe(make_record(Line("job.log", order, ""), kind, "", Source(), "error", fields, order))
    return probe.ask(stalled)


def test_stall_with_one_side_is_late_and_with_two_sides_a_mismatch() -> None:
    (one,) = derive_records({"missing": (3,), "stalled_ops": "grad_1, grad_2", "sides": 1})
    (many,) = derive_records({"missing": (0, 1), "stalled_ops": "bcast_1, bcast_2", "sides": 2})
    assert (one.kind, one.fields["late"]) == ("ledger.stalled", (3,))
    assert (many.kind, many.fields["op"]) == ("ledger.collective_mismatch", "bcast_1")


def test_stall_cut_before_its_ranks_does_not_replace_one_with_ranks() -> None:
    (found,) = derive_records({"missing": (3,), "stalled_ops": "grad_1", "sides": 1}, {"sides": 0})
    assert found.fields["late"] == (3,)


def test_stall_of_an_earlier_attempt_gives_nothing() -> None:
    assert derive_records({"missing": (3,), "stalled_ops": "grad_1", "sides": 1}, {}) == []
