"""Screens: invented logs of typical situations, and the whole first screen that a person gets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command_line import call

from logdoctor.render.columns import text_width

SCREENS = Path(__file__).parent / "screens"
SITUATIONS = sorted(path for path in SCREENS.iterdir() if path.is_dir())
HUNG = ("hang",)

pytestmark = pytest.mark.usefixtures("clean_environment")


def cases():
    for folder in SITUATIONS:
        yield pytest.param(folder, "en", id=folder.name)
    yield pytest.param(SCREENS / "cancelled", "zh", id="cancelled-zh")
    yield pytest.param(SCREENS / "oom-kill", "zh", id="oom-kill-zh")


@pytest.mark.parametrize(("folder", "lang"), cases())
def test_first_screen_of_a_situation(folder, lang, monkeypatch):
    monkeypatch.chdir(folder)
    logs = sorted(path.name for path in folder.iterdir() if not path.name.startswith("screen"))
    code = 3 if folder.name == "nothing-to-judge" else 0
    screen = call("--lang", lang, *(["--hung"] if folder.name in HUNG else []), *logs, code=code).stdout
    approved = folder / ("screen.txt" if lang == "en" else f"screen.{lang}.txt")
    if os.environ.get("LOGDOCTOR_APPROVE"):
        approved.write_text(screen, "utf-8")
    assert screen == approved.read_text("utf-8"), "LOGDOCTOR_APPROVE=1 pytest takes this as the approved screen"
    assert len(screen.splitlines()) <= 24
    assert max(map(text_width, screen.splitlines())) <= 80
