"""Earned verdicts: the table, and laws over all logs of corpus/."""

from __future__ import annotations

import io
import random
import string
from pathlib import Path
from typing import get_args

import pytest
from corpus_cases import healthy_cases
from failing_job import diagnose_log

from logdoctor import diagnose
from logdoctor.model import CALM, Diagnosis, Line, Verdict
from logdoctor.pipeline.knowledge import Knowledge
from logdoctor.reasoning.verdict.verdict import Facts, verdict_of

CORPUS = Path(__file__).resolve().parent.parent / "corpus"
LOGS = sorted(CORPUS.glob("*/**/*.log"))
HEALTHY = healthy_cases()
HEAD_LINES, LEAST_LINES = 10, 20
SHARES = (0.1, 0.5, 0.9)
REFUTED_LATER = {
    "healthy-caught-exceptions",
    "healthy-connect-retries-then-trains",
    "healthy-elastic-restart-recovers",
    "healthy-plugin-missing-falls-back",
    "healthy-slow-rendezvous",
    "restarts-then-success",
}
"""Cases in which a cut falls between a failure and the lines that refute it."""
TWO_RUNS = {"healthy-save-and-resume"}
"""Cases in which a first run ends well before the second begins."""
AT, END = Line("job.log", 7, "it broke"), Line("job.log", 9, "all is done")
STEPS = "".join(f"step {n}/40 loss 2.0\n" for n in range(1, 41))


@pytest.mark.parametrize(
    ("facts", "verdict", "known_by"),
    [
        (Facts(root=AT, end=END, alarm=AT), "failed", AT),
        (Facts(root=AT, read_in_part=True), "failed", AT),
        (Facts(root=AT, ended_from_outside=True), "stopped", AT),
        (Facts(alarm=AT, end=END), "unknown", AT),
        (Facts(hung=True, alive=True), "unknown", None),
        (Facts(read_in_part=True, end=END), "unknown", None),
        (Facts(end=END, alive=True), "finished", END),
        (Facts(alive=True), "no-end-seen", None),
        (Facts(), "nothing-to-judge", None),
    ],
)
def test_facts_give_the_first_verdict_that_holds(facts, verdict, known_by):
    assert verdict_of(facts) == (verdict, known_by)


def test_every_verdict_can_be_reached():
    facts = (
        Facts(root=AT),
        Facts(root=AT, ended_from_outside=True),
        Facts(hung=True),
        Facts(end=END),
        Facts(alive=True),
        Facts(),
    )
    assert {verdict_of(one)[0] for one in facts} == {*get_args(Verdict)}


@pytest.mark.parametrize(
    "log",
    ["", "hello world\n", "".join(random.Random(7).choices(string.printable, k=4096))],
    ids=["empty", "prose", "noise"],
)
def test_log_without_a_job_is_nothing_to_judge(log, knowledge):
    assert diagnose_log(log, knowledge).verdict == "nothing-to-judge"


def test_steps_up_to_the_total_are_finished_and_name_the_last_step(knowledge):
    diagnosis = diagnose_log(STEPS, knowledge)
    assert (diagnosis.verdict, diagnosis.verdict_known_by.number) == ("finished", 40)


def test_steps_below_the_total_show_no_end(knowledge):
    diagnosis = diagnose_log(STEPS[: STEPS.index("step 30/")], knowledge)
    assert (diagnosis.verdict, diagnosis.decision.do) == ("no-end-seen", "investigate")
    assert diagnosis.job.last_progress.value == "29/40"


def test_counter_of_batches_at_its_total_is_no_end(knowledge):
    batches = "".join(f"step {n}/8 loss 2.0\n" for n in range(1, 9))
    assert diagnose_log(batches + batches, knowledge).verdict == "no-end-seen"


def test_work_below_the_last_words_shows_no_end(knowledge):
    assert diagnose_log(f"Training completed.\n{STEPS[:200]}\n", knowledge).verdict == "no-end-seen"


def test_lines_that_count_are_a_sign_of_life_in_a_program_that_nobody_knows(knowledge):
    beats = "".join(f"[worker] chunk {n} of the mesh\nflux ok\n" for n in range(8))
    assert diagnose_log(beats, knowledge).verdict == "no-end-seen"


