"""Exceptions of ranks that gave up waiting: who stood in another call, and who never came."""

from __future__ import annotations

from detector_probe import by_name, derive

from logdoctor.model import Record
from logdoctor.reasoning.detectors.collective_waits import Detector

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


def derived(text: str) -> dict[str, Record]:
    return by_name(derive(Detector(), text))


def test_the_rank_that_waits_in_another_call_than_most_is_odd() -> None:
    text = waits(0, "all_reduce") + waits(1, "barrier", CLOSED) + waits(2, "all_reduce", CLOSED)
    fields = derived(text)["waits_differ"].fields
    assert (fields["odd"], fields["function"], fields["others_function"]) == ((1,), "barrier", "all_reduce")


def test_of_two_equal_sides_none_is_odd() -> None:
    fields = derived(waits(0, "all_reduce") + waits(1, "barrier", CLOSED))["waits_differ"].fields
    assert "odd" not in fields


def test_one_call_reached_from_several_functions_is_no_difference() -> None:
    assert derived(waits(0, "barrier") + waits(1, "barrier", CLOSED, function="late")) == {}


def test_stages_of_a_pipeline_may_wait_in_different_calls() -> None:
    assert derived(waits(0, "recv") + waits(1, "all_reduce", CLOSED)) == {}


def test_ranks_that_all_send_wait_for_each_other() -> None:
    assert derived(waits(0, "send") + waits(1, "send", CLOSED))["all_send"].fields["count"] == 2


def test_the_one_rank_that_never_says_that_it_waited_is_missing() -> None:
    text = "[rank2]: step 3 loss 2.31\n" + waits(0, "all_reduce") + waits(1, "all_reduce", CLOSED)
    assert derived(text)["silent_rank"].fields["missing"] == (2,)


def test_the_one_rank_that_begins_to_send_when_all_others_have_given_up_is_missing() -> None:
    late = waits(2, "isend", CLOSED)
    assert derived(waits(0, "send") + waits(1, "recv") + late)["silent_rank"].fields["missing"] == (2,)
    assert "silent_rank" not in derived(late + waits(0, "send") + waits(1, "recv"))
    assert "silent_rank" not in derived(waits(0, "send") + waits(1, "recv", CLOSED) + late)


def test_of_two_silent_ranks_nobody_knows_which_one_is_missing() -> None:
    text = "[rank2]: step 3 loss 2.31\n[rank3]: step 3 loss 2.30\n" + waits(0, "all_reduce") + waits(1, "barrier")
    assert derived(text) == {}


def test_a_rank_that_failed_in_its_own_way_is_not_silent() -> None:
    text = waits(0, "all_reduce") + waits(1, "all_reduce") + "[rank2]: ValueError: no such column: age\n"
    assert derived(text) == {}


def test_connections_that_close_without_a_time_out_tell_nothing() -> None:
    assert derived(waits(0, "all_reduce", CLOSED) + waits(1, "barrier", CLOSED)) == {}


def test_a_restart_begins_anew() -> None:
    restart = "I1009 15:30:46.436000 7001 torch/distributed/elastic/agent/server/api.py:713] [default] Worker group FAILED. 2/3 attempts left; will restart worker group\n"
    assert derived(waits(0, "all_reduce") + restart + waits(1, "barrier")) == {}
