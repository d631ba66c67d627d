"""Ranks that wait in different calls, or for a silent rank."""

from __future__ import annotations

import pytest
from question_probe import Probe, by_name, derive

from logdoctor.logs.line_parser import parse_text
from logdoctor.model import Record
from logdoctor.reasoning.questions.wait_exceptions import blocked_calls, silent_end

TIMED_OUT = "[../gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 60000ms for recv operation to complete"
CLOSED = "[../gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.8.0.4]:40112"


def waits(rank: int, call: str, message: str = TIMED_OUT, function: str = "step") -> str:
    lines = (
        "Traceback (most recent call last):",
        f'  File "/home/u/train.py", line 88, in {function}',
        f"    dist.{call}(total)",
        f'  File "/opt/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 25, in {call}',
        "    work.wait()",
        f"RuntimeError: {message}",
    )
    return "".join(f"[rank{rank}]: {line}\n" for line in lines)


def derive_records(text: str) -> dict[str, Record]:
    return by_name(derive(blocked_calls, text))


def test_rank_in_another_call_than_most_is_odd() -> None:
    text = waits(0, "all_reduce") + waits(1, "barrier", CLOSED) + waits(2, "all_reduce", CLOSED)
    fields = derive_records(text)["waits_differ"].fields
    assert (fields["odd"], fields["function"], fields["others_function"]) == ((1,), "barrier", "all_reduce")


def test_two_equal_sides_have_no_odd_rank() -> None:
    fields = derive_records(waits(0, "all_reduce") + waits(1, "barrier", CLOSED))["waits_differ"].fields
    assert "odd" not in fields


def test_same_call_from_several_functions_is_no_difference() -> None:
    assert derive_records(waits(0, "barrier") + waits(1, "barrier", CLOSED, function="late")) == {}


def test_pipeline_stages_in_different_calls_are_no_difference() -> None:
    assert derive_records(waits(0, "recv") + waits(1, "all_reduce", CLOSED)) == {}


def test_ranks_that_all_send_give_all_send() -> None:
    assert derive_records(waits(0, "send") + waits(1, "send", CLOSED))["all_send"].fields["count"] == 2


def test_single_rank_without_a_wait_is_missing() -> None:
    text = "[rank2]: step 3 loss 2.31\n" + waits(0, "all_reduce") + waits(1, "all_reduce", CLOSED)
    assert derive_records(text)["silent_rank"].fields["missing"] == (2,)


def test_two_silent_ranks_give_no_missing_rank() -> None:
    text = "[rank2]: step 3 loss 2.31\n[rank3]: step 3 loss 2.30\n" + waits(0, "all_reduce") + waits(1, "barrier")
    assert derive_records(text) == {}


def test_rank_with_its_own_failure_is_not_silent() -> None:
    text = waits(0, "all_reduce") + waits(1, "all_reduce") + "[rank2]: ValueError: no such column: age\n"
    assert derive_records(text) == {}


def test_closed_connections_without_a_time_out_give_nothing() -> None:
    assert derive_records(waits(0, "all_reduce", CLOSED) + waits(1, "barrier", CLOSED)) == {}


def test_restart_resets_the_waits() -> None:
    restart = "I1009 15:30:46.436000 7001 torch/distributed/elastic/agent/server/api.py:713] [default] Worker group FAILED. 2/3 attempts left; will restart worker group\n"
    assert derive_records(waits(0, "all_reduce") + restart + waits(1, "barrier")) == {}


def test_both_sides_are_told_with_their_ranks_and_lines() -> None:
    here = waits(0, "all_reduce", function="balance") + waits(2, "all_reduce", CLOSED, function="balance")
    there = waits(1, "barrier", function="send") + waits(3, "barrier", CLOSED, function="send")
    fields = derive_records(here + there)["waits_differ"].fields
    assert (fields["ranks_here"], fields["function"], fields["here"]) == ((1, 3), "barrier", "train.py:88 in send")
    assert (fields["ranks_there"], fields["others_function"]) == ((0, 2), "all_reduce")


def test_no_line_is_told_where_ranks_reach_one_call_from_several() -> None:
    text = waits(0, "all_reduce") + waits(1, "barrier", CLOSED) + waits(2, "all_reduce", CLOSED, function="other")
    assert not derive_records(text)["waits_differ"].fields.get("there")


def lost_by(
    *ranks: int, last: int = 8, silent_at: int = 7, text: str = "Connection closed by peer [10.0.0.3]:4100"
) -> Probe:
    """Return a job of three ranks of which some lost their peers, and rank 1 stopped after a step."""
    steps = [(0, last), (1, silent_at), (2, last)]
    lines = [f"[rank{rank}]: step {n} loss 2.1" for rank, count in steps for n in range(5, count + 1)]
    lines += [f"[rank{rank}]: RuntimeError: [gloo/transport/tcp/pair.cc:534] {text}" for rank in ranks]
    probe = Probe()
    for record in parse_text("\n".join(lines) + "\n"):
        probe.observe(record)
    return probe


def test_the_rank_that_says_nothing_while_all_others_lose_their_peers_fell_silent() -> None:
    (record,) = lost_by(0, 2).ask(silent_end)
    assert (record.fields, record.line.text) == ({"gone": 1, "gone_step": 7}, "[rank1]: step 7 loss 2.1")


@pytest.mark.parametrize(
    "probe",
    [
        lost_by(0, 1, 2),
        lost_by(0),
        lost_by(0, 2, silent_at=9),
        lost_by(0, 2, text="Timed out waiting 1800000ms for recv operation to complete"),
    ],
    ids=["it complains too", "two say nothing", "it came further than the others", "the others timed out"],
)
def test_no_rank_fell_silent(probe: Probe) -> None:
    assert probe.ask(silent_end) == []
