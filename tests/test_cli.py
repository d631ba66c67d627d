"""The command line as a user meets it: what goes in, what comes out, and with which exit code."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import pty
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstandard
from failing_job import ANSWER, HEALTHY, LOG, OOM, UNKNOWN, VALIDATOR, answer, answer_in
from typer.testing import CliRunner

import logdoctor
from logdoctor.cli import app
from logdoctor.cli import run as run_app
from logdoctor.version import __version__

RUN = CliRunner()
LOCALES = ("LC_ALL", "LC_MESSAGES", "LANG")


@pytest.fixture(autouse=True)
def surroundings(cache, monkeypatch):
    """English, no colours asked for, and compiled knowledge of this session only."""
    monkeypatch.setenv("LOGDOCTOR_CACHE", str(cache))
    for name in (*LOCALES, "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def log(tmp_path) -> Path:
    path = tmp_path / "job" / "train.log"
    path.parent.mkdir()
    path.write_text(LOG)
    return path


def call(*args: object, stdin: str | None = None, code: int = 0):
    """Run the command line in this process and give what came of it; its exit code must be ``code``."""
    result = RUN.invoke(app, [str(a) for a in args], input=stdin, prog_name="logdoctor")
    assert result.exit_code == code, (result.output, result.exception)
    return result


def report(*args: object, **options) -> dict:
    found = json.loads(call("diagnose", "--format", "json", *args, **options).stdout)
    VALIDATOR.validate(found)
    return found


def program(*args: object, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run it as a program of its own."""
    command = [sys.executable, "-m", "logdoctor", *map(str, args)]
    return subprocess.run(command, input=stdin, capture_output=True, env={**os.environ, **env}, check=False, timeout=60)


# ── what goes in ──


def test_a_pipe_without_a_command_is_diagnosed():
    assert "cuda.oom" in call(stdin=LOG).stdout


def test_a_file_without_a_command_is_diagnosed(log):
    assert call(log).stdout.splitlines()[:-1] == call("diagnose", log).stdout.splitlines()[:-1]


def test_an_option_without_a_command_is_diagnose(log):
    assert answer_in(json.loads(call("-f", "json", log).stdout)) == ANSWER


def test_a_dash_is_standard_input():
    assert answer_in(report("-", stdin=LOG)) == ANSWER


def tar_gz(folder: Path) -> Path:
    path = folder / "job.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        data = LOG.encode()
        member = tarfile.TarInfo("run/train.log")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return path


def zipped(folder: Path) -> Path:
    path = folder / "job.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("run/train.log", LOG)
    return path


def packed(name: str, pack):
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(pack(LOG.encode()))
        return folder / name

    return write


def folder_of(folder: Path) -> Path:
    (folder / "run").mkdir()
    (folder / "run" / "train.log").write_text(LOG)
    return folder / "run"


def glob_of(folder: Path) -> Path:
    return folder_of(folder) / "*.log"


