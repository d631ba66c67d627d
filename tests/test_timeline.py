"""The timeline keeps what the questions ask for, in bounded memory."""

from __future__ import annotations

import pytest
from handmade_records import make_record
from question_probe import Probe

from logdoctor.model import Line, Record, Source
from logdoctor.reasoning import timeline
from logdoctor.reasoning.questions import new_timeline, questions
from logdoctor.reasoning.timeline import MAX_FIRST, MAX_LAST, Timeline


def step(order: int, rank: int = 0, file: str = "job.log", kind: str = "progress.step", time: float = 0.0) -> Record:
    return make_record(Line(file, order, ""), kind, "", Source(rank=rank, time=time), "info", {"value": order}, order)


def read(*records: Record, sorts: tuple[str, ...] = ("works", "busy")) -> Timeline:
    kept = Timeline(sorts)
    for record in records:
        kept.observe(record)
    return kept


def test_first_and_last_records_of_a_sort_are_kept() -> None:
    orders = [e.order for e in read(*(step(n) for n in range(1000))).of("works")]
    assert orders == [*range(MAX_FIRST), *range(1000 - MAX_LAST, 1000)]


def test_first_and_last_record_of_each_process_are_kept() -> None:
    records = [step(1000 * n + rank, rank) for n in range(3) for rank in range(300)]
    orders = {e.order for e in read(*records).of("works")}
    assert set(range(300)) | {2000 + rank for rank in range(300)} <= orders
    assert 1200 not in orders


def test_processes_are_bounded(monkeypatch) -> None:
    monkeypatch.setattr(timeline, "MAX_PROCESSES", 10)
    assert len(read(*(step(n, n) for n in range(1000))).of("works")) <= MAX_FIRST + MAX_LAST + 2 * 10


def test_records_of_several_sorts_are_merged_in_reading_order() -> None:
    kept = read(step(3), step(1, kind="progress.phase"), step(2))
    assert [e.order for e in kept.of("busy", "works")] == [1, 2, 3]


def test_new_attempt_forgets_the_records_above_it_in_its_file_only() -> None:
    kept = read(step(1), step(2, file="b.log"), step(3, kind="elastic.restart"), step(4))
    assert [e.order for e in kept.of("works")] == [2, 4]
    assert [kept.holds(step(1)), kept.holds(step(2, file="b.log")), kept.holds(step(4))] == [False, True, True]


@pytest.mark.parametrize(("before", "kept"), [("c10d.watchdog_timeout", [4]), ("progress.phase", [1, 4])])
def test_start_begins_an_attempt_after_a_wait_in_vain_only(before: str, kept: list[int]) -> None:
    records = read(step(1), step(2, kind=before), step(3, kind="nccl.version"), step(4)).of("works")
    assert [e.order for e in records] == kept


def test_longest_silence_is_of_all_records() -> None:
    times = [*range(100), 400, *range(401, 900)]
    kept = read(*(step(n, time=float(time)) for n, time in enumerate(times)))
    assert kept.longest_silence("works") == 301.0


def test_sort_that_no_question_asks_for_is_an_error() -> None:
    with pytest.raises(LookupError, match="nccl"):
        new_timeline().of("nccl.retry", "nccl.other")


@pytest.mark.parametrize("question", questions(), ids=lambda q: q.ask.__name__)
def test_question_about_nothing_concludes_nothing(question) -> None:
    assert Probe().ask(question) == []


@pytest.mark.parametrize("question", questions(), ids=lambda q: q.ask.__name__)
def test_question_reads_only_the_sorts_that_it_asks_for(question) -> None:
    assert list(question.ask(Timeline(question.sorts), Probe().state)) == []