def test_table_that_is_printed_in_one_piece_is_no_sign_of_life(knowledge):
    assert diagnose_log("".join(f"bank {n} empty\n" for n in range(12)), knowledge).verdict == "nothing-to-judge"


def test_order_from_outside_is_stopped_and_blames_nobody(knowledge):
    log = "step 310 loss: 3.02\nslurmstepd: error: *** JOB 66 ON n21 CANCELLED AT 2023-10-02T14:55:31 DUE TO TIME LIMIT ***\n"
    diagnosis = diagnose_log(log, knowledge)
    assert diagnosis.verdict == "stopped"
    assert (diagnosis.causes[0].culprit.scope, diagnosis.causes[0].culprit.hosts) == ("nobody", ())


def test_input_that_was_not_read_whole_is_never_finished(knowledge, tmp_path):
    (tmp_path / "a.log").write_text(STEPS)
    (tmp_path / "b.log.gz").write_bytes(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x00broken")
    diagnosis = diagnose([tmp_path / "a.log", tmp_path / "b.log.gz"], knowledge=knowledge)
    assert diagnosis.verdict == "unknown"
    assert diagnosis.decision.because == "1 of 2 inputs were not read whole, and the rest shows no failure."


def test_the_first_failure_is_the_earliest_by_the_clock_and_not_by_the_name_of_its_file(knowledge, tmp_path):
    for rank, second in ((0, 5), (1, 9), (2, 1)):
        line = f"2025-03-04 02:00:0{second} [rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
        (tmp_path / f"rank_{rank}.log").write_text(line)
    first = diagnose([tmp_path], knowledge=knowledge).job.first_failure
    assert (first.rank, first.line.file.endswith("rank_2.log")) == (2, True)


# ── laws over corpus/ ───────────────────────────────────────────────────────────────────────────────────────────────


def lines_of(log: Path) -> list[bytes]:
    return log.read_bytes().splitlines(keepends=True)


def diagnose_heads(logs: list[Path], count: dict[Path, int], knowledge: Knowledge) -> Diagnosis:
    """Diagnose the first lines of logs as one job."""
    files = []
    for log in logs:
        file = io.BytesIO(b"".join(lines_of(log)[: count[log]]))
        file.name = str(log)  # type: ignore[misc]
        files.append(file)
    return diagnose(files, knowledge=knowledge)


@pytest.mark.parametrize("part", range(8))
def test_the_head_of_a_longer_log_is_never_finished(part, knowledge):
    longer = [log for log in LOGS[part::8] if len(lines_of(log)) > LEAST_LINES]
    heads = {log: diagnose_heads([log], {log: HEAD_LINES}, knowledge) for log in longer}
    assert [log for log, diagnosis in heads.items() if diagnosis.verdict == "finished"] == []


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("part", range(4))
def test_a_healthy_log_that_is_cut_is_never_failed_and_finished_only_with_its_end(part, share, knowledge):
    wrong = []
    for case in HEALTHY[part::4]:
        logs = sorted(case.rglob("*.log"))
        cut = diagnose_heads(logs, {log: int(len(lines_of(log)) * share) for log in logs}, knowledge)
        if cut.verdict == "finished" and not _is_at_the_end(cut.verdict_known_by) and case.name not in TWO_RUNS:
            wrong.append((case.name, "finished"))
        if cut.verdict not in CALM and case.name not in REFUTED_LATER:
            wrong.append((case.name, cut.verdict))
    assert wrong == []


def _is_at_the_end(line: Line) -> bool:
    """Return whether the line stands in the last fifth of its file."""
    return line.number >= 0.8 * len(lines_of(Path(line.file)))


def test_boot_of_a_machine_is_no_sign_of_life_of_a_job(knowledge):
    boot = ["[    0.000000] Linux version 6.2.0-37-generic (builder@gx07)"]
    devices = [f"[    1.{n:06}] pci 0000:d7:00.0: BAR {n}: assigned [mem 0xc0100000-0xc0101fff]" for n in range(60)]
    assert diagnose_log("\n".join([*boot, *devices]) + "\n", knowledge).verdict == "nothing-to-judge"
