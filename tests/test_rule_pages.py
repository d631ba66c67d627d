"""The pages made of the rules: they are up to date, and hold what a reader looks for."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import call
from rule_texts import BOOK, LICENCE, rule_file

from logdoctor.authoring.pages import rule_pages
from logdoctor.rulebook.loading import load

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "rules"

pytestmark = pytest.mark.usefixtures("surroundings")


def test_the_pages_are_up_to_date():
    wanted = rule_pages(BOOK.rules)
    there = {p.name: p.read_text("utf-8") for p in PAGES.glob("*.md")}
    assert [name for name in {*wanted, *there} if wanted.get(name) != there.get(name)] == [], "run: make rule-pages"


def test_every_rule_is_in_the_table_and_on_its_familys_page_in_both_languages():
    pages = rule_pages(BOOK.rules)
    for lang in (".md", ".zh.md"):
        for rule in BOOK.rules:
            anchor = rule.id.replace(".", "")
            assert f"[{rule.id}]({rule.id.split('.')[0]}{lang}#{anchor})" in pages[f"README{lang}"]
            assert f"\n## {rule.id}\n" in pages[f"{rule.id.split('.')[0]}{lang}"]


def test_a_page_says_what_why_how_we_know_and_what_to_do(tmp_path):
    rule_file(tmp_path, "site.licence", LICENCE, ("+) did not answer'", "+) did not answer ``x`'"))
    page = rule_pages(load([tmp_path]).rules)["site.md"]
    for part in (
        "**The licence server of the site is gone**",
        "The job: start it again.",
        "1. Start it again",
        "- gone: text ``` licence server (?P<server>[a-z]+) did not answer ``x` ```",
        "Holds when: `any: gone`",
        "- <https://example.org/licences>",
        "```text\nFATAL licence server hydra did not answer\n```",
        "Not this",
    ):
        assert part in page, part


def test_pages_are_written_checked_and_taken_away_but_never_what_somebody_wrote(tmp_path):
    (tmp_path / "notes.md").write_text("mine")
    call("rules", "pages", tmp_path, "--check", code=1)
    assert [p.name for p in tmp_path.iterdir()] == ["notes.md"]
    call("rules", "pages", tmp_path)
    call("rules", "pages", tmp_path, "--check", code=0)
    (tmp_path / "gone.md").write_text((tmp_path / "net.md").read_text("utf-8"), encoding="utf-8")
    call("rules", "pages", tmp_path, "--check", code=1)
    assert "1 removed" in call("rules", "pages", tmp_path).stdout
    assert (tmp_path / "notes.md").read_text() == "mine"
    assert not (tmp_path / "gone.md").exists()
