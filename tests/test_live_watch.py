"""`logdoctor watch`: what was written piece by piece gets the answer of the whole, and silence is told."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

import logdoctor
from logdoctor.live.watch import Change, Watch

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
