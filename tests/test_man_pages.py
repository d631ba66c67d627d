"""Manual pages are made from the help of the commands."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from logdoctor.cli.commands import Commands
from tools.man_pages import man_pages


@pytest.fixture(scope="module")
def pages():
    return man_pages()


def test_every_command_has_a_page_with_its_options(pages):
    assert {"logdoctor.1", *(f"logdoctor-{name}.1" for name in Commands())} <= set(pages)
    assert ".B \\-\\-strict" in pages["logdoctor-rules-lint.1"]
    assert ".B \\-\\-exit\\-decision" in pages["logdoctor-diagnose.1"]
    assert ".B \\-\\-config FILE" in pages["logdoctor-scan.1"]


def test_the_first_page_lists_every_command(pages):
    assert [name for name in Commands() if f".B {name}\n" not in pages["logdoctor.1"]] == []


def test_no_line_of_text_is_a_request(pages):
    requests = (".TH ", ".SH ", ".PP", ".TP", ".B ")
    lines = [line for text in pages.values() for line in text.splitlines() if line.startswith((".", "'"))]
    assert [line for line in lines if not line.startswith(requests)] == []


@pytest.mark.skipif(not shutil.which("groff"), reason="needs groff")
def test_groff_has_no_complaint(pages):
    for text in pages.values():
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=text.encode(), capture_output=True, check=True)
        assert done.stderr == b""
