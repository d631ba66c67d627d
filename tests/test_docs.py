"""Pages of docs/: their links, their commands, and the site of `make docs`."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
import typer
import yaml
from markdown_it import MarkdownIt

from logdoctor.cli.commands import app
from logdoctor.logs import parse_text

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "docs" / "site"))
import pages as site  # noqa: E402 - a folder of one script, no package

TAGS = ("<li", "<pre", "<table", "<tr", "<h2", "<h3")
WRITTEN = sorted(p for pattern in site.PAGES for p in ROOT.glob(pattern) if p.suffix == ".md")
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
def test_links_of_a_page_lead_to_existing_files(page):
    assert broken(page) == []


def commands(page: Path) -> list[str]:
    """Return the calls of logdoctor in a page, without comments and pipes."""
    code = re.findall(r"^(?: {4}|\$ )(.*)$|`([^`\n]+)`", page.read_text("utf-8"), re.MULTILINE)
    lines = [re.split(r" +#|\||;|&&|<<", "".join(groups))[0] for groups in code]
    return [line.strip() for line in lines if re.match(r"\s*logdoctor [a-z-]", line)]


@each_page
def test_a_command_on_a_page_exists_with_its_options(page):
    for line in commands(page):
        command, words = typer.main.get_command(app), line.partition(" -- ")[0].split()[1:]
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        is_input = bool(words) and not words[0].isalpha()  # a file, a folder or an option
        assert not hasattr(command, "commands") or not words or is_input, f"no such command: {line}"
        if hasattr(command, "commands") and words[:1] not in (["--version"], ["--install-completion"]):
            command = command.commands.get("diagnose", command)  # what is asked without a command
        options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        asked = {word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert asked <= options | {"--help", "-h", "--version", "--install-completion"}, line


ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text("utf-8")


def floors_of_the_plan() -> list[set[str]]:
    plan = ARCHITECTURE.partition("```\n")[2].partition("```")[0]
    floors = re.split(r"^\d", plan, flags=re.MULTILINE)[1:]
    return [set(re.findall(r"(?<!\S)(\w+(?:/|\.py))(?= )", floor)) for floor in floors]


def test_plan_names_each_room_on_its_floor_of_the_import_contract():
    contract = re.search(r"layers = \[(.*?)\]", (ROOT / "pyproject.toml").read_text("utf-8"), re.DOTALL)[1]
    layers = [set(re.findall(r"logdoctor\.(\w+)", layer)) for layer in contract.strip().splitlines()]
    assert [{name.removesuffix("/").removesuffix(".py") for name in floor} for floor in floors_of_the_plan()] == layers


def test_plan_names_each_room_of_the_package():
    package = ROOT / "logdoctor"
    modules = {p.name for p in package.glob("*.py") if not p.name.startswith("__")}
    rooms = modules | {f"{p.parent.name}/" for p in package.glob("*/__init__.py")}
    assert set.union(*floors_of_the_plan()) == rooms


def test_plan_says_for_each_room_what_it_must_never_do():
    table = ARCHITECTURE.partition("| room | must never |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([^`]+)`", row)} == set.union(*floors_of_the_plan())


REASONING = ROOT / "logdoctor" / "reasoning"


def test_plan_names_each_room_of_the_reasoning():
    table = ARCHITECTURE.partition("**reasoning.**")[2].partition("\n\n`job_state")[0]
    rooms = {f"{p.name}/" for p in REASONING.iterdir() if p.is_dir() and not p.name.startswith("__")}
    assert set(re.findall(r"^\| `(\w+/)`", table, re.MULTILINE)) == rooms


def test_files_of_the_reasoning_import_each_other_in_no_circle():
    files = REASONING.rglob("[!_]*.py")
    asked = {
        ".".join(p.relative_to(REASONING).with_suffix("").parts): re.findall(
            r"^from logdoctor\.reasoning\.([\w.]+) import", p.read_text("utf-8"), re.MULTILINE
        )
        for p in files
    }
    assert len([*TopologicalSorter(asked).static_order()]) >= len(asked)  # raises CycleError with the circle


def test_line_of_the_plan_gives_the_source_that_the_plan_names():
    steps = ARCHITECTURE.partition("## The way of one line")[2].partition("\n## ")[0]
    (record,) = parse_text(re.search(r"^`(.+)`$", steps, re.MULTILINE)[1])
    named = re.search(r"is now: (.+?)\.\n", steps, re.DOTALL)[1].split()
    source = record.source
    told = f"rank {source.rank}, host {source.host}, pid {source.pid}, time 10:13:38, level {source.level}, logger {source.logger}"
    assert (" ".join(named), record.kind) == (told, "cuda.other")


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
    """Compare two parsers of Markdown. The parser of the site wants a blank line before a list."""
    markdown = pytest.importorskip("markdown", reason="needs the extra docs")
    pytest.importorskip("pymdownx", reason="needs the extra docs")
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


SELECTION = re.compile(r"pytest(?P<files>(?: tests/\w+\.py)*) -k (?P<words>[\w-]+)")
EXAMPLES = {"NAME": "markdown", "PROGRAM": "slurm", "CASE": "lightning-resume-straggler"}
"""A value for each placeholder of the documented commands."""


def test_every_documented_selection_of_tests_selects_one():
    selections = {
        (m["files"].strip(), m["words"]) for page in WRITTEN for m in SELECTION.finditer(page.read_text("utf-8"))
    }
    files = sorted({file for file, _ in selections if file})
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", *files]
    collected = subprocess.run(collect, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(selections) >= 5
    for file, words in selections:
        wanted = EXAMPLES.get(words, words).lower()
        assert any(name.startswith(file) and wanted in name.lower() for name in collected), (file, words)
