"""Shells complete commands, options and what these take."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from command_line import call

from logdoctor.cli.commands import app
from logdoctor.ruleset import rule_files, shipped_rules

SHELLS = ("bash", "zsh", "fish")
VARIABLES = {
    "bash": lambda typed: {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))},
    "zsh": lambda typed: {"_TYPER_COMPLETE_ARGS": typed},
    "fish": lambda typed: {"_TYPER_COMPLETE_ARGS": typed, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
}
"""The environment in which the script of a shell calls the program."""


def complete(typed: str, shell: str = "bash") -> list[str]:
    """Return the words that a shell offers for the last one of ``typed``."""
    env = {**os.environ, **VARIABLES[shell](typed), "_LOGDOCTOR_COMPLETE": f"complete_{shell}"}
    command = [sys.executable, "-m", "logdoctor"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert "Traceback" not in done.stderr
    return re.findall(r'"([^"]+)"', done.stdout) if shell == "zsh" else done.stdout.split()


@pytest.mark.parametrize("shell", SHELLS)
def test_script_is_shown_for_every_shell(shell, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    assert call("completion", shell).stdout == call("--show-completion", shell).stdout
    assert "_LOGDOCTOR_COMPLETE" in call("completion", shell).stdout


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("logdoctor ru", ["run", "rules"]),
        ("logdoctor diagnose --exit-c", ["--exit-code"]),
        ("logdoctor --exit-c", ["--exit-code"]),  # `diagnose` may be left out
        ("logdoctor --format ht", ["html"]),
        ("logdoctor explain cuda.gs", ["cuda.gsp"]),
        ("logdoctor explain ECONNREF", ["ECONNREFUSED"]),
        ("logdoctor explain xid 79", ["79"]),
        ("logdoctor explain errn", ["errno"]),
        ("logdoctor rules show cuda.gs", ["cuda.gsp"]),
        ("logdoctor scan --fail-on net,cuda.gs", ["net,cuda.gsp"]),
        ("logdoctor explain no.such", []),
        ("logdoctor job.lo", []),  # the shell then completes files
    ],
)
def test_last_word_is_completed(typed, wanted):
    assert sorted(complete(typed)) == sorted(wanted)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_completes_values(shell):
    assert complete("logdoctor explain cuda.gs", shell) == ["cuda.gsp"]


def test_own_rules_are_completed(tmp_path):
    rule = tmp_path / "own" / "rack-door" / "rule.yaml"
    rule.parent.mkdir(parents=True)
    rule.write_text("")
    assert complete(f"logdoctor rules lint --rules {tmp_path} own.") == ["own.rack-door"]


def parameters() -> Iterator[tuple[str, Any]]:
    """Yield the path of each command with each of its parameters that a shell completes."""
    todo = [("logdoctor", typer.main.get_command(app))]
    while todo:
        path, command = todo.pop()
        todo += [(f"{path} {name}", each) for name, each in dict(getattr(command, "commands", {})).items()]
        yield from ((path, parameter) for parameter in command.params)


def completed(path: str, parameter: Any, typed: str = "") -> list[str]:
    context = typer.Context(typer.main.get_command(app), info_name=path)
    return [item.value for item in parameter.shell_complete(context, typed) if item.type == "plain"]


LIST = re.compile(
    r"^(?:[A-Za-z ]+[:y] )?((?:[a-z0-9-]+(?: \(default\))?, )*[a-z0-9-]+(?: \(default\))?) or ([a-z0-9-]+)\b"
)


def test_option_that_takes_a_word_of_a_list_is_completed_with_that_list():
    seen = set()
    for path, parameter in parameters():
        found = LIST.match(parameter.help or "")
        if found:
            listed = {*re.sub(r" \(default\)", "", found[1]).split(", "), found[2]}
            values = completed(path, parameter)
            assert listed <= {*values}, (path, parameter.name)
            assert call(*path.split()[1:], "--help")  # the list is that of the page
            seen.add((path, parameter.name))
    assert {name for _, name in seen} >= {"format", "lang", "color", "by", "document", "shell"}, seen
    assert len(seen) >= 15


def test_every_rule_and_signature_is_completed():
    by_name = {(path, parameter.name): parameter for path, parameter in parameters()}
    files = rule_files(shipped_rules())
    for place in (("logdoctor rules show", "name"), ("logdoctor explain", "words")):
        assert {file.id for file in files} <= {*completed(place[0], by_name[place])}
    signatures = {file.signature or file.id for file in files}
    assert signatures <= {*completed("logdoctor scan", by_name["logdoctor scan", "fail_on"])}


def program(folder: Path) -> dict[str, str]:
    """Return an environment in which ``logdoctor`` is this checkout."""
    script = folder / "logdoctor"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m logdoctor "$@"\n')
    script.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_bash_completes_with_the_printed_script(tmp_path):
    line = "source <(logdoctor completion bash); COMP_WORDS=(logdoctor explain cuda.gs); COMP_CWORD=2"
    line += '; _logdoctor_completion logdoctor; echo "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", line], env=program(tmp_path), capture_output=True, text=True, check=True
    )
    assert done.stdout == "cuda.gsp\n"


@pytest.mark.skipif(not shutil.which("fish"), reason="needs fish")
def test_fish_completes_with_the_printed_script(tmp_path):
    line = "logdoctor completion fish | source; complete -C 'logdoctor explain cuda.gs'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", line], env=program(tmp_path), capture_output=True, text=True, check=True
    )
    assert done.stdout == "cuda.gsp\n"
