"""The changelog in pieces: one file a change in ``changelog.d/``, so that branches do not meet in one list.

    python tools/changelog.py                 # what is not released yet
    python tools/changelog.py release 0.3.0   # moves it to CHANGELOG.md, and sets the version

A piece is ``changelog.d/NAME.SECTION.md``: an entry of the list of this section, without the dash.
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECTIONS = ("added", "changed", "deprecated", "removed", "fixed", "security")
"""Sections of Keep a Changelog, in their order."""
UNRELEASED = "## [Unreleased]\n\nPieces in `changelog.d/`; `python tools/changelog.py` puts them together.\n"
"""Section of CHANGELOG.md that stays on top."""


def pieces(root: Path) -> list[Path]:
    """Return the pieces sorted by name. Raise SystemExit for a file that names no section, or says nothing."""
    files = sorted(path for path in (root / "changelog.d").glob("*") if not path.name.startswith("."))
    for file in files:
        if file.suffix != ".md" or file.stem.rpartition(".")[2] not in SECTIONS or not file.read_text("utf-8").strip():
            raise SystemExit(f"{file}: a piece is NAME.SECTION.md with a text; the sections are {', '.join(SECTIONS)}")
    return files


def sections(files: list[Path]) -> str:
    """Return the pieces as sections of a changelog."""
    lines: list[str] = []
    for section in SECTIONS:
        texts = [file.read_text("utf-8").strip() for file in files if file.stem.endswith(f".{section}")]
        lines += (
            [f"\n### {section.capitalize()}", *("- " + text.replace("\n", "\n  ") for text in texts)] if texts else []
        )
    return "\n".join(lines) + "\n"


def release(root: Path, version: str, date: str) -> None:
    """Move all pieces to CHANGELOG.md below a head with the version, and write the version."""
    files = pieces(root)
    changelog, source = root / "CHANGELOG.md", root / "logdoctor" / "version.py"
    head = f"{UNRELEASED}\n## [{version}] - {date}\n"
    changelog.write_text(changelog.read_text("utf-8").replace(UNRELEASED, head + sections(files), 1), "utf-8")
    source.write_text(re.sub(r'(?<=__version__ = ")[^"]+', version, source.read_text("utf-8")), "utf-8")
    for file in files:
        file.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("release").add_argument("version")
    arguments = parser.parse_args()
    if arguments.command == "release":
        release(ROOT, arguments.version, dt.datetime.now(tz=dt.timezone.utc).date().isoformat())
    else:
        print(sections(pieces(ROOT)).strip())


if __name__ == "__main__":
    main()
