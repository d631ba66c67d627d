"""Suspects: processes that stand apart while no cause is known."""

from __future__ import annotations

import pytest
from failing_job import diagnose_log

from logdoctor.model import Diagnosis
from logdoctor.render import render

FAILED = "[2026-11-22 01:12:30] ERROR: the frobnicator gave up on shard 7\n"


def line(rank: int, step: int, second: int) -> str:
    return f"[2026-11-22 01:11:{second:02d}] [rank{rank}] step {step}/20000 loss 2.{step}\n"


def job(*, behind: tuple[int, ...] = (), until: int = 12, ranks: int = 4) -> str:
    """Return a log in which the ranks ``behind`` miss the last step."""
    steps = [(rank, step) for step in range(until) for rank in range(ranks) if step < until - 1 or rank not in behind]
    return "".join(line(rank, step, step) for rank, step in steps)


def unknown(log: str, knowledge, **options) -> Diagnosis:
    diagnosis = diagnose_log(log, knowledge, **options)
    assert diagnosis.verdict == "unknown"
    return diagnosis


def test_the_only_rank_behind_stands_apart(knowledge):
    (suspect,) = unknown(job(behind=(2,)) + FAILED, knowledge).suspects
    assert suspect.rank == 2
    assert suspect.why == "Rank 2 printed step 10 last, all others step 11."
    assert suspect.evidence[0].line.text == line(2, 10, 10).strip()


@pytest.mark.parametrize(("behind", "ranks"), [((), 4), ((1, 2), 4), ((0,), 2)])
def test_nobody_stands_apart_unless_exactly_one_of_many_is_behind(behind, ranks, knowledge):
    assert unknown(job(behind=behind, ranks=ranks) + FAILED, knowledge).suspects == ()


def test_suspect_is_no_culprit(knowledge):
    diagnosis = unknown(job(behind=(2,)) + FAILED, knowledge)
    assert [cause for cause in diagnosis.causes if cause.by == "rule"] == []
    assert all(cause.culprit.ranks == () for cause in diagnosis.causes)


def test_rank_that_was_silent_first_stands_apart(knowledge):
    spoken = "".join(f"[2026-11-22 01:11:55] [rank{rank}] waiting for work\n" for rank in (0, 1, 3))
    late = "".join(f"[2026-11-22 01:12:{s}] [rank{r}] ERROR: queue is stuck\n" for s in (20, 25) for r in (0, 1, 3))
    (suspect,) = unknown(job() + spoken + late, knowledge).suspects
    assert (suspect.rank, suspect.why) == (2, "Rank 2 was silent before all others.")


def test_known_cause_leaves_no_suspect(knowledge):
    log = job(behind=(2,)) + "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
    diagnosis = diagnose_log(log, knowledge)
    assert (diagnosis.verdict, diagnosis.suspects) == ("failed", ())


def test_hung_job_names_the_rank_behind(knowledge):
    diagnosis = diagnose_log(job(behind=(2,)), knowledge, hung=True)
    named = [suspect.rank for suspect in diagnosis.suspects] or [*diagnosis.causes[0].culprit.ranks]
    assert named == [2]


@pytest.mark.parametrize(("lang", "text"), [("en", "suspect: rank 2"), ("zh", "可疑：rank 2")])
@pytest.mark.parametrize("form", ["text", "markdown", "jira", "html"])
def test_suspect_is_shown(form, lang, text, knowledge):
    output = render(unknown(job(behind=(2,)) + FAILED, knowledge, lang=lang), form, lang=lang)
    assert text in output


def test_quiet_line_names_the_suspect(knowledge):
    first = render(unknown(job(behind=(2,)) + FAILED, knowledge), "text", quiet=True)
    assert first.split("\t")[:5] == ["investigate", "unknown", "-", "-", "2"]
