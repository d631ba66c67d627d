"""A start loads only what its command needs, and the short way of ``logdoctor FILE`` is that of typer."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from logdoctor import cli
from logdoctor.cli import read_plain_call
from logdoctor.cli.commands import app

ALLOWED_ROOMS = {
    "artefacts",
    *("", "artefacts", "classifier", "cli", "codes", "examination", "frames", "inputs", "logs", "matcher", "model"),
    *("module_names", "pack", "pipeline", "reasoning", "render", "ruleset", "version"),
}
UNUSED = {
    *("logdoctor.cli.commands", "logdoctor.cli.diagnose_command", "logdoctor.model.json_schema"),
    *("logdoctor.render.html_page", "logdoctor.render.differences", "logdoctor.ruleset.loading"),
    *("logdoctor.inputs.tars", "logdoctor.inputs.zips", "logdoctor.classifier.linear_model"),
}
OTHER_WAYS = {"short": "from logdoctor.cli import run; run()", "typer": "from logdoctor.cli.commands import app; app()"}
SECONDS = re.compile(rb"[\d.]+\s+m?(?:s\b|\xe7\xa7\x92)")


def _start(way: str, *args: str, **streams) -> subprocess.CompletedProcess[bytes]:
    code = f"import sys; sys.argv[0] = 'logdoctor'; {OTHER_WAYS[way]}"
    return subprocess.run([sys.executable, "-c", code, *args], capture_output=True, check=False, timeout=60, **streams)


@pytest.fixture(scope="module")
def own_cache(cache, tmp_path_factory):
    """Return a filled cache that no other test fills, because a full cache drops what was unused for longest."""
    own = tmp_path_factory.mktemp("cache") / "own"
    with suppress(shutil.Error):  # a file that another worker was writing
        shutil.copytree(cache, own)
    _start("short", input=b"", env={**os.environ, "LOGDOCTOR_CACHE": str(own)})
    return own


@pytest.fixture
def folder(tmp_path, log, own_cache, monkeypatch):
    monkeypatch.setenv("LOGDOCTOR_CACHE", str(own_cache))
    (tmp_path / "plain.log").write_bytes(log.read_bytes())
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "job.log").write_bytes(log.read_bytes())
    return tmp_path


def _modules(folder, *args: str) -> set[str]:
    show = "import atexit; atexit.register(lambda: sys.stderr.write(chr(10).join(sys.modules)))"
    code = f"import sys; sys.argv[0] = 'logdoctor'; {show}; {OTHER_WAYS['short']}"
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, check=True, cwd=folder, timeout=60)
    return set(done.stderr.decode().splitlines())


@pytest.mark.parametrize("args", [("-q", "plain.log"), ("plain.log",), ("diagnose", "in")])
def test_a_diagnosis_loads_its_rooms_and_no_other(args, folder):
    _modules(folder, *args)  # compiles and keeps the rules
    loaded = _modules(folder, *args)
    rooms = {f"{name}.".split(".")[1] for name in loaded if name.split(".")[0] == "logdoctor"}
    assert rooms <= ALLOWED_ROOMS
    assert not loaded & UNUSED
    assert not loaded & {"typer", "rich", "json", "subprocess", "dataclasses", "tempfile"}


@pytest.mark.parametrize("args", [("--help",), ("--version",)])
def test_help_loads_the_command_line_only(args, folder):
    loaded = _modules(folder, *args)
    rooms = {name.split(".")[1] for name in loaded if name.startswith("logdoctor.")}
    assert rooms == {"cli", "pack", "version"}
    assert not loaded & {"msgspec", "regex", "tempfile", "rich", "pygments"}


WORDS = st.sampled_from(
    [
        "diagnose",
        "-q",
        "--quiet",
        "-",
        "--",
        "./a",
        "a/b",
        "*.log",
        "a",
        "",
        "-qq",
        "-h",
        "--lang",
        "rules",
        "--no-redact",
    ]
)


@given(st.lists(WORDS, max_size=5))
def test_the_short_way_reads_arguments_as_typer_does(args):
    call = read_plain_call(args)
    if call is not None:
        group = typer.main.get_command(app)
        args = [*args] if args[:1] == ["diagnose"] else ["diagnose", *args]
        with group.make_context("logdoctor", args) as context:
            assert context._protected_args + context.args == args
        with group.commands["diagnose"].make_context("diagnose", args[1:]) as context:
            given = {name: value for name, value in context.params.items() if value}
        assert [*given.pop("paths", ())] == call.paths
        assert given == ({"quiet": True} if call.quiet else {})


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("plain.log",),
        ("-q", "plain.log", "in"),
        ("diagnose", "in", "--quiet"),
        ("*.log",),
        ("-q", "-"),
        ("no/such.log",),
        ("plain.log", "no.log"),
    ],
)
def test_the_short_way_answers_as_typer_does(args, folder, log):
    assert read_plain_call(args) is not None
    short, long = (_start(way, *args, cwd=folder, input=log.read_bytes()) for way in ("short", "typer"))
    if not args:
        long = _start("typer", "diagnose", cwd=folder, input=log.read_bytes())
    assert short.returncode == long.returncode
    assert short.stderr == long.stderr
    assert SECONDS.sub(b"", short.stdout) == SECONDS.sub(b"", long.stdout)


@pytest.mark.parametrize("settings", ["lang = 'zh'", "format = 'json'", "format = 'none'", "lang = 7", "["])
def test_both_ways_heed_the_settings(settings, folder):
    (folder / "mine.toml").write_text(settings)
    env = {**os.environ, "LOGDOCTOR_CONFIG": "mine.toml"}
    short, long = (_start(way, "plain.log", cwd=folder, env=env) for way in OTHER_WAYS)
    assert (short.returncode, short.stderr) == (long.returncode, long.stderr)
    assert SECONDS.sub(b"", short.stdout) == SECONDS.sub(b"", long.stdout)


def test_both_ways_report_a_full_disk(folder):
    with Path("/dev/full").open("wb") as full:
        results = []
        for code in OTHER_WAYS.values():
            command = [sys.executable, "-c", f"import sys; sys.argv[0] = 'logdoctor'; {code}", "plain.log"]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False, cwd=folder, timeout=60)
            results.append((done.returncode, done.stderr))
    assert results[0] == results[1]
    assert results[0][0] == 3


def test_both_ways_end_alike_if_they_are_interrupted():
    results = []
    for code in OTHER_WAYS.values():
        command = [sys.executable, "-c", f"import sys; sys.argv[0] = 'logdoctor'; {code}", "-"]
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        # ignored where the tests run in the background of a shell
        hear = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
        with subprocess.Popen(command, **streams, preexec_fn=hear) as process:  # noqa: PLW1509
            process.stdin.write(b"x\n" * 500_000)  # more than a pipe holds: the program is reading when this returns
            process.stdin.flush()
            time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            assert b"Traceback" not in process.stderr.read()
            results.append((process.stdout.read(), process.wait(60)))
    assert results[0] == results[1]


def test_words_are_completed_by_typer(monkeypatch):
    monkeypatch.setenv("_LOGDOCTOR_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "logdoctor dia")
    monkeypatch.setenv("COMP_CWORD", "1")
    monkeypatch.setattr(cli, "_diagnose", lambda _: pytest.fail("diagnosed"))
    monkeypatch.setattr(sys, "argv", ["logdoctor"])
    with pytest.raises(SystemExit):
        cli.run([])