FORMS = {
    "folder": folder_of,
    "glob": glob_of,
    "tar.gz": tar_gz,
    "zip": zipped,
    "gz": packed("a.log.gz", gzip.compress),
    "bz2": packed("a.log.bz2", bz2.compress),
    "zst": packed("a.log.zst", zstandard.ZstdCompressor().compress),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_input_gives_the_answer_of_the_plain_file(form, tmp_path, log):
    plain, other = report(log), report(FORMS[form](tmp_path))
    assert answer_in(other) == answer_in(plain) == ANSWER
    assert [e["line"] for e in other["causes"][0]["evidence"]] == [e["line"] for e in plain["causes"][0]["evidence"]]
    assert other["problems"] == []


def test_several_files_are_one_job(tmp_path):
    lines = LOG.splitlines(keepends=True)
    (tmp_path / "a.log").write_text("".join(lines[:7]))
    (tmp_path / "b.log").write_text("".join(lines[7:]))
    found = report(tmp_path / "a.log", tmp_path / "b.log")
    assert answer_in(found) == ANSWER
    assert [s["signature"] for s in found["symptoms"]] == ["collective.timeout"]


def test_an_unreadable_file_beside_a_good_one_is_a_problem_in_the_report(log):
    (log.parent / "rest.log.gz").write_bytes(gzip.compress(os.urandom(4000))[:900])
    found = report(log, log.parent / "rest.log.gz", log.parent / "gone.log")
    assert answer_in(found) == ANSWER
    assert ["rest.log.gz" in p["where"] or "gone.log" in p["where"] for p in found["problems"]] == [True, True]


# ── what comes out ──


@pytest.mark.parametrize("format", ["terminal", "json", "markdown", "html"])
def test_every_format_names_the_signature_and_the_proof(format, log):
    out = call("diagnose", "-f", format, log).stdout
    assert "cuda.oom" in out
    assert "torch.OutOfMemoryError" in out
    assert "train.log" in out


def test_html_is_a_whole_page_without_anything_from_elsewhere(log):
    out = call("diagnose", "-f", "html", log).stdout
    assert out.lstrip().lower().startswith("<!doctype html>")
    assert "</html>" in out
    assert "<script src" not in out
    assert "<link" not in out


def test_the_report_goes_to_the_file_that_was_asked_for(log, tmp_path):
    assert call("diagnose", "-f", "json", "-o", tmp_path / "r.json", log).stdout == ""
    assert answer_in(json.loads((tmp_path / "r.json").read_text("utf-8"))) == ANSWER


def test_a_report_in_a_file_has_no_colours(log, tmp_path):
    call("diagnose", "-o", tmp_path / "r.txt", log)
    assert "\x1b" not in (tmp_path / "r.txt").read_text("utf-8")


def test_an_output_file_that_cannot_be_written_is_wrong_usage(log, tmp_path):
    assert "cannot be written" in call("diagnose", "-o", tmp_path / "no" / "r.txt", log, code=2).stderr


def test_a_report_can_be_in_chinese(log):
    assert re.search("[\u4e00-\u9fff]{4}", call("--lang", "zh", log).stdout)
    assert not re.search("[\u4e00-\u9fff]", call("--lang", "en", log).stdout)


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


def test_silence_is_a_failure_only_where_the_job_is_said_to_hang():
    assert report(stdin=HEALTHY.replace("Training completed.\n", ""))["verdict"] == "healthy"
    assert report("--hung", stdin=HEALTHY.replace("Training completed.\n", ""))["verdict"] != "healthy"


def test_the_same_input_gives_the_same_bytes(log):
    first, second = program("-f", "json", log), program("-f", "json", log, PYTHONHASHSEED="7")
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_pipe_gets_no_escape_codes(env, log):
    assert b"\x1b" not in program(log, **env).stdout


def terminal(*args: object, **env: str) -> bytes:
    """What it prints where standard output is a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "logdoctor", *map(str, args)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, **env}) as process:
        os.close(theirs)
        out = b""
        while piece := _read(ours):
            out += piece
        process.wait(60)
    os.close(ours)
    return out + b"\nexit %d" % process.returncode


def _read(ours: int) -> bytes:
    try:
        return os.read(ours, 1 << 16)
    except OSError:  # Linux says EIO where the other end is closed
        return b""


def test_a_terminal_gets_colours_and_no_color_takes_them_away(log):
    assert b"\x1b[" in terminal(log, TERM="xterm-256color")
    assert b"\x1b[" not in terminal(log, TERM="xterm-256color", NO_COLOR="1")


@pytest.mark.parametrize("format", ["terminal", "json", "markdown", "html"])
def test_an_output_in_ascii_is_no_crash(format, log):
    done = program("-f", format, "--lang", "zh", log, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert b"cuda.oom" in done.stdout
    done.stdout.decode("ascii")


def test_our_marks_become_ascii_where_the_output_holds_no_more(log):
    assert program("-q", log, PYTHONIOENCODING="ascii").stdout.startswith(b"x cuda.oom -- ")


def test_a_reader_that_goes_away_is_no_error(log):
    big = log.parent / "big.log"
    big.write_text(LOG * 50)
    command = f"{sys.executable} -m logdoctor events {big} | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False, timeout=60)
    assert done.stderr == b""
    assert done.stdout.count(b"\n") == 1


# ── exit codes ──


@pytest.mark.parametrize(("text", "code"), [(LOG, 1), (UNKNOWN, 1), (HEALTHY, 0)])
def test_exit_code_tells_the_verdict_where_it_is_asked_for(text, code):
    call("--exit-code", stdin=text, code=code)


@pytest.mark.parametrize("text", [LOG, UNKNOWN, HEALTHY])
def test_every_verdict_is_exit_code_0_otherwise(text):
    call(stdin=text, code=0)


def test_an_unknown_failure_says_what_to_collect():
    found = report(stdin=UNKNOWN)
    assert found["verdict"] == "unknown"
    assert found["advice"]


@pytest.mark.parametrize(
    "args", [["--format", "pdf"], ["--lang", "tlh"], ["--colour"], ["rules", "show", "no.such"], ["rules", "dance"]]
)
def test_wrong_usage_is_exit_code_2(args):
    assert call(*args, stdin=HEALTHY, code=2).stderr


@pytest.mark.parametrize("command", ["diagnose", "events"])
def test_a_missing_file_is_exit_code_3_and_named(command, tmp_path):
    result = call(command, tmp_path / "gone.log", code=3)
    assert "gone.log" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_missing_file_without_a_command_is_told_as_such(tmp_path):
    assert "gone.log" in call(tmp_path / "gone.log", code=3).stderr


def test_no_input_on_a_terminal_is_wrong_usage():
    out = terminal("diagnose")
    assert b"pipe a log in" in out
    assert out.endswith(b"exit 2")


def test_a_file_name_cannot_act_on_the_screen(tmp_path):
    assert "\x1b" not in call("diagnose", tmp_path / "\x1b[2Jgone.log", code=3).stderr


# ── the other commands ──


def test_help_names_every_command():
    out = call("--help").stdout
    assert all(f"\n  {command} " in out for command in ("diagnose", "events", "rules"))


@pytest.mark.parametrize("command", [["diagnose"], ["events"], ["rules"], ["rules", "list"], ["rules", "test"]])
def test_every_command_has_help(command):
    assert "Usage:" in call(*command, "--help").stdout


def test_version_is_printed():
    assert call("--version").stdout == f"logdoctor {__version__}\n"


def test_the_module_runs_as_a_program():
    assert program("--version").stdout == f"logdoctor {__version__}\n".encode()


def test_help_loads_nothing_heavy():
    code = "import sys, logdoctor.cli; sys.exit(bool({'pandas', 'sklearn', 'jinja2', 'hyperscan', 'yaml'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_shown_for_every_shell(shell, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    assert "_LOGDOCTOR_COMPLETE" in call("--show-completion", shell).stdout


@pytest.mark.parametrize(
    ("typed", "wanted"), [("logdoctor ru", b"rules"), ("logdoctor diagnose --exit", b"--exit-code")]
)
def test_completion_completes(typed, wanted):
    words = len(typed.split()) - 1
    env = {"COMP_WORDS": typed, "COMP_CWORD": str(words), "_LOGDOCTOR_COMPLETE": "complete_bash"}
    console_script = "import sys; sys.argv[0] = 'logdoctor'; from logdoctor.cli import run; run()"
    command = [sys.executable, "-c", console_script]
    done = subprocess.run(
        command, capture_output=True, env={**os.environ, **env}, check=False, stdin=subprocess.DEVNULL
    )
    assert wanted in done.stdout.split()


def test_events_are_json_lines_with_their_place(log):
    seen = [json.loads(line) for line in call("events", log).stdout.splitlines()]
    assert ("python.traceback", 7, 3) in [(e["kind"], e["line"], e.get("rank")) for e in seen]
    assert all(e["file"] == str(log) for e in seen)


def test_rules_list_has_a_line_for_every_rule():
    listed = call("rules", "list").stdout
    assert any(line.split()[:3] == ["cuda.oom", "cause", "stop"] for line in listed.splitlines())


def test_rules_show_prints_cause_remedy_symptoms_and_file():
    page = call("rules", "show", "cuda.oom").stdout
    assert "What to do (stop)" in page
    assert "Symptoms" in page
    assert "cuda/oom.yaml" in page


def test_rules_schema_is_json():
    assert json.loads(call("rules", "schema").stdout)["type"] == "object"


def test_rules_lint_finds_no_fault_in_ours():
    assert "no faults" in call("rules", "lint").stdout


# ── rules of the user's own ──

OWN = """\
title: The licence server is gone
cause: The licence server {server|} did not answer.
action: retry
remedy: ['Start it again']
references: ['https://example.org/licences']
symptoms:
  gone: {text: 'licence server (?P<server>[a-z]+) did not answer'}
examples: [{log: 'FATAL licence server hydra did not answer'}]
near_misses: [{is: healthy, log: 'licence server hydra answered'}]
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Path:
    """A rule that is added, one that is added and fails its own near-miss, one in the place of one of ours."""
    folder = tmp_path_factory.mktemp("own")
    texts = {
        "site/licence": OWN,
        "site/printer": OWN.replace("licence server", "printer").replace("hydra answered", "hydra did not answer"),
        "cuda/oom": OWN.replace("licence server", "memory").replace("action: retry", "action: stop"),
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f"{name}.yaml").write_text(text)
    return folder


def test_a_rule_of_the_users_is_added(own):
    text = "FATAL licence server hydra did not answer\n"
    assert answer_in(report("--rules", own, stdin=text)) == ("site.licence", ())
    assert answer_in(report(stdin=text))[0] != "site.licence"


def test_a_rule_of_the_users_takes_the_place_of_ours(own):
    assert "The memory is gone" in call("rules", "show", "cuda.oom", "--rules", own).stdout
    assert answer_in(report("--rules", own, stdin="FATAL memory hydra did not answer\n"))[0] == "cuda.oom"
    assert answer_in(report("--rules", own, stdin=LOG)) != ANSWER


def test_rules_of_the_users_are_tested_by_their_own_examples(own):
    assert "2 examples, 0 failed" in call("rules", "test", "site.licence", "--rules", own).stdout
    failed = call("rules", "test", "site.printer", "--rules", own, code=1).stdout
    assert "2 examples, 1 failed" in failed
    assert "site/printer.yaml:9: near-miss of site.printer should be healthy, got site.printer" in failed


def test_a_faulty_rule_is_told_with_file_and_line(tmp_path):
    (tmp_path / "licence.yaml").write_text(OWN.replace("action: retry", "action: pray"))
    result = call("diagnose", "--rules", tmp_path, stdin=LOG, code=2)
    assert "licence.yaml:3: " in result.stderr
    assert result.stdout == ""
    assert "licence.yaml:3: " in call("rules", "lint", "--rules", tmp_path, code=1).stderr


def test_a_rules_folder_that_is_missing_is_told(tmp_path):
    assert "nowhere" in call("diagnose", "--rules", tmp_path / "nowhere", stdin=LOG, code=2).stderr


# ── the Python API ──


@pytest.mark.parametrize("given", [str, Path, lambda p: [p], lambda p: [str(p)], lambda p: io.BytesIO(p.read_bytes())])
def test_the_api_takes_paths_lists_and_open_files(given, log, knowledge):
    assert answer(logdoctor.diagnose(given(log), knowledge=knowledge)) == ANSWER


def test_the_api_gives_the_contract(log, knowledge):
    plain = logdoctor.diagnose(log, knowledge=knowledge).to_dict()
    VALIDATOR.validate(plain)
    assert plain["causes"][0]["evidence"][0]["text"] == OOM


def test_running_the_app_ends_with_its_exit_code():
    with pytest.raises(SystemExit) as ended:
        run_app(["--version"])
    assert ended.value.code == 0
