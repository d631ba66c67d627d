"""Records go only to those who asked for them."""

from __future__ import annotations

import pytest
from handmade_records import make_record

from logdoctor.model import Level, Line, Record, Source
from logdoctor.reasoning.dispatch import Dispatch
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.questions import new_timeline


class Reader:
    def __init__(self, *reads: str) -> None:
        self.READS, self.seen = reads, list[Record]()

    def observe(self, record: Record) -> None:
        self.seen.append(record)


def record(kind: str, level: Level = "info") -> Record:
    return make_record(Line("job.log", 1, ""), kind, "", Source(), level)


@pytest.mark.parametrize(
    ("reads", "kind", "level", "given"),
    [
        ("works", "progress.step", "info", True),
        ("works", "progress.phase", "info", False),
        ("tells stack", "python.stack", "info", True),
        ("nccl.retry", "nccl.retry", "info", True),
        ("nccl.*", "nccl.retry", "info", True),
        ("nccl.*", "ucx.other", "info", False),
        ("failing", "ucx.other", "error", True),
        ("failing", "ucx.other", "warning", False),
        ("all", "ucx.other", "info", True),
    ],
)
def test_reader_gets_the_sorts_that_it_names(reads, kind, level, given):
    reader = Reader(reads)
    Dispatch([reader])(record(kind, level=level))
    assert bool(reader.seen) is given


def test_sign_of_a_reader_exists():
    sorts = {sort for reader in (*JobState().readers, new_timeline()) for sort in reader.READS}
    kinds = {"all", "failing", *(sort for sort in sorts if "." in sort)}
    words = {word for sort in sorts - kinds for word in [sort.removeprefix("tells ")]}
    from typing import get_args

    from logdoctor.model import Mark, Tell

    assert words <= {*get_args(Mark), *get_args(Tell)}


def test_a_step_and_a_line_without_signs_visit_few():
    readers = [*JobState().readers, new_timeline()]
    visits = {kind: sum(bool({"all", *sorts} & set(r.READS)) for r in readers) for kind, sorts in VISITS.items()}
    assert visits == {"text.line": 2, "progress.step": 6}


VISITS = {"text.line": (), "progress.step": ("works",)}
