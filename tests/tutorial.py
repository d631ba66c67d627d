"""Follows a page of docs/ as its reader does."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r'^```(\w+ title="[\w./-]+"|console)\n(.*?)^```$', re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ logdoctor (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


def follow(page: str, run: Callable[[str], str]) -> int:
    """Write the files that a page shows into the current folder, and ``run`` the arguments after ``$ logdoctor``.

    Each documented line of output must be printed. Return the number of commands.
    """
    done = 0
    for info, body in BLOCK.findall((ROOT / "docs" / page).read_text("utf-8")):
        if info != "console":
            Path(info.split('"')[1]).write_text(body, encoding="utf-8")
            continue
        for arguments, documented in COMMAND.findall(body):
            printed = run(arguments)
            assert [line for line in documented.splitlines() if line not in printed] == [], (arguments, printed)
            done += 1
    return done
