"""The lab that makes captured cases of corpus/."""

from __future__ import annotations

import sys
import threading
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

sys.path.append(str(Path(__file__).resolve().parent.parent / "corpus" / "lab"))
import machine
import remake
from approval import differences, read_answer, write_answer
from bench import Bench
from experiment import Experiment, Needs
from journal import Journal
from outcome import Outcome, table

CRASH = """Traceback (most recent call last):
  File "/home/trainer/train.py", line 7, in <module>
    raise ValueError("no such column: label")
ValueError: no such column: label
"""
APPROVED = {"verdict": "failed", "signature": "app.exception", "culprit": {}, "line": "job.log:4"}
OPTIONS = {
    "at_once": 2,
    "again": False,
    "new": False,
    "install": False,
    "wrong": False,
    "environments": Path("environments"),
}


def prints(text: str) -> Callable[[Bench], None]:
    return lambda bench: (bench.logs / "job.log").write_text(text) and None


def breaks(bench: Bench) -> None:
    raise TimeoutError(f"{bench.folder.name} never came up")


def experiment(run: Callable[[Bench], None] | None = None, **more: object) -> Experiment:
    fields = {"title": "A column lacks", "story": "It lacks.", "evidence": ("no such column",), "suite": "torch_data"}
    return Experiment(**{"case": "column", "label": "app.exception", "run": run or prints(CRASH), **fields, **more})


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run an experiment in a corpus of its own, and return its outcome."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(remake, "WORK", tmp_path / "work")
    monkeypatch.setattr(remake, "private_words", lambda: ["secret-host"])
    monkeypatch.setattr(machine, "_no_hosts", lambda: "")
    journal = Journal(tmp_path / "made")

    def once(chosen: Experiment, **options: object) -> Outcome:
        lab = remake.Lab(Namespace(**{**OPTIONS, **options}), journal)
        return next(lab.run([chosen]))

    return once


def test_a_case_is_written_where_logdoctor_finds_the_truth(run):
    assert run(experiment()).word == "new"
    assert Path("column/job.log").read_text() == CRASH
    assert "label: app.exception" in Path("column/case.yaml").read_text()


def test_a_case_that_exists_is_not_made_again(run):
    run(experiment())
    assert run(experiment()).word == "there"


def test_a_new_case_has_no_approved_answer(run):
    assert run(experiment()).why == "app.exception"
    assert read_answer(Path("column")) is None


def test_a_case_made_again_gets_its_new_line_and_golden_report(run):
    run(experiment())
    write_answer(Path("column"), APPROVED)
    Path("column/report.md").touch()
    Path("column/report.zh.md").touch()
    outcome = run(experiment(prints(f"step 1 loss 2.31\n{CRASH}")), again=True)
    assert (outcome.word, outcome.why) == ("same", "app.exception")
    assert read_answer(Path("column")) == {**APPROVED, "line": "job.log:5"}
    assert "### Do" in Path("column/report.md").read_text()
    assert "怎么办" in Path("column/report.zh.md").read_text()


def test_case_without_its_folder_is_run_again(run):
    run(experiment())
    Path("column/case.yaml").unlink()
    assert run(experiment()).word == "new"


def test_changed_answer_waits_for_approval(run):
    run(experiment())
    write_answer(Path("column"), APPROVED)
    outcome = run(experiment(prints("finished: 10 steps, no such column\n"), also=("healthy",)), again=True)
    assert outcome.word == "differs"
    assert (
        "verdict: expected failed, actual nothing-to-judge; signature: expected app.exception, actual null"
        in outcome.why
    )
    assert read_answer(Path("column")) == APPROVED


def test_an_answer_is_replaced_and_the_rest_of_the_file_stays(tmp_path):
    text = "label: app.exception  # by hand\nstory: >\n  expect: nothing.\n"
    (tmp_path / "case.yaml").write_text(text)
    for line in ("job.log:1", "job.log:2"):
        write_answer(
            tmp_path, {**APPROVED, "culprit": {"hosts": [f"gpu-node-{n:03}" for n in range(30)]}, "line": line}
        )
        written = (tmp_path / "case.yaml").read_text()
        assert written.startswith(f"{text}expect: {{verdict: failed")
        assert yaml.safe_load(written)["expect"] == read_answer(tmp_path)
    assert "job.log:1" not in written
    assert differences(APPROVED, {**APPROVED, "line": None}) == ["line: expected job.log:4, actual null"]


