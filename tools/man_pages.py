"""Manual pages, made from the help of the commands: ``python tools/man_pages.py OUT_FOLDER``.

There is a page ``logdoctor.1``, and ``logdoctor-COMMAND.1`` for each command. The wheel puts them into share/man/man1.
`reference_pages.py` makes docs/cli.md from the same help.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import typer

from logdoctor.cli.commands import app
from logdoctor.version import __version__

Row = tuple[str, str]
"""A name and what it is."""


class CommandHelp(NamedTuple):
    """The help of a command."""

    path: str
    """The words of the command, for example ``logdoctor rules lint``."""
    paragraphs: list[str]
    usage: str
    arguments: list[Row]
    options: list[Row]
    commands: list[Row]
    """The commands of a group, with the first paragraph of their help."""


def command_helps() -> list[CommandHelp]:
    """Return the help of all commands, each group before its commands."""
    return [*_helps("logdoctor", typer.main.get_command(app))]


def _helps(path: str, command: Any) -> Iterator[CommandHelp]:
    commands = dict(getattr(command, "commands", {}))
    with typer.Context(command, info_name=path, help_option_names=["-h", "--help"]) as ctx:
        rows = [(p.param_type_name, row) for p in command.get_params(ctx) if (row := p.get_help_record(ctx))]
        yield CommandHelp(
            path,
            (command.help or "").strip().split("\n\n"),
            " ".join([path, *command.collect_usage_pieces(ctx)]),
            [row for kind, row in rows if kind == "argument"],
            [row for kind, row in rows if kind != "argument"],
            [(name, (each.help or "").split("\n\n")[0]) for name, each in commands.items()],
        )
    for name, each in commands.items():
        yield from _helps(f"{path} {name}", each)


def man_pages() -> dict[str, str]:
    """Return the pages by file name."""
    return {f"{command.path.replace(' ', '-')}.1": _page(command) for command in command_helps()}


def _page(command: CommandHelp) -> str:
    name = command.path.replace(" ", "-")
    parts = [
        f'.TH "{name.upper()}" 1 "" "logdoctor {__version__}"',
        ".SH NAME",
        f"{_roff(name)} \\- {_roff(command.paragraphs[0])}",
        ".SH SYNOPSIS",
        _roff(command.usage),
        ".SH DESCRIPTION",
        "\n.PP\n".join(map(_roff, command.paragraphs)),
        *_list("OPTIONS", [*command.arguments, *command.options]),
        *_list("COMMANDS", command.commands),
        *([".SH SEE ALSO", "logdoctor(1)"] if command.path != "logdoctor" else []),
    ]
    return "\n".join(parts) + "\n"


def _list(title: str, rows: Iterable[Row]) -> Iterator[str]:
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
