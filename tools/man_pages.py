"""Manual pages, made from the help of the commands: ``python tools/man_pages.py OUT_FOLDER``.

There is a page ``logdoctor.1``, and ``logdoctor-COMMAND.1`` for each command. The wheel puts them into share/man/man1.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import typer

from logdoctor.cli.commands import app
from logdoctor.version import __version__


def man_pages() -> dict[str, str]:
    """Return the pages by file name."""
    group: Any = typer.main.get_command(app)
    commands = dict(group.commands)
    pages = {"logdoctor": _page("logdoctor", group, commands)}
    for name, command in commands.items():
        pages[f"logdoctor-{name}"] = _page(f"logdoctor {name}", command, getattr(command, "commands", {}))
    return {f"{name}.1": text for name, text in pages.items()}


def _page(path: str, command: Any, commands: dict[str, Any]) -> str:
    with typer.Context(command, info_name=path) as ctx:
        paragraphs = (command.help or "").strip().split("\n\n")
        usage = " ".join([path, *command.collect_usage_pieces(ctx)])
        rows = [row for param in command.get_params(ctx) if (row := param.get_help_record(ctx))]
    parts = [
        f'.TH "{path.replace(" ", "-").upper()}" 1 "" "logdoctor {__version__}"',
        ".SH NAME",
        f"{_roff(path.replace(' ', '-'))} \\- {_roff(paragraphs[0])}",
        ".SH SYNOPSIS",
        _roff(usage),
        ".SH DESCRIPTION",
        "\n.PP\n".join(map(_roff, paragraphs)),
        *_list("OPTIONS", rows),
        *_list("COMMANDS", ((name, (each.help or "").split("\n\n")[0]) for name, each in commands.items())),
        *([".SH SEE ALSO", "logdoctor(1)"] if path != "logdoctor" else []),
    ]
    return "\n".join(parts) + "\n"


def _list(title: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    rows = [*rows]
    if rows:
        yield f".SH {title}"
    for name, text in rows:
        yield f".TP\n.B {_roff(name)}\n{_roff(text)}"


def _roff(text: str) -> str:
    """Return ``text`` so that no part of it is a request of roff."""
    words = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{words}" if words.startswith((".", "'")) else words


def write(folder: Path) -> list[Path]:
    """Write the pages into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, text in man_pages().items():
        files.append(folder / name)
        files[-1].write_text(text, "utf-8")
    return files


if __name__ == "__main__":
    write(Path(sys.argv[1]))
