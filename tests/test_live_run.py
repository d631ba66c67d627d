"""`logdoctor run`: the command's own bytes, signals and exit code, and the answer if it fails."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import logdoctor

FAILING = "import sys; print('step 1/9 loss 2.1', flush=True); open('/no/such/data.bin')"


def run(*command: str, options: tuple[str, ...] = (), **env: str) -> subprocess.CompletedProcess[bytes]:
    words = [sys.executable, "-m", "logdoctor", "run", *options, "--", *command]
    return subprocess.run(words, capture_output=True, check=False, timeout=60, env={**os.environ, **env})


def test_output_passes_unchanged_and_a_success_says_nothing(tmp_path):
    data = random.Random(1).randbytes(1 << 20)
    (tmp_path / "data").write_bytes(data)
    done = run("sh", "-c", f"cat {tmp_path}/data; cat {tmp_path}/data >&2")
    assert (done.returncode, done.stdout, done.stderr) == (0, data, data)


@pytest.mark.parametrize(("end", "code"), [("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143)])
def test_exit_code_is_that_of_the_command(end, code):
    assert run("sh", "-c", end).returncode == code


def test_failure_is_answered_on_standard_error_and_kept(tmp_path):
    failed = run(sys.executable, "-c", FAILING, options=("--save", str(tmp_path), "--report", str(tmp_path / "r.html")))
    assert failed.returncode == 1
    assert failed.stdout == b"step 1/9 loss 2.1\n"
    assert b"/no/such/data.bin" in failed.stderr.partition(b"FileNotFoundError")[2].partition(b"\xe2\x9c\x97")[2]
    told = logdoctor.diagnose(tmp_path)
    assert told.causes[0].signature.encode() in failed.stderr
    assert "<html" in (tmp_path / "r.html").read_text("utf-8")


def test_signal_is_passed_on():
    script = "trap 'echo stopped; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    words = [sys.executable, "-m", "logdoctor", "run", "--", "sh", "-c", script]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        running.send_signal(signal.SIGTERM)
        out, _ = running.communicate(timeout=30)
    assert (running.returncode, out) == (5, b"stopped\n")


def test_command_goes_on_if_nobody_reads_its_output():
    script = "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; exit 7"
    words = [sys.executable, "-m", "logdoctor", "run", "--", "sh", "-c", script]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.stdout.close()
        assert running.wait(timeout=30) == 7


def test_command_that_cannot_be_started_is_told():
    failed = run("no-such-command")
    assert failed.returncode == 127
    assert b"no-such-command: the command cannot be started" in failed.stderr


def test_first_node_answers_for_all_and_the_others_in_a_line(tmp_path):
    def node(number: int) -> subprocess.CompletedProcess[bytes]:
        env = {"SLURM_NODEID": str(number), "SLURM_NNODES": "2", "SLURM_JOB_ID": "77"}
        script = FAILING if number else "import time; time.sleep(0.2); raise SystemExit(1)"
        return run(sys.executable, "-c", script, options=("--save", str(tmp_path)), **env)

    second = node(1)
    assert b"\tfailed\t" in second.stderr
    start = time.monotonic()
    first = node(0)
    assert time.monotonic() - start < 20
    assert b"/no/such/data.bin" in first.stderr
    assert sorted(path.name for path in (tmp_path / "77").iterdir()) == ["node-0", "node-1"]


def test_kept_folder_gives_the_same_answer_as_the_streams(tmp_path):
    run(sys.executable, "-c", FAILING, options=("--save", str(tmp_path)))
    kept = [(tmp_path / name).read_bytes() for name in ("stdout.log", "stderr.log")]
    (one := tmp_path.with_name("one.log")).write_bytes(b"".join(kept))
    told = [logdoctor.diagnose(place).causes[0].signature for place in (tmp_path, Path(one))]
    assert told[0] == told[1]


def test_process_that_the_command_leaves_behind_does_not_hold_the_job(tmp_path):
    start = time.monotonic()
    words = [sys.executable, "-m", "logdoctor", "run", "--", "sh", "-c", "sleep 30 & echo started; exit 4"]
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(words, stdout=out, stderr=subprocess.DEVNULL, check=False, timeout=60)
    assert (done.returncode, (tmp_path / "out").read_bytes()) == (4, b"started\n")
    assert time.monotonic() - start < 28
