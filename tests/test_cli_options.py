"""Options of the command line that change the look of an answer, its exit code, or what is said about an error."""

from __future__ import annotations

import json
import re
import time

import pytest
from command_line import call, program, terminal
from failing_job import HEALTHY, LOG, UNKNOWN

from logdoctor.cli import progress_bar
from logdoctor.render import FORMATS, is_shared, languages
from tools.man_pages import command_helps

pytestmark = pytest.mark.usefixtures("clean_environment")


def widest(text: str) -> int:
    return max(map(len, text.splitlines()))


# ── look ──


def test_json_option_is_the_format_json():
    assert json.loads(call("--json", stdin=LOG).stdout) == json.loads(call("-f", "json", stdin=LOG).stdout)


def test_json_wins_over_quiet():
    assert json.loads(call("--json", "-q", stdin=LOG).stdout)["verdict"] == "failed"


def test_text_is_the_format_terminal():
    assert call("-q", "-f", "text", stdin=LOG).stdout == call("-q", "-f", "terminal", stdin=LOG).stdout


def test_color_always_paints_in_a_pipe_and_never_does_not_on_a_terminal(log):
    assert "\x1b[" in call("--color", "always", stdin=LOG).stdout
    assert b"\x1b[" not in terminal("--color", "never", log, errors=False, TERM="xterm-256color")


def test_force_color_paints_in_a_pipe_and_no_color_wins_over_it(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in call(stdin=LOG).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in call(stdin=LOG).stdout


def test_quiet_line_has_no_color_ever():
    assert "\x1b[" not in call("-q", "--color", "always", stdin=LOG).stdout


def test_a_pipe_has_80_columns_unless_the_environment_or_the_option_says_otherwise(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert 60 < widest(call(stdin=LOG).stdout) <= 80
    monkeypatch.setenv("COLUMNS", "60")
    assert widest(call(stdin=LOG).stdout) <= 60
    assert 60 < widest(call("--width", 100, stdin=LOG).stdout) <= 100


def test_ascii_option_spells_signs_in_ascii():
    assert call("--ascii", stdin=LOG).stdout.isascii()
    assert not call(stdin=LOG).stdout.isascii()


def test_language_comes_from_the_environment_unless_the_option_says_otherwise(monkeypatch):
    monkeypatch.setenv("LOGDOCTOR_LANG", "zh")
    assert "怎么办" in call(stdin=LOG).stdout
    assert "怎么办" not in call("--lang", "en", stdin=LOG).stdout


def test_job_id_of_the_option_is_the_id_of_the_job():
    assert json.loads(call("--json", "--job-id", "48213", stdin=LOG).stdout)["job"]["id"] == "48213"


def test_verbose_says_on_standard_error_what_was_read(log):
    result = call("-q", "-v", log)
    assert result.stdout.count("\n") == 1
    lines = result.stderr.splitlines()
    assert lines[0].startswith(f"logdoctor: {log}: text, ")
    assert [line.split()[1] for line in lines[1:]] == ["rules:", "time:"]


def test_quiet_scan_prints_the_columns_of_a_quiet_diagnosis_behind_the_job(log):
    job, *columns = call("scan", log.parent, "-q", "--workers", 1).stdout.rstrip("\n").split("\t")
    assert job.endswith("train")
    alone = call("-q", log).stdout.rstrip("\n").split("\t")
    assert columns[:7] == alone[:7]
    assert len(columns) == len(alone)


def test_report_says_on_standard_error_that_names_are_replaced(log, tmp_path):
    page = tmp_path / "page.html"
    assert f"names are replaced in {page}; --redact-map FILE" in call("report", log, "-o", page).stderr
    assert "names are replaced" not in call("report", log, "-o", page, "--no-redact").stderr


# ── exit codes ──


@pytest.mark.parametrize(("text", "code"), [(LOG, 13), (UNKNOWN, 15), (HEALTHY, 10)])
def test_exit_code_follows_the_decision_if_requested(text, code):
    call("--exit-decision", stdin=text, code=code)


def test_every_decision_has_an_exit_code():
    from typing import get_args

    from logdoctor.cli.diagnosing import EXIT_CODES
    from logdoctor.model import Do

    assert set(EXIT_CODES) == {*get_args(Do)}
    assert sorted(EXIT_CODES.values()) == [*range(10, 16)]


@pytest.mark.parametrize("command", [["diagnose"], ["report"], ["events"]])
def test_an_output_in_a_missing_folder_is_exit_code_3_before_anything_is_read(command, log, tmp_path):
    result = call(*command, log, "-o", tmp_path / "gone" / "out", code=3)
    assert result.stdout == ""
    assert f"{tmp_path}/gone/out: cannot be written\n  why: there is no such folder\n" in result.stderr


# ── no arguments, unknown words ──


def test_nothing_on_a_terminal_gets_three_examples_in_eight_lines():
    lines = terminal().decode().splitlines()
    assert lines[-1] == "exit 2"
    assert sum(line.startswith("  ") for line in lines) == 3
    assert len(lines[:-2]) == 8


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (["--jsn", "x.log"], "did you mean --json?"),
        (["diagnos", "x.log"], "Did you mean 'diagnose'?"),
        (["--format", "htm", "x.log"], "did you mean html?"),
        (["scan", ".", "--fail-on", "cuda.omm"], "did you mean cuda.oom?"),
        (["history", ".", "--by", "caus"], "did you mean cause?"),
        (["schema", "setings"], "did you mean settings?"),
    ],
)
def test_an_unknown_word_gets_a_proposal(args, hint):
    assert hint in call(*args, code=2).stderr


