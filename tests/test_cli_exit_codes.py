"""With which exit code a command ends, and what it says on standard error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import call, report, terminal
from failing_job import HEALTHY, LOG, UNKNOWN

from logdoctor.cli import run as run_app

CUT = "step 1/900 loss 3.1\nstep 2/900 loss 2.9\n"
STOPPED = CUT + "slurmstepd: error: *** JOB 66 ON n21 CANCELLED AT 2023-10-02T14:55:31 DUE TO TIME LIMIT ***\n"

pytestmark = pytest.mark.usefixtures("clean_environment")


@pytest.mark.parametrize(
    ("text", "code"), [(LOG, 1), (UNKNOWN, 1), (STOPPED, 1), (HEALTHY, 0), (CUT, 4), ("hello world\n", 4)]
)
def test_exit_code_follows_the_verdict_if_requested(text, code):
    call("--exit-code", stdin=text, code=code)


@pytest.mark.parametrize("text", [LOG, UNKNOWN, STOPPED, HEALTHY, CUT, "hello world\n"])
def test_every_verdict_is_exit_code_0_otherwise(text):
    call(stdin=text, code=0)


def test_unknown_failure_lists_data_to_collect():
    diagnosis = report(stdin=UNKNOWN)
    assert diagnosis["verdict"] == "unknown"
    assert diagnosis["decision"]["collect"]


@pytest.mark.parametrize(
    "args", [["--format", "pdf"], ["--lang", "tlh"], ["--colour"], ["rules", "show", "no.such"], ["rules", "dance"]]
)
def test_wrong_usage_is_exit_code_2(args):
    assert call(*args, stdin=HEALTHY, code=2).stderr


@pytest.mark.parametrize("option", ["--model", "--baseline"])
def test_missing_file_of_an_option_is_wrong_usage_even_if_not_needed(option, log):
    assert "gone.log" in call("diagnose", option, "gone.log", log, code=2).stderr


def test_fail_on_with_a_cause_that_no_rule_has_is_wrong_usage(log, tmp_path):
    assert "cuda.omm" in call("scan", log.parent, "--fail-on", "net, cuda.omm", code=2).stderr
    call("scan", log.parent, "--out", tmp_path / "out", "--workers", 1, "--fail-on", "net,cuda", code=1)
    call("scan", log.parent, "--out", tmp_path / "out", "--workers", 1, "--fail-on", "cuda.oom", code=1)
    call("scan", log.parent, "--out", tmp_path / "out", "--workers", 1, "--fail-on", "unknown,net", code=0)


@pytest.mark.parametrize("command", ["diagnose", "events"])
def test_a_missing_file_is_exit_code_3_and_named(command, tmp_path):
    result = call(command, tmp_path / "gone.log", code=3)
    assert "gone.log" in result.stderr
    assert "Traceback" not in result.stderr


def test_missing_file_is_nothing_to_judge_in_json(tmp_path):
    diagnosis = json.loads(call("diagnose", "-f", "json", tmp_path / "gone.log", code=3).stdout)
    assert (diagnosis["verdict"], diagnosis["decision"]["because"]) == ("nothing-to-judge", "No input could be read.")


def test_missing_file_beside_a_good_log_is_exit_code_3_but_a_named_failure_stays_1(log, tmp_path):
    (tmp_path / "good.log").write_text(HEALTHY)
    call("diagnose", tmp_path / "good.log", tmp_path / "gone.log", code=3)
    call("diagnose", log, tmp_path / "gone.log", code=3)
    call("diagnose", "--exit-code", log, tmp_path / "gone.log", code=1)


def test_empty_input_is_exit_code_3(tmp_path):
    (tmp_path / "empty.log").write_text("")
    call("diagnose", "--exit-code", tmp_path / "empty.log", code=3)
    call(stdin="", code=3)


def test_missing_file_without_a_command_is_reported_as_missing_file(tmp_path):
    assert "gone.log" in call(tmp_path / "gone.log", code=3).stderr


def test_no_input_on_a_terminal_is_wrong_usage():
    out = terminal("diagnose")
    assert b"pipe a log in" in out
    assert out.endswith(b"exit 2")


def test_a_file_name_cannot_act_on_the_screen(tmp_path):
    assert "\x1b" not in call("diagnose", tmp_path / "\x1b[2Jgone.log", code=3).stderr


def test_running_the_app_ends_with_its_exit_code():
    with pytest.raises(SystemExit) as ended:
        run_app(["--version"])
    assert ended.value.code == 0


def in_a_shell(command: str) -> subprocess.CompletedProcess[str]:
    """Run a shell command in which LOGDOCTOR stands for the program."""
    text = f"set -o pipefail; {command.replace('LOGDOCTOR', f'{sys.executable} -m logdoctor')}"
    return subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("command", ["diagnose {log}", "events {log}", "events -o /dev/full {log}", "rules list", "-h"])
def test_full_disk_gives_a_single_sentence_and_exit_code_3(command, log):
    done = in_a_shell(f"LOGDOCTOR {command.format(log=log)} > /dev/full")
    assert done.stderr == "logdoctor: cannot go on\n  why: No space left on device\n"
    assert done.returncode == 3


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_no_crash(closed, log):
    done = in_a_shell(f"LOGDOCTOR diagnose {log} {closed}")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_command_without_arguments_and_standard_input_reads_nothing():
    assert in_a_shell("LOGDOCTOR <&-").returncode == 3


@pytest.mark.parametrize("command", ["rules list", "explain"])
def test_closed_pipe_is_exit_code_0(command):
    assert in_a_shell(f"LOGDOCTOR {command} | head -1").returncode == 0
