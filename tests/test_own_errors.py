"""Errors of logdoctor itself: what one costs, and how it is told."""

import gzip
import io
import os
import subprocess
import sys

import pytest
from command_line import program
from failing_job import LOG

import logdoctor
from logdoctor.logs.line_parser import LineParser
from logdoctor.pipeline import diagnosis as pipeline
from logdoctor.pipeline.broken_records import MAX_PROBLEMS, WHAT
from logdoctor.reasoning.lifecycle.lives import Lives
from logdoctor.reasoning.timeline import Timeline

STEPS = "".join(f"2025-06-04 10:22:{n:02} step {n}/500 loss 0.{n:03}\n" for n in range(60))
TRACEBACKS = 5_000 * ("Traceback (most recent call last):\n" + 8 * '  File "train.py", line 3, in step\n    step()\n')
"""Long enough that a reader asks for the next part of the input."""
BUG = "an injected bug"


@pytest.fixture
def released(monkeypatch):
    """Handle errors as for users: tests raise them at once."""
    monkeypatch.delenv("LOGDOCTOR_DEBUG")


def break_call(monkeypatch, owner, name, when=lambda *_: True, error=KeyError):
    """Let ``owner.name`` raise an error for the calls that ``when`` selects."""
    right = getattr(owner, name)

    def broken(*args):
        if when(*args):
            raise error(BUG)
        return right(*args)

    monkeypatch.setattr(owner, name, broken)


def diagnose(text, knowledge):
    return logdoctor.diagnose(io.BytesIO(text.encode()), knowledge=knowledge)


def answer(diagnosis):
    return [(cause.signature, cause.culprit.ranks) for cause in diagnosis.causes]


@pytest.mark.usefixtures("released")
def test_reader_that_breaks_on_a_line_costs_this_line(knowledge, monkeypatch):
    whole = diagnose(STEPS + LOG, knowledge)
    break_call(monkeypatch, LineParser, "parse", lambda _, candidate: candidate.number == 7)
    diagnosis = diagnose(STEPS + LOG, knowledge)
    assert answer(diagnosis) == answer(whole) != []
    (problem,) = diagnosis.problems
    assert (problem.what, problem.where) == (WHAT, "<open file>:7")
    assert "KeyError in pipeline/diagnosis.py:" in problem.why
    assert BUG not in problem.why, "the text of an error may quote the log"


@pytest.mark.usefixtures("released")
@pytest.mark.parametrize("owner", [Timeline, Lives], ids=["timeline", "state"])
def test_reader_of_records_that_breaks_on_every_record_costs_no_proof_and_gives_one_problem(
    owner, knowledge, monkeypatch
):
    whole = diagnose(STEPS + LOG, knowledge)
    break_call(monkeypatch, owner, "observe")
    diagnosis = diagnose(STEPS + LOG, knowledge)
    assert [signature for signature, _ in answer(diagnosis)] == [signature for signature, _ in answer(whole)]
    assert [problem.what for problem in diagnosis.problems] == [WHAT]


@pytest.mark.usefixtures("released")
def test_second_look_that_breaks_costs_only_itself(knowledge, monkeypatch):
    break_call(monkeypatch, pipeline, "find_headless_trace")
    diagnosis = diagnose("all is well\n", knowledge)
    assert [problem.what for problem in diagnosis.problems] == [WHAT]


@pytest.mark.usefixtures("released")
def test_number_of_told_errors_is_bounded(knowledge, monkeypatch):
    errors = [type(f"Bug{n}", (Exception,), {}) for n in range(3 * MAX_PROBLEMS)]
    right = LineParser.parse

    def parse(self, candidate):
        if candidate.number <= len(errors):
            raise errors[candidate.number - 1]
        return right(self, candidate)

    monkeypatch.setattr(LineParser, "parse", parse)
    assert len(diagnose(STEPS + LOG, knowledge).problems) == MAX_PROBLEMS


@pytest.mark.usefixtures("released")
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_wish_to_end_passes_the_guard(error, knowledge, monkeypatch):
    break_call(monkeypatch, LineParser, "parse", error=error)
    with pytest.raises(error):
        diagnose(LOG, knowledge)


class Ended(Exception):
    """Wish of a caller to end the diagnosis."""


@pytest.mark.usefixtures("released")
@pytest.mark.parametrize("last", range(1, 6))
def test_watch_ends_the_diagnosis_also_while_a_reader_asks_for_more_lines(last, knowledge):
    reads = []

    def watch(_name, count):
        reads.append(count)
        if len(reads) == last:
            raise Ended

    with pytest.raises(Ended):
        logdoctor.diagnose(io.BytesIO(TRACEBACKS.encode()), knowledge=knowledge, watch=watch)


@pytest.mark.usefixtures("released")
def test_input_that_breaks_within_a_record_is_told_as_input(knowledge):
    data = gzip.compress((TRACEBACKS + os.urandom(1 << 20).hex()).encode())
    diagnosis = logdoctor.diagnose(io.BytesIO(data[: len(data) // 2]), knowledge=knowledge)
    assert [problem.what for problem in diagnosis.problems] == ["only the beginning was read"]


def test_error_of_ours_ends_the_diagnosis_while_debugging(knowledge, monkeypatch):
    break_call(monkeypatch, LineParser, "parse")
    with pytest.raises(KeyError, match=BUG):
        diagnose(LOG, knowledge)


BROKEN_PROGRAM = f"""
from logdoctor.cli import run
from logdoctor.reasoning import Reasoner
def conclude(*_, **__):
    raise KeyError({BUG!r})
Reasoner.conclude = conclude
run(["diagnose", "--exit-code", "-"])
"""


def run_broken_program(**env):
    return subprocess.run(
        [sys.executable, "-c", BROKEN_PROGRAM],
        input=LOG,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LOGDOCTOR_DEBUG": "", **env},
        timeout=60,
    )


@pytest.mark.usefixtures("clean_environment")
def test_error_of_ours_is_exit_code_70_and_two_lines_that_name_a_file_with_the_traceback(tmp_path):
    result = run_broken_program(TMPDIR=str(tmp_path))
    assert result.returncode == 70
    assert result.stdout == ""
    what, help_line = result.stderr.splitlines()
    assert what.startswith("logdoctor: this is an error of logdoctor: KeyError")
    (details,) = tmp_path.iterdir()
    assert str(details) in help_line
    assert details.stat().st_mode & 0o077 == 0
    assert BUG in details.read_text("utf-8")


@pytest.mark.usefixtures("clean_environment")
def test_error_of_ours_prints_its_traceback_while_debugging(tmp_path):
    result = run_broken_program(TMPDIR=str(tmp_path), LOGDOCTOR_DEBUG="1")
    assert "Traceback" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("clean_environment")
def test_number_of_5000_digits_is_diagnosed_by_the_program():
    log = f"[rank1]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum={'7' * 5000}, OpType=ALLREDUCE)\n"
    result = program("diagnose", "--quiet", "-", stdin=log.encode(), LOGDOCTOR_DEBUG="")
    assert (result.returncode, result.stderr) == (0, b"")
    assert b"collective.timeout" in result.stdout
