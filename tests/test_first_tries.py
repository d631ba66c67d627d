"""The marks of first tries: complete, and as the page tells them."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tools"))
import first_tries  # noqa: E402 - a folder of scripts, no package

MARKS = {
    "cause": {"right", "blurred", "wrong", "abstained", "green"},
    "sentence": {"true", "partly", "false"},
    "decision": {"right", "wrong", "harmful"},
    "mend": {"fixes", "helps", "none"},
    "step1": {"yes", "no"},
    "expert": {"yes", "no"},
}


def test_page_tells_the_marks_that_the_table_holds():
    page = first_tries.PAGE.read_text("utf-8")
    assert first_tries.with_table(page) == page, "run: python tools/first_tries.py"


def test_each_thread_is_marked_once_and_whole():
    rows = first_tries.read_rows()
    assert len({row["thread"] for row in rows}) == len(rows)
    assert [row for row in rows if any(row[name] not in allowed for name, allowed in MARKS.items())] == []
