"""docs/rules.md: its commands and tables are true."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from command_line import RUN

from logdoctor.authoring.lint_issue import CODES
from logdoctor.cli.commands import app

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "rules.md").read_text("utf-8")

pytestmark = pytest.mark.usefixtures("clean_environment")


def test_commands_of_the_tutorial_print_the_documented_output(tmp_path, monkeypatch):
    """Write the named files. Run the lines with ``$`` and compare their output."""
    monkeypatch.chdir(tmp_path)
    done = 0
    for info, body in re.findall(r'^```(\w+ title="[\w./-]+"|console)\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL):
        if info != "console":
            Path(info.split('"')[1]).write_text(body, encoding="utf-8")
            continue
        for command, documented in re.findall(r"^\$ logdoctor (.*)\n((?:(?!\$ ).*\n)*)", body, re.MULTILINE):
            printed = RUN.invoke(app, shlex.split(command), prog_name="logdoctor").output
            assert [line for line in documented.splitlines() if line not in printed] == [], command
            done += 1
    assert done == 7


def test_every_code_of_the_lint_is_in_the_table():
    for code, (severity, meaning) in CODES.items():
        assert f"| `{code}` | {severity} | {meaning} |" in PAGE