def test_a_missing_file_gets_the_name_of_a_similar_one_and_the_rest_is_answered(log):
    other = log.with_name("tarin.log")
    result = call("-q", other, log, code=3)
    assert result.stderr.startswith(f"logdoctor: {other}: not there; did you mean train.log?\n")
    assert "cuda.oom" in result.stdout


def test_a_missing_file_without_a_similar_one_gets_no_proposal(tmp_path):
    assert call("-q", tmp_path / "gone.log", code=3).stderr == f"logdoctor: {tmp_path}/gone.log: not there\n"


# ── progress ──


def test_slow_work_is_one_line_in_a_pipe(capsys, monkeypatch):
    monkeypatch.setattr(progress_bar, "SLOW_IN_PIPE", 0.01)
    with progress_bar.ProgressBar():
        time.sleep(0.3)
    assert capsys.readouterr().err == "logdoctor: compiling the rules, only once (about 15 s)\n"


def test_quick_work_says_nothing_in_a_pipe(log):
    done = program("-q", log)
    assert done.stderr == b""


# ── help ──

HELPS = {
    page.path: {name.split()[1 if name.startswith("-f") else 0]: text for name, text in page.options}
    for page in command_helps()
}
ARGUMENTS = {"logdoctor diff": 2, "logdoctor report": 1, "logdoctor rules lint": 0}


@pytest.mark.parametrize("path", sorted(path for path, options in HELPS.items() if "--format" in options))
def test_help_lists_the_formats_that_a_command_takes(path, log):
    places = [log.parent] * ARGUMENTS.get(path, 1)
    refused = call(*path.split()[1:], *places, "--format", "nosuch", code=2).stderr
    taken = re.search(r"'nosuch' is none of ([\w, ]+)", " ".join(refused.replace("│", " ").split()))[1].split(", ")
    text = HELPS[path]["--format"]
    assert {*re.findall(r"\w+", text.partition(" writes ")[0])} - {"default", "or"} == {*taken}


def test_help_lists_the_languages_and_the_formats_that_are_shared():
    options = HELPS["logdoctor diagnose"]
    assert f"{' or '.join(languages())} (default" in options["--lang"]
    shared = options["--redact"].rpartition(": ")[2].rstrip(").").split(", ")
    assert sorted(shared) == sorted(filter(is_shared, FORMATS))