def test_a_wrong_diagnosis_leaves_the_case_unchanged(run):
    run(experiment())
    outcome = run(experiment(prints("finished: 10 steps, no such column\n")), again=True)
    assert outcome.word == "wrong"
    assert Path("column/job.log").read_text() == CRASH


def test_an_experiment_that_breaks_does_not_end_the_run(run):
    outcome = run(experiment(breaks))
    assert outcome.word == "failed"
    assert "column never came up" in outcome.why


def test_families_run_at_the_same_time(tmp_path, run):
    meeting = threading.Barrier(2, timeout=10)

    def meets(bench: Bench) -> None:
        meeting.wait()
        prints(CRASH)(bench)

    both = [experiment(meets, case=suite, suite=suite) for suite in ("torch_data", "mpi_errors")]
    outcomes = list(remake.Lab(Namespace(**OPTIONS), Journal(tmp_path / "made")).run(both))
    assert [outcome.word for outcome in outcomes] == ["new", "new"]


def test_an_interrupted_lab_runs_no_other_experiment(tmp_path, run):
    begun, ended = threading.Event(), []
    first = experiment(lambda bench: begun.wait(10) and None, case="first", evidence=())
    second = experiment(ended.append, case="second")
    outcomes = remake.Lab(Namespace(**OPTIONS), Journal(tmp_path / "made")).run([experiment(), first, second])
    next(outcomes)
    threading.Timer(0.2, begun.set).start()
    outcomes.close()
    assert not ended
    assert not Path("first").exists()


def test_a_run_that_does_not_show_its_fault_is_made_again(run):
    ways = [prints(CRASH), prints("step 10 loss 2.31\n")]

    def once_silent(bench: Bench) -> None:
        ways.pop()(bench)

    assert run(experiment(once_silent)).word == "new"


def test_a_healthy_job_that_ran_out_of_its_time_is_no_case(run):
    def slow(bench: Bench) -> None:
        bench.run("sleep", "60", timeout=0.2)

    outcome = run(experiment(slow, label="healthy", evidence=()))
    assert (outcome.word, "time was up" in outcome.why) == ("failed", True)


def test_an_experiment_that_never_shows_its_fault_fails(run):
    outcome = run(experiment(prints("step 10 loss 2.31\n")))
    assert outcome.word == "failed"
    assert "no such column" in outcome.why


def test_a_missing_need_is_named(run):
    outcome = run(experiment(needs=Needs(programs=("no-such-mpirun",), packages=("no-such-bin",))))
    assert (outcome.word, outcome.why) == ("skipped", "needs the program no-such-mpirun (package no-such-bin)")


def test_an_environment_that_cannot_be_made_is_tried_once(run, monkeypatch):
    tries = []

    def no_room(name, where):
        tries.append(name)
        raise OSError("No space left on device")

    monkeypatch.setattr(remake, "make_environment", no_room)
    monkeypatch.setattr(remake, "lacks", lambda needs: "")
    both = [experiment(case=case, needs=Needs(environment="jax")) for case in ("a", "b")]
    outcomes = list(remake.Lab(Namespace(**OPTIONS), Journal(Path("made"))).run(both))
    assert tries == ["jax"]
    assert all("No space left on device" in outcome.why for outcome in outcomes)


def test_a_log_that_names_the_machine_is_refused(run):
    outcome = run(experiment(prints(CRASH + "on secret-host\n")))
    assert outcome.word == "failed"
    assert not Path("column").exists()


def test_the_table_gives_each_reason_once_with_its_cases():
    skipped = [Outcome(case, "skipped", "needs root", 1.0) for case in ("a", "b")]
    assert "     - needs root: a, b" in table(skipped).splitlines()
