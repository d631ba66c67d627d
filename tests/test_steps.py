"""Steps of the processes, and the counters of the job."""

from __future__ import annotations

import pytest
from handmade_records import make_record

from logdoctor.logs.line_parser import parse_text
from logdoctor.model import Line, Record, Source
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.steps import ENOUGH_STEPS, MAX_STEPS, Steps, intervals_behind, place_of, usual_gap


def steps_of(*rows: tuple[int | None, dict[str, object]], file: str = "job.log") -> Steps:
    """Return the steps after rows of rank and fields."""
    state = JobState()
    for order, (rank, fields) in enumerate(rows):
        state.observe(step(order, rank, file, **fields))
    return state.steps


def step(order: int, rank: int | None = None, file: str = "job.log", **fields: object) -> Record:
    line = Line(file, order + 1, "step")
    return make_record(line, "progress.step", "step", Source(rank=rank), "info", {"unit": "step", **fields}, order)


def test_bar_that_is_drawn_again_is_one_step():
    log = "ERROR lost a packet\n" + "Fit:  50%|█████     | 1/2 [00:01<00:01,  1.00s/it]\n" * 5
    state = JobState()
    alarm, *bars = parse_text(log)
    for record in (alarm, *bars):
        state.observe(record)
    (work,) = state.steps.of(None)
    assert len([*work.after(alarm, lambda _: True)]) == 1 < ENOUGH_STEPS


def test_usual_gap_is_the_median():
    assert usual_gap(records_at(0.0, 1.0, 2.0, 60.0)) == 1.0
    assert usual_gap(records_at(None, 1.0)) is None


def records_at(*times: float | None) -> list[Record]:
    return [make_record(Line("a", 1, ""), "progress.step", "", Source(time=time)) for time in times]


@pytest.mark.parametrize(
    ("values", "total", "is_at_end", "may_end", "are_complete"),
    [
        ((1, 2, 3), 3, True, True, True),
        ((0, 1, 2), 3, True, True, False),
        ((10, 20, 30), 35, False, True, False),
        ((10, 20), 100, False, False, False),
        ((3,), 3, False, False, False),
        ((1, 2, 3, 1, 2, 3), 3, True, True, False),
    ],
)
def test_counter_is_at_its_end(values, total, is_at_end, may_end, are_complete):
    steps = steps_of(*((0, {"value": value, "total": total}) for value in values))
    assert (steps.is_at_end(steps.last), steps.may_end_after(steps.last)) == (is_at_end, may_end)
    assert steps.are_complete(steps.last) is are_complete


def test_counter_of_an_earlier_attempt_is_over():
    state = JobState()
    for order, value in enumerate((1, 2, 3)):
        state.observe(step(order, 0, value=value, total=3))
    state.observe(make_record(Line("job.log", 9, ""), "elastic.restart", "", Source(), "info", {}, 9))
    assert not state.steps.is_at_end(state.steps.last)


def test_last_step_of_each_rank_and_of_nobody():
    steps = steps_of((0, {"value": 1}), (1, {"value": 1}), (0, {"value": 2}), (None, {"value": 9}))
    assert {rank: e.fields["value"] for rank, e in steps.by_rank().items()} == {0: 2, 1: 1, None: 9}
    assert steps.ranks == {0, 1}


def test_steps_of_a_run_are_those_that_are_wanted():
    steps = steps_of((0, {"value": 1}), (0, {"value": 2}))
    of_run = steps.of_run(lambda record: record.order < 1)
    assert (of_run.latest.order, steps.latest.order) == (0, 1)


def test_a_process_keeps_a_bounded_number_of_steps_and_counts_all():
    steps = steps_of(*((0, {"value": n}) for n in range(3 * MAX_STEPS)))
    assert (len([*steps.kept()]), steps.works[0].count) == (MAX_STEPS, 3 * MAX_STEPS)


def test_a_bar_at_its_total_is_no_final_step():
    assert steps_of((0, {"value": 3, "total": 3})).final is not None
    assert steps_of((0, {"value": 3, "total": 3, "advances": False})).final is None


def test_place_is_epoch_and_number():
    assert place_of(step(0, value="120/500", epoch=2)) == (2.0, 120.0)
    assert place_of(step(0)) == (0.0, 0.0)
    assert place_of(step(0, value="inf", epoch="nan")) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("steps", "place", "intervals"),
    [
        (((0, 10), (0, 20)), (0, 50), 3),
        (((0, 10), (0, 20)), (0, 29), 0),
        (((0, 90), (1, 20)), (1, 25), 5),
        (((0, 10), (0, 20)), (1, 0), 2),
        (((0.1, 10), (0.2, 20)), (0.5, 50), 3),
        (((0, 10), (0, 20)), (0, 10), 0),
    ],
    ids=[
        "by its own interval",
        "less than one",
        "first step of an epoch",
        "earlier epoch",
        "parts of an epoch",
        "ahead",
    ],
)
def test_intervals_behind_a_place(steps, place, intervals):
    made = [step(n, epoch=epoch, value=value) for n, (epoch, value) in enumerate(steps)]
    assert intervals_behind(made, place) == intervals


def test_loop_is_named_by_its_unit_and_its_words_without_numbers():
    steps = steps_of(*((0, {"value": n, "what": f"Epoch {n}"}) for n in range(3)), (0, {"value": 1, "what": "Eval"}))
    loops = steps.loops(lambda _: True)
    assert {name: len(by_process[0]) for name, by_process in loops.items()} == {
        ("step", "Epoch #"): 3,
        ("step", "Eval"): 1,
    }


def test_loop_tells_its_epoch_in_its_name():
    assert place_of(step(0, value=3, what="Epoch 7")) == (7.0, 3.0)
