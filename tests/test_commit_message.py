"""The hook that checks commit messages."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

HOOK = Path(__file__).resolve().parent.parent / ".githooks" / "commit-msg"
faults = runpy.run_path(str(HOOK))["faults"]


@pytest.mark.parametrize(
    "message",
    [
        "Do not blame a rank that only timed out",
        "Do not blame a rank that only timed out\n\nA watchdog timeout is reported by the victim.\n",
        "Read " + "x" * 67,
        "Feed pipes to the scan in blocks",
        "\n\n# comments and empty lines at the start do not count\nAdd a reader\n\nbody",
        "Add a reader\n# Please enter the commit message\n# On branch main\n",
        "Add a reader\n# ------------------------ >8 ------------------------\ndiff --git a b\n" + "+" * 99,
        "Merge branch 'main' of a-long-server-name.example.org:logdoctor/logdoctor into docs-of-rules",
        'Revert "Rules that nobody ever needed, and a few of those that somebody did, long ago."',
        "fixup! Add a reader.",
        "",
    ],
)
def test_good_message_is_accepted(message):
    assert faults(message) == []


@pytest.mark.parametrize(
    ("message", "line", "word"),
    [
        ("Read " + "x" * 68, 1, "73 characters"),
        ("add a reader", 1, "'add' does not begin with a capital"),
        ("Add a reader.", 1, "full stop"),
        ("Added a reader", 1, "'Added' is no imperative"),
        ("Adding a reader", 1, "'Adding' is no imperative"),
        ("A reader", 1, "'A' is no verb"),
        ("Who gave up waiting is a victim", 1, "'Who' is no verb"),
        ("Add a reader\nof dumps", 2, "not empty"),
    ],
)
def test_bad_message_is_refused_at_its_line(message, line, word):
    ((number, what, why, cure),) = faults(message)
    assert (number, word in what) == (line, True)
    assert why
    assert cure


def test_all_faults_are_printed_at_once_in_four_parts(tmp_path):
    file = tmp_path / "COMMIT_EDITMSG"
    file.write_text("Reading growing files.\nand more\n", "utf-8")
    done = subprocess.run([sys.executable, HOOK, file], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert [line.split(": ")[0] for line in done.stderr.splitlines()[:9]] == [
        *(f"{file}:1", "  why", "  help") * 2,
        *(f"{file}:2", "  why", "  help"),
    ]
    assert f"--file {file}" in done.stderr


def test_git_runs_the_hook(tmp_path):
    assert os.access(HOOK, os.X_OK)
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", f"core.hooksPath={HOOK.parent}"]
    try:
        subprocess.run([*git, "init", "-q", tmp_path], check=True)
    except FileNotFoundError:
        pytest.skip("no git on this machine")
    commit = [*git, "-C", tmp_path, "commit", "-q", "--allow-empty", "-m"]
    assert subprocess.run([*commit, "Add a reader"], check=False).returncode == 0
    assert subprocess.run([*commit, "added a reader"], check=False, capture_output=True).returncode == 1
