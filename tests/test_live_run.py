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


def start_node(number: int, script: str, folder: Path, **env: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "logdoctor", "run", "--save", str(folder), "--", sys.executable, "-c", script]
    node = {"SLURM_NODEID": str(number), "SLURM_NNODES": "3", "SLURM_JOB_ID": "77", **env}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(words, env={**os.environ, **node}, **pipes)


def test_first_of_three_nodes_answers_for_all_and_the_others_in_a_line(tmp_path):
    """The second node fails, and the launcher then ends the two others."""
    scripts = ["raise SystemExit(1)", FAILING, "import time; time.sleep(0.5); raise SystemExit(1)"]
    start = time.monotonic()
    nodes = [start_node(number, script, tmp_path) for number, script in enumerate(scripts)]
    first, second, third = (node.communicate(timeout=60)[1] for node in nodes)
    assert time.monotonic() - start < 20
    assert [node.returncode for node in nodes] == [1, 1, 1]
    assert "/no/such/data.bin" in first
    assert logdoctor.diagnose(tmp_path / "77").causes[0].signature in first
    assert "\tfailed\t" in second.splitlines()[-1]
    assert (third.count("\n"), third.count("\t")) == (1, 9)
    assert "\t" not in first
    assert sorted(path.name for path in (tmp_path / "77").iterdir()) == ["node-0", "node-1", "node-2"]


def test_first_node_does_not_take_the_end_of_an_earlier_start_for_that_of_another_node(tmp_path):
    for number in range(3):
        (tmp_path / "77.0" / f"node-{number}").mkdir(parents=True)
        (tmp_path / "77.0" / f"node-{number}" / "wrapper.log").write_text(
            "[launcher] process 1 finished with exit code 0\n"
        )
    scripts = ["raise SystemExit(1)", "import time; time.sleep(1.5);" + FAILING, "raise SystemExit(1)"]
    again = {"SLURM_STEP_ID": "0", "SLURM_RESTART_COUNT": "1"}
    nodes = [start_node(number, script, tmp_path, **again) for number, script in enumerate(scripts)]
    answers = [node.communicate(timeout=60)[1] for node in nodes]
    assert "/no/such/data.bin" in answers[0]
    assert (tmp_path / "77.0-restart-1" / "node-1" / "stderr.log").read_text().count("FileNotFoundError") == 1


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
