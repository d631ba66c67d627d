"""Pages made from the rules (`tools/rule_pages.py`): they are complete."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import call
from rule_texts import BOOK, LICENCE, rule_file

from logdoctor.ruleset.loading import load

TOOLS = Path(__file__).resolve().parent.parent / "tools"
sys.path.append(str(TOOLS))
from rule_pages import rule_pages  # noqa: E402 - a folder of scripts, no package

pytestmark = pytest.mark.usefixtures("clean_environment")


def test_program_writes_every_page_and_prints_their_number(tmp_path):
    command = [sys.executable, TOOLS / "rule_pages.py", tmp_path / "new" / "rules"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    written = {p.name: p.read_text("utf-8") for p in (tmp_path / "new" / "rules").iterdir()}
    assert written == rule_pages(BOOK.rules)
    assert printed == f"{len(written)} pages in {tmp_path / 'new' / 'rules'}\n"


def test_every_rule_is_in_the_table_and_on_its_familys_page_in_both_languages():
    pages = rule_pages(BOOK.rules)
    for lang in (".md", ".zh.md"):
        for rule in BOOK.rules:
            anchor = rule.id.replace(".", "")
            assert f"[{rule.id}]({rule.id.split('.')[0]}{lang}#{anchor})" in pages[f"README{lang}"]
            assert f"\n## {rule.id}\n" in pages[f"{rule.id.split('.')[0]}{lang}"]


def test_page_of_a_rule_has_title_cause_evidence_and_remedy(tmp_path):
    rule_file(tmp_path, "site.licence", LICENCE, ("+) did not answer'", "+) did not answer ``x`'"))
    page = rule_pages(load([tmp_path]).rules)["site.md"]
    for part in (
        "**A licence server is gone**",
        "The job: start it again.",
        "1. Start it again",
        "- gone: text ``` licence server (?P<server>[a-z]+) did not answer ``x` ```",
        "Holds when: `any: gone`",
        "- <https://example.org/licences>",
        "```text\nFATAL licence server hydra did not answer\n```",
        "Not this",
    ):
        assert part in page, part


def test_page_and_list_say_what_documents_a_rule_that_no_log_showed(tmp_path):
    evidence = "licd 3.2, src/serve.c"
    rule_file(tmp_path, "site.licence", LICENCE, ("action: retry", f"action: retry\nevidence: {evidence}"))
    assert f"\nNo log here shows it; source: {evidence}\n" in rule_pages(load([tmp_path]).rules)["site.md"]
    assert f"is gone  [{evidence}]" in call("rules", "list", "--rules", tmp_path).stdout
