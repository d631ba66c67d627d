"""docs/rules.md: the tutorial is what happens, command by command, and its tables are those of the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from command_line import RUN

from logdoctor.authoring.lint_issue import CODES
from logdoctor.cli import app

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "rules.md").read_text("utf-8")

pytestmark = pytest.mark.usefixtures("surroundings")


def test_the_tutorial_is_what_happens(tmp_path, monkeypatch):
    """Blocks named by a file are written there, lines with ``$`` are run, the lines below are in what they print."""
    monkeypatch.chdir(tmp_path)
    done = 0
    for info, body in re.findall(r'^```(\w+ title="[\w./-]+"|console)\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL):
        if info != "console":
            Path(info.split('"')[1]).write_text(body, encoding="utf-8")
            continue
        for command, shown in re.findall(r"^\$ logdoctor (.*)\n((?:(?!\$ ).*\n)*)", body, re.MULTILINE):
            printed = RUN.invoke(app, shlex.split(command), prog_name="logdoctor").output
            assert [line for line in shown.splitlines() if line not in printed] == [], command
            done += 1
    assert done == 7


def test_every_remark_of_the_lint_is_in_the_table():
    for code, (severity, meaning) in CODES.items():
        assert f"| `{code}` | {severity} | {meaning} |" in PAGE
