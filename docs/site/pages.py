"""Gather the pages of the site: ``python docs/site/pages.py FOLDER``. Then ``make docs`` builds the site.

Markdown files keep their paths, so links between pages hold on the site and in the repository. These are made:

- ``docs/rules/`` from the rule files, and ``docs/defects.md`` from the table of known defects (`tools/rule_pages.py`)
- ``gallery/`` from the golden cases of ``corpus/``, which have a report file: one page per family and one per case
"""

from __future__ import annotations

import html
import shutil
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import yaml
from markdown_it import MarkdownIt

from logdoctor.ruleset import shipped_rules
from logdoctor.ruleset.loading import load

SITE = Path(__file__).resolve().parent
ROOT = SITE.parent.parent
sys.path.append(str(ROOT / "tools"))
from rule_pages import defects_page, write_rule_pages  # noqa: E402 - a folder of scripts, no package

VERDICTS = {"healthy": "nothing failed", "unknown": "the logs do not hold the cause"}
PAGES = ("*.md", "docs/*.md", "docs/*.png", "benchmarks/*.md", "corpus/lab/*.md")


def gather(folder: Path) -> None:
    """Write all pages and the configuration of the site into ``folder``."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "pages"
    for source in sorted(page for pattern in PAGES for page in ROOT.glob(pattern)):
        target = pages / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    shutil.copy(SITE / "style.css", pages)
    write_rule_pages(pages / "docs" / "rules")
    (pages / "docs" / "defects.md").write_text(defects_page(load([shipped_rules()]).defects), "utf-8")
    write_gallery(pages / "gallery")
    settings = yaml.safe_load((SITE / "mkdocs.yml").read_text("utf-8"))
    settings["nav"] = [fill_in(entry, pages) for entry in settings["nav"]]
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(settings, allow_unicode=True, sort_keys=False), "utf-8")


def fill_in(entry: dict[str, Any], pages: Path) -> dict[str, Any]:
    """Replace a pattern in the navigation by its pages, overview first.

    ``{"All rules": "docs/rules/*.md"}`` lists ``README.md``, ``app.md``, …. The * matches no dot, so Chinese pages
    (``app.zh.md``) are left out. A list of pages stays as it is.
    """
    ((name, pattern),) = entry.items()
    if "*" not in pattern:
        return entry
    dots = pattern.count(".")
    inside = [page for page in pages.glob(pattern) if page.name.count(".") == dots]
    inside.sort(key=lambda page: (not page.name.startswith("README."), page.name))
    return {name: [page.relative_to(pages).as_posix() for page in inside]}


def write_gallery(folder: Path) -> None:
    """Write one page per case, one page per family, and an overview."""
    families: dict[str, list[tuple[str, dict[str, Any]]]] = defaultdict(list)
    for case in sorted({report.parent for report in (ROOT / "corpus").glob("*/report.*md")}):
        about = yaml.safe_load((case / "case.yaml").read_text("utf-8"))
        families[about["label"].split(".")[0]].append((case.name, about))
        page = folder / "cases" / f"{case.name}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(case_page(case, about), "utf-8")
    for family, cases in families.items():
        (folder / f"{family}.md").write_text(family_page(family, cases), "utf-8")
    (folder / "README.md").write_text(overview(families), "utf-8")


def case_page(case: Path, about: dict[str, Any]) -> str:
    """Return the page of a case: its true story and its report."""
    family = about["label"].split(".")[0]
    truth = " or ".join(f"`{label}`" for label in (about["label"], *about.get("also", ())))
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    reports = "\n".join(report_section(path) for path in sorted(case.glob("report.*md")))
    return f"""# {about["title"]}

[{family}](../{family}.md) · truth: {truth} · {about["made"]} · {versions}

{about["story"].strip()}

{reports}"""


def report_section(path: Path) -> str:
    """Return the command that prints a golden report, and the report."""
    lang = path.stem.partition(".")[2]
    option = f" --lang {lang}" if lang else ""
    report = MarkdownIt("commonmark").enable("table").render(path.read_text("utf-8"))
    return f"""    logdoctor diagnose --format markdown --no-redact{option} corpus/{path.parent.name}

<div class="report">
{report}</div>
"""


def family_page(family: str, cases: list[tuple[str, dict[str, Any]]]) -> str:
    """Return the page of a family: its cases sorted by label."""
    rows = sorted(cases, key=lambda case: (case[1]["label"], case[1]["title"]))
    table = "\n".join(
        f"| {about['label']} | [{cell(about['title'])}](cases/{name}.md) | {about['made']} |" for name, about in rows
    )
    return f"# {family}\n\n| truth | what happened | logs |\n| --- | --- | --- |\n{table}\n"


def overview(families: dict[str, list[tuple[str, dict[str, Any]]]]) -> str:
    """Return the overview of the gallery, with one row per family."""
    rows = "\n".join(
        f"| [{family}]({family}.md) | {kinds(cases)} | {len(cases)} |" for family, cases in sorted(families.items())
    )
    return f"""# Gallery

The golden reports of `corpus/`: on logs of jobs that were really run and broken (captured), or written from knowledge
of the formats (written). Each page says what really happened, then what logdoctor reads from the logs alone. The
reports are approved: a test fails where one would read otherwise.

| family | kinds of failure | cases |
| --- | --- | --- |
{rows}
"""


def kinds(cases: list[tuple[str, dict[str, Any]]]) -> str:
    """Return the labels of the cases without their family: ``oom, xid``."""
    names = {about["label"].partition(".")[2] or VERDICTS[about["label"]] for _, about in cases}
    return ", ".join(sorted(names))


def cell(text: str) -> str:
    """Escape ``text`` for a cell of a Markdown table."""
    return html.escape(text, quote=False).replace("|", "\\|")


if __name__ == "__main__":
    gather(Path(sys.argv[1]))
