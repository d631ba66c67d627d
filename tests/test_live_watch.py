"""`logdoctor watch`: what was written piece by piece gets the answer of the whole, and silence is told."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

import logdoctor
from logdoctor.live.tails import TAILS, Tails
from logdoctor.live.watch import Change, Watch
from logdoctor.matcher.words import any_of

CORPUS = Path(__file__).resolve().parent.parent / "corpus"
CASES = ("oom-kill-cgroup-torchrun", "nccl-ras-crash", "a2a-clean-teardown", "gpu-oom-nanogpt-rank5")
OOM = b"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.15 GiB total capacity)\n"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Follower:
    """A watch of a folder whose clock the test moves."""

    def __init__(self, folder: Path, knowledge) -> None:
        self.clock = Clock()
        self.watch = Watch([str(folder)], knowledge, self.clock)
        self.changes: list[Change] = []

    def look(self, seconds: float = 0.5) -> list[str]:
        """Move the clock and poll. Return the new states."""
        self.clock.now += seconds
        new = [*self.watch.poll()]
        self.changes += new
        return [change.state for change in new]


@pytest.mark.parametrize("name", CASES)
def test_pieces_of_a_job_end_in_the_answer_of_the_whole(name, tmp_path, knowledge):
    place, draw = tmp_path / name, random.Random(name)
    place.mkdir()
    follower = Follower(place, knowledge)
    contents = {p.name: p.read_bytes() for p in sorted((CORPUS / name).glob("*.log"))}
    while any(contents.values()):
        file = draw.choice([key for key, rest in contents.items() if rest])
        size = draw.randint(1, max(2000, len(contents[file]) // 3))
        with (place / file).open("ab") as out:
            out.write(contents[file][:size])
        contents[file] = contents[file][size:]
        follower.look()
    for _ in range(6):
        follower.look()
    told, whole = follower.watch.answer(), logdoctor.diagnose(place, knowledge=knowledge)
    assert told is not None
    assert told.to_json() == whole.to_json()
    assert (whole.verdict == "failed") == (follower.watch.state == "failed")


def test_failure_is_told_within_two_looks(tmp_path, knowledge):
    follower, log = Follower(tmp_path, knowledge), tmp_path / "rank0.log"
    log.write_bytes(b"step 1/9 loss 2.1\n")
    assert follower.look() == ["running"]
    with log.open("ab") as out:
        out.write(OOM)
    states = [state for _ in range(4) for state in follower.look()]
    assert states == ["failed"]
    assert follower.changes[-1].diagnosis.causes[0].signature == "cuda.oom"


def test_watch_of_a_file_that_is_not_there_yet_says_so_once(tmp_path, knowledge):
    follower = Follower(tmp_path / "slurm-7.out", knowledge)
    assert [state for _ in range(9) for state in follower.look()] == ["waiting"]
    (tmp_path / "slurm-7.out").write_bytes(b"step 1/9 loss 2.1\n")
    assert [state for _ in range(9) for state in follower.look()] == ["running"]


def test_warning_of_a_job_that_goes_on_is_no_failure(tmp_path, knowledge):
    follower, log = Follower(tmp_path, knowledge), tmp_path / "train.log"
    for step in range(20):
        with log.open("ab") as out:
            out.write(f"step {step}/100 loss 2.1\nUserWarning: failed to find a cached file, loading it\n".encode())
        follower.look(2.0)
    assert [change.state for change in follower.changes] == ["running"]


def test_silent_file_is_suspicious_until_it_grows_again(tmp_path, knowledge):
    follower = Follower(tmp_path, knowledge)
    for step in range(12):
        for rank in range(3):
            with (tmp_path / f"rank{rank}.log").open("ab") as out:
                out.write(f"[rank{rank}]: step {step}/100 loss 2.1\n".encode())
        follower.look(5.0)
    states = [state for _ in range(40) for state in follower.look(5.0)]
    assert states == ["suspicious"]
    with (tmp_path / "rank0.log").open("ab") as out:
        out.write(b"[rank0]: step 13/100 loss 2.1\n")
    assert follower.look() == ["running"]


def train(follower: Follower, folder: Path, ranks: range, steps: range, seconds: float = 5.0) -> list[str]:
    """Let the ranks print the steps. Return the new states."""
    states = []
    for step in steps:
        for rank in ranks:
            with (folder / f"rank{rank}.log").open("ab") as out:
                out.write(f"[rank{rank}]: step {step}/100 loss 2.1\n".encode())
        states += follower.look(seconds)
    return states


def test_rank_that_falls_silent_while_others_go_on_is_named(tmp_path, knowledge):
    follower = Follower(tmp_path, knowledge)
    assert train(follower, tmp_path, range(8), range(12)) == ["running"]
    spared = [rank for rank in range(8) if rank != 5]
    assert train(follower, tmp_path, spared, range(12, 40)) == ["suspicious"]
    assert follower.changes[-1].about.count("rank 5 ") == 2
    assert train(follower, tmp_path, range(8), range(40, 42)) == ["running"]


def test_rank_that_fell_silent_first_is_named(tmp_path, knowledge):
    follower = Follower(tmp_path, knowledge)
    train(follower, tmp_path, range(8), range(12))
    train(follower, tmp_path, [rank for rank in range(8) if rank != 5], range(12, 14))
    assert [state for _ in range(20) for state in follower.look(5.0)] == ["suspicious"]
    assert "rank 5 " in follower.changes[-1].about


def test_ranks_that_print_nothing_after_the_start_are_not_silent(tmp_path, knowledge):
    follower = Follower(tmp_path, knowledge)
    for number in range(8):
        for rank in range(8):
            with (tmp_path / f"rank{rank}.log").open("ab") as out:
                out.write(f"gpu1:81{rank}:90 [{rank}] NCCL INFO Channel 0{number}/08 : 0 1 2 3 4 5 6 7\n".encode())
        follower.look(1.0)
    assert train(follower, tmp_path, range(1), range(60)) == []
    assert follower.watch.state == "running"


def test_announced_work_may_take_longer(tmp_path, knowledge):
    follower = Follower(tmp_path, knowledge)
    train(follower, tmp_path, range(3), range(12))
    with (tmp_path / "rank0.log").open("ab") as out:
        out.write(b"Saving checkpoint to /lustre/run7/step12.pt ...\n")
    assert [state for _ in range(46) for state in follower.look(5.0)] == []
    assert [state for _ in range(10) for state in follower.look(5.0)] == ["suspicious"]
    assert "Saving checkpoint" in follower.changes[-1].about


def test_failure_that_the_job_survives_goes_back_to_running(tmp_path, knowledge):
    follower = Follower(tmp_path, knowledge)
    train(follower, tmp_path, range(1), range(5), 1.0)
    with (tmp_path / "rank0.log").open("ab") as out:
        out.write(OOM)
    assert [state for _ in range(6) for state in follower.look(0.5)] == ["failed"]
    states = train(follower, tmp_path, range(1), range(5, 30), 1.0)
    assert [*states, *follower.look(5.0), *follower.look(5.0)] == ["running"]


UNCERTAIN = (
    b"(raylet) A worker died or was killed while executing a task by an unexpected system error. To troubleshoot the "
    b"problem, check the logs for the dead worker. Worker ID: 17f6 Node ID: 6c5f Worker IP address: 10.20.0.11 "
    b"Worker port: 41003 Worker PID: 22665 Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits"
)
UNEXPLAINED = b"srun: error: gpu-a01: task 0: Exited with exit code 3\n"


@pytest.mark.parametrize(
    ("end", "seconds"),
    [
        (b"\n", 5),
        (b"", 60),
        (b"\n(raylet) The task will be retried.\n", 60),
    ],
    ids=["whole line", "cut line", "tried again"],
)
def test_uncertain_cause_waits_as_long_as_the_log_says_that_more_follows(end, seconds, tmp_path, knowledge):
    follower = Follower(tmp_path, knowledge)
    (tmp_path / "driver.log").write_bytes(b"INFO worker.py:2038 -- Started a local Ray instance.\n" + UNCERTAIN + end)
    assert "failed" not in [state for _ in range(seconds - 5) for state in follower.look(1.0)]
    assert "failed" in [state for _ in range(10) for state in follower.look(1.0)]


def test_failure_without_a_cause_is_told_after_a_minute(tmp_path, knowledge):
    follower = Follower(tmp_path, knowledge)
    (tmp_path / "slurm-7.out").write_bytes(UNEXPLAINED)
    assert [state for _ in range(55) for state in follower.look(1.0)] == ["running"]
    assert [state for _ in range(10) for state in follower.look(1.0)] == ["failed"]
    assert follower.changes[-1].diagnosis.verdict == "unknown"


def test_wait_that_does_not_end_is_suspicious(tmp_path, knowledge):
    follower = Follower(tmp_path, knowledge)
    name = "barrier-instead-of-allreduce-mpich"
    for file in sorted((CORPUS / name).glob("*.*")):
        if file.name != "case.yaml":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    assert [state for _ in range(55) for state in follower.look(1.0)] == ["running"]
    assert [state for _ in range(10) for state in follower.look(1.0)] == ["suspicious"]
    whole = logdoctor.diagnose(tmp_path, knowledge=knowledge, found=True)
    assert follower.changes[-1].diagnosis.to_json() == whole.to_json()


def test_failure_after_which_the_job_was_started_again_is_no_alarm(tmp_path, knowledge):
    follower, log = Follower(tmp_path, knowledge), tmp_path / "train.log"
    lines = (CORPUS / "healthy-restart-after-read-error" / "train.log").read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:24]))
    assert [state for _ in range(50) for state in follower.look(1.0)] == ["running"]
    log.write_bytes(b"".join(lines))
    assert [state for _ in range(20) for state in follower.look(1.0)] == ["finished"]


def test_word_of_failure_that_two_looks_cut_is_seen(tmp_path, knowledge):
    follower, log = Follower(tmp_path, knowledge), tmp_path / "rank0.log"
    log.write_bytes(b"step 1/9 loss 2.1\n" + OOM[:10])
    follower.look(0.1)
    with log.open("ab") as out:
        out.write(OOM[10:])
    assert "failed" in [state for _ in range(3) for state in follower.look(0.7)]


def test_memory_of_the_ends_does_not_grow_with_the_number_of_files(tmp_path):
    for number in range(600):
        (tmp_path / f"rank{number}.log").write_bytes(b"x" * (64 << 10))
    tails = Tails([str(tmp_path)])
    tails.find()
    assert sum(1 for _ in tails.read_new(1.0)) == 600
    assert sum(len(tail.end) for tail in tails.files.values()) <= TAILS


@pytest.mark.parametrize("how", ["truncated", "replaced"])
def test_file_that_begins_anew_is_read_anew(how, tmp_path, knowledge):
    follower, log = Follower(tmp_path, knowledge), tmp_path / "train.log"
    log.write_bytes(b"step 1/9 loss 2.1\n" * 50)
    follower.look()
    if how == "replaced":
        log.rename(tmp_path / "train.log.1.gz.bak.pt")
    log.write_bytes(OOM)
    assert "failed" in [state for _ in range(5) for state in follower.look()]


def test_program_ends_at_the_state_that_was_asked_for(tmp_path):
    log, told = tmp_path / "train.log", tmp_path / "told.json"
    log.write_bytes(b"step 1/9 loss 2.1\n" + OOM)
    words = [sys.executable, "-m", "logdoctor", "watch", str(log), "--exit-on", "failed", "--every", "0.1"]
    done = subprocess.run(
        [*words, "--on-failure", f"cat > {told}"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, "cuda.oom" in done.stdout) == (1, True)
    assert '"cuda.oom"' in told.read_text("utf-8")


@pytest.mark.parametrize("engine", [None, "none"])
def test_words_are_found_in_letters_of_any_case_with_and_without_hyperscan(engine, monkeypatch):
    if engine:
        monkeypatch.setitem(sys.modules, "hyperscan", None)
    holds = any_of(("fail", "timed out"))
    texts = (b"it FAILED", b"Timed Out", b"it timed\nout", b"fai l", b"")
    assert [holds(text) for text in texts] == [True, True, False, False, False]
