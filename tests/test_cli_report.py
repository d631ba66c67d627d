"""Output of `logdoctor diagnose`: formats, languages, files, terminals."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time

import pytest
from command_line import call, program, report, terminal
from conftest import LOCALES
from failing_job import ANSWER, HEALTHY, LOG, answer_of_report

from logdoctor.cli import progress_bar

pytestmark = pytest.mark.usefixtures("clean_environment")


@pytest.mark.parametrize("format", ["text", "json", "jira", "markdown", "html"])
def test_every_format_names_the_signature_and_the_proof(format, log):
    out = call("diagnose", "-f", format, log).stdout
    assert "cuda.oom" in out
    assert "torch.OutOfMemoryError" in out
    assert "train.log" in out


def test_a_page_shows_the_lines_around_the_proof(log):
    assert '<pre class="around">' in call("diagnose", "-f", "html", log).stdout
    assert '<pre class="around">' in call("diagnose", "-f", "html", stdin=LOG).stdout


def test_a_report_is_a_page_in_a_file_and_one_line_on_the_terminal(log, tmp_path):
    out = call("report", "-o", tmp_path / "r.html", log).stdout
    assert (tmp_path / "r.html").read_text("utf-8") == call("diagnose", "-f", "html", log).stdout
    assert out.count("\n") == 1
    assert "cuda.oom" in out


def test_html_page_is_complete_and_loads_nothing(log):
    out = call("diagnose", "-f", "html", log).stdout
    assert out.lstrip().lower().startswith("<!doctype html>")
    assert "</html>" in out
    assert "<script src" not in out
    assert "<link" not in out


def test_the_report_goes_to_the_file_that_was_asked_for(log, tmp_path):
    assert call("diagnose", "-f", "json", "-o", tmp_path / "r.json", log).stdout == ""
    assert answer_of_report(json.loads((tmp_path / "r.json").read_text("utf-8"))) == ANSWER


def test_a_report_in_a_file_has_no_colours(log, tmp_path):
    call("diagnose", "-o", tmp_path / "r.txt", log)
    assert "\x1b" not in (tmp_path / "r.txt").read_text("utf-8")


def test_an_output_file_that_cannot_be_written_is_exit_code_3(log, tmp_path):
    assert "cannot be written" in call("diagnose", "-o", tmp_path / "no" / "r.txt", log, code=3).stderr


@pytest.mark.parametrize("command", [["diagnose"], ["report"], ["events"], ["diff", "-"]])
def test_no_report_is_written_over_the_log(command, log):
    name, *more = command
    call(name, *more, log, "-o", log.parent / ".." / log.parent.name / log.name, stdin=HEALTHY, code=2)
    assert log.read_text() == LOG


def test_a_report_can_be_in_chinese(log):
    assert re.search("[\u4e00-\u9fff]{4}", call("--lang", "zh", log).stdout)
    assert not re.search("[\u4e00-\u9fff]", call("--lang", "en", log).stdout)


def test_reason_of_a_quoted_line_is_in_the_chosen_language(log):
    assert "last sign of progress" in call("-f", "json", log).stdout
    assert "last sign of progress" not in call("-f", "json", "--lang", "zh", log).stdout


@pytest.mark.parametrize("name", LOCALES)
def test_the_locale_chooses_the_language(name, log, monkeypatch):
    chosen = call("-f", "markdown", "--lang", "zh", log).stdout
    monkeypatch.setenv(name, "zh_CN.UTF-8")
    assert call("-f", "markdown", log).stdout == chosen


def test_the_option_wins_over_the_locale(log, monkeypatch):
    english = call("-f", "markdown", log).stdout
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert call("-f", "markdown", "--lang", "en", log).stdout == english


def test_quiet_is_one_line(log):
    out = call("-q", log).stdout
    assert out.count("\n") == 1
    assert "cuda.oom" in out


def test_silent_log_is_a_failure_only_with_option_hung():
    assert report(stdin=HEALTHY.replace("Training completed.\n", ""))["verdict"] == "no-end-seen"
    assert report("--hung", stdin=HEALTHY.replace("Training completed.\n", ""))["verdict"] == "unknown"


def test_the_same_input_gives_the_same_bytes(log):
    first, second = program("-f", "json", log), program("-f", "json", log, PYTHONHASHSEED="7")
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_pipe_gets_no_escape_codes(env, log):
    assert b"\x1b" not in program(log, **env).stdout


def test_a_terminal_gets_colours_and_no_color_takes_them_away(log):
    assert b"\x1b[" in terminal(log, errors=False, TERM="xterm-256color")
    assert b"\x1b[" not in terminal(log, errors=False, TERM="xterm-256color", NO_COLOR="1")


@pytest.mark.parametrize("format", ["text", "json", "markdown", "html"])
def test_an_output_in_ascii_is_no_crash(format, log):
    done = program("-f", format, "--lang", "zh", log, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert b"cuda.oom" in done.stdout
    done.stdout.decode("ascii")


def test_our_marks_become_ascii_where_the_output_holds_no_more(log):
    assert program(log, PYTHONIOENCODING="ascii").stdout.startswith(b"x RESUBMIT WITH LESS USE OF GPU MEMORY -- ")


def test_reader_that_closes_the_pipe_early_is_no_error(log):
    big = log.parent / "big.log"
    big.write_text(LOG * 50)
    command = f"{sys.executable} -m logdoctor events {big} | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False, timeout=60)
    assert done.stderr == b""
    assert done.stdout.count(b"\n") == 1


def test_slow_start_shows_the_bar_before_anything_is_read(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(progress_bar, "SLOW", 0.01)
    with progress_bar.ProgressBar():
        time.sleep(0.3)
    stderr = capsys.readouterr().err
    assert "compiling the rules" in stderr
    assert "bytes" not in stderr


def test_the_bar_counts_bytes_once_something_is_read(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(progress_bar, "SLOW", 0.01)
    with progress_bar.ProgressBar() as bar:
        time.sleep(0.3)
        bar.watch("a.log", 5)
        time.sleep(0.3)
    assert "5/? bytes" in capsys.readouterr().err


def test_quick_work_shows_no_bar(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress_bar.ProgressBar() as bar:
        bar.watch("a.log", 5)
    assert capsys.readouterr().err == ""
