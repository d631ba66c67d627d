"""The changelog in pieces: `tools/changelog.py`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from logdoctor.version import __version__

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tools"))
import changelog  # noqa: E402 - a folder of scripts


@pytest.fixture
def project(tmp_path):
    """Write a project of three pieces."""
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "logdoctor").mkdir()
    (tmp_path / "logdoctor" / "version.py").write_text('__version__ = "0.1.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(
        f"# Changelog\n\n{changelog.UNRELEASED}\n## [0.1.0] - 2026-01-01\n\n### Added\n- a\n"
    )
    for name, text in {"b.fixed": "B is\nmended.\n", "a.fixed": "A is.\n", "c.added": "C.\n"}.items():
        (tmp_path / "changelog.d" / f"{name}.md").write_text(text)
    return tmp_path


def test_pieces_of_the_project_can_be_put_together():
    changelog.sections(changelog.pieces(ROOT))


def test_pieces_become_sections_in_their_order(project):
    text = changelog.sections(changelog.pieces(project))
    assert text == "\n### Added\n- C.\n\n### Fixed\n- A is.\n- B is\n  mended.\n"


@pytest.mark.parametrize("name", ["a.md", "a.mended.md", "a.fixed.txt"])
def test_piece_of_no_section_is_refused(name, project):
    (project / "changelog.d" / name).write_text("A.")
    with pytest.raises(SystemExit, match=re.escape(name)):
        changelog.pieces(project)


def test_release_moves_the_pieces_under_the_version_and_sets_it(project):
    changelog.release(project, "0.2.0", "2026-02-03")
    text = (project / "CHANGELOG.md").read_text()
    assert re.findall("^##+ .*", text, re.MULTILINE) == [
        "## [Unreleased]",
        "## [0.2.0] - 2026-02-03",
        "### Added",
        "### Fixed",
        "## [0.1.0] - 2026-01-01",
        "### Added",
    ]
    assert (project / "logdoctor" / "version.py").read_text() == '__version__ = "0.2.0"\n'
    assert changelog.pieces(project) == []


def test_changelog_begins_with_the_section_that_a_release_needs():
    assert changelog.UNRELEASED in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_changelog_has_the_version_on_top_and_the_json_page_shows_it():
    heads = re.findall(r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert heads[:2] == ["Unreleased", __version__]
    assert f'"made_by": {{"version": "{__version__}"' in (ROOT / "docs" / "json.md").read_text("utf-8")
