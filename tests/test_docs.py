"""The pages of docs/ are whole: their links, their commands, and the site that `make docs` makes of them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import typer
import yaml
from markdown_it import MarkdownIt

from logdoctor.cli import app

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "docs" / "site"))
import pages as site  # noqa: E402 - a folder of one script, no package

TAGS = ("<li", "<pre", "<table", "<tr", "<h2", "<h3")
WRITTEN = sorted(p for pattern in site.PAGES for p in ROOT.glob(pattern) if p.parent.name != "rules")
each_page = pytest.mark.parametrize("page", WRITTEN, ids=lambda p: p.relative_to(ROOT).as_posix())


@pytest.fixture(scope="module")
def gathered(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    site.gather(folder)
    return folder


def links(page: Path) -> set[str]:
    prose = re.sub(r"```.*?```|^    .*?$|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return {target for target in re.findall(r"\]\(([^)\s]+)\)", prose) if "://" not in target}


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ +(.+?)\s*$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> list[str]:
    faults = []
    for link in links(page):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            faults.append(link)
    return faults


@each_page
def test_a_page_links_to_what_is_there(page):
    assert broken(page) == []


def commands(page: Path) -> list[str]:
    """The calls of logdoctor in the code of a page, up to a comment or a pipe."""
    code = re.findall(r"^(?: {4}|\$ )(.*)$|`([^`\n]+)`", page.read_text("utf-8"), re.MULTILINE)
    lines = [re.split(r" +#|\||;|&&|<<", "".join(found))[0] for found in code]
    return [line.strip() for line in lines if re.match(r"\s*logdoctor [a-z-]", line)]


@each_page
def test_a_command_on_a_page_exists_with_its_options(page):
    for line in commands(page):
        command, words = typer.main.get_command(app), line.split()[1:]
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        assert not hasattr(command, "commands") or not words or words[0].startswith("-"), f"no such command: {line}"
        if hasattr(command, "commands") and words[:1] not in (["--version"], ["--install-completion"]):
            command = command.commands.get("diagnose", command)  # what is asked without a command
        known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
        asked = {word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert asked <= known | {"--help", "-h", "--version", "--install-completion"}, line


def test_every_room_of_the_house_is_on_the_plan_once():
    plan = (ROOT / "docs" / "architecture.md").read_text("utf-8").split("\n## ")[0]
    told = [
        name for row in re.findall(r"^\| (`[^|]+) \|", plan, re.MULTILINE) for name in re.findall(r"`([^`]+)`", row)
    ]
    rooms = [p for p in (ROOT / "logdoctor").iterdir() if not p.name.startswith("__") and p.name != "version.py"]
    assert sorted(told) == sorted(p.name + "/" * p.is_dir() for p in rooms)


REASONING = ROOT / "logdoctor" / "reasoning"


def rows_of_reasoning():
    """Each file of the room and the number of its row in the plan."""
    told = (ROOT / "docs/architecture.md").read_text("utf-8").partition("In `reasoning/` a file asks only")[2]
    rows = told.partition("**")[0].splitlines()
    return {name: number for number, row in enumerate(rows) for name in re.findall(r"`(\w+)`", row)}


def test_every_file_of_the_reasoning_is_in_a_row_of_its_plan():
    there = {p.stem for p in REASONING.glob("[!_]*.py")} | {"ledgers"}
    assert rows_of_reasoning().keys() == there


def test_no_file_of_the_reasoning_asks_one_of_a_row_below_its_own():
    rows = rows_of_reasoning()
    for file in REASONING.rglob("[!_]*.py"):
        own = rows["ledgers" if file.parent.name == "ledgers" else file.stem]
        asked = re.findall(r"from logdoctor\.reasoning\.(\w+)", file.read_text("utf-8"))
        assert [name for name in asked if rows[name] > own] == [], file.name


def test_a_page_of_the_site_links_to_pages_of_the_site(gathered):
    pages = sorted((gathered / "pages").rglob("*.md"))
    assert [(page.name, faults) for page in pages if (faults := broken(page))] == []


def test_every_page_but_a_single_case_is_in_the_navigation(gathered):
    nav = yaml.safe_load((gathered / "mkdocs.yml").read_text("utf-8"))["nav"]
    listed = [
        place for entry in nav for value in entry.values() for place in ([value] if isinstance(value, str) else value)
    ]
    there = {p.relative_to(gathered / "pages").as_posix() for p in (gathered / "pages").rglob("*.md")}
    assert sorted(listed) == sorted(place for place in there if not place.startswith("gallery/cases/"))


def test_every_golden_report_is_in_the_gallery(gathered):
    reports = Counter(report.parent.name for report in (ROOT / "corpus").glob("*/report.*md"))
    pages = (gathered / "pages" / "gallery" / "cases").glob("*.md")
    assert {page.stem: page.read_text("utf-8").count("<h2>") for page in pages} == reports


def test_the_text_of_a_case_opens_no_tag_in_a_table(gathered):
    about = {"label": "net.dns", "title": "a <script> | b", "made": "written"}
    assert "| [a &lt;script&gt; \\| b](cases/x.md) |" in site.family_page("net", [("x", about)])


@each_page
def test_a_page_reads_on_the_site_as_elsewhere(page):
    """Two readers of Markdown see the same lists, blocks and tables: the site's wants a blank line before a list."""
    markdown = pytest.importorskip("markdown", reason="needs the extra docs")
    text = page.read_text("utf-8")
    extensions = yaml.safe_load((ROOT / "docs/site/mkdocs.yml").read_text("utf-8"))["markdown_extensions"]
    plain = [name for name in extensions if isinstance(name, str)]
    ours, theirs = MarkdownIt("commonmark").enable("table").render(text), markdown.markdown(text, extensions=plain)
    assert [len(re.findall(tag, ours)) for tag in TAGS] == [len(re.findall(tag, theirs)) for tag in TAGS]


@pytest.mark.skipif(
    shutil.which("zensical", path=str(Path(sys.executable).parent)) is None, reason="needs the extra docs"
)
def test_the_site_is_built_and_a_broken_link_is_an_error(tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "mkdocs.yml").write_text((ROOT / "docs/site/mkdocs.yml").read_text("utf-8").split("\nnav:")[0], "utf-8")
    (tmp_path / "pages" / "index.md").write_text("# One\n\n[two](index.md)\n", "utf-8")
    build = [str(Path(sys.executable).parent / "zensical"), "build", "--strict", "-f", str(tmp_path / "mkdocs.yml")]
    assert subprocess.run(build, check=False).returncode == 0
    (tmp_path / "pages" / "index.md").write_text("# One\n\n[two](nowhere.md)\n", "utf-8")
    assert subprocess.run(build, check=False).returncode != 0
