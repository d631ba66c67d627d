"""docs/rules.md: its commands and tables are true."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from command_line import RUN
from tutorial import follow

from logdoctor.authoring.lint_issue import CODES
from logdoctor.cli.commands import app

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "rules.md").read_text("utf-8")

pytestmark = pytest.mark.usefixtures("clean_environment")


def test_commands_of_the_tutorial_print_the_documented_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (
        follow("rules.md", lambda arguments: RUN.invoke(app, shlex.split(arguments), prog_name="logdoctor").output) == 7
    )


def test_every_code_of_the_lint_is_in_the_table():
    for code, (severity, meaning) in CODES.items():
        assert f"| `{code}` | {severity} | {meaning} |" in PAGE
