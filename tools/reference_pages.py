"""Reference pages, made from the texts that the program itself shows: ``python tools/reference_pages.py``.

- ``docs/cli.md`` from the help of the commands
- the tables of ``docs/json.md`` from the schema of a diagnosis; the text above them is written by hand

The pages are committed, so that they can be read without the site. A test compares them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))
from man_pages import CommandHelp, Row, command_helps

from logdoctor.model.json_schema import json_schema

DOCS = Path(__file__).resolve().parent.parent / "docs"
MARK = "<!-- The rest is made by tools/reference_pages.py -->\n"
"""The end of what is written by hand in docs/json.md."""

Schema = dict[str, Any]


def pages() -> dict[Path, str]:
    """Return the text of each page by its file."""
    file = DOCS / "json.md"
    by_hand = file.read_text("utf-8").partition(MARK)[0]
    return {DOCS / "cli.md": cli_page(), file: f"{by_hand}{MARK}\n{json_tables()}"}


# ── commands ──


def cli_page() -> str:
    """Return the page of all commands."""
    helps = command_helps()
    overview = "\n".join(f"| [{h.path}](#{_anchor(h.path)}) | {_prose(h.paragraphs[0])} |" for h in helps[1:])
    commands = "\n\n".join(map(_command, helps))
    return f"""# Commands and options

Made by `tools/reference_pages.py` from the texts of `logdoctor COMMAND --help`. The manual pages hold the same
(`man logdoctor-scan`). `logdoctor FILE...` is short for `logdoctor diagnose FILE...`. Every long option can stand in a
[file of settings](settings.md).

| command | what it does |
| --- | --- |
{overview}

{commands}
"""


def _command(help: CommandHelp) -> str:
    parts = [f"## {help.path}", f"    {help.usage}", *map(_paragraph, help.paragraphs)]
    parts += _table("argument", help.arguments)
    parts += _table("option", help.options)
    return "\n\n".join(parts)


def _paragraph(text: str) -> str:
    return f"    {text}" if "   " in text else _prose(text)


def _table(title: str, rows: Iterable[Row]) -> Iterator[str]:
    lines = [f"| `{name}` | {_prose(text)} |" for name, text in rows]
    if lines:
        yield "\n".join([f"| {title} | what it is |", "| --- | --- |", *lines])


def _prose(text: str) -> str:
    """Return a text of the help in Markdown. Its commands stand between quotes."""
    plain = re.sub(r"([<>*|])", r"\\\1", " ".join(text.split()))
    return re.sub(r"'(logdoctor [^']*)'", r"`\1`", plain)


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


# ── JSON ──


def json_tables() -> str:
    """Return a table of fields for each object of a diagnosis."""
    schema = json_schema("diagnosis")
    tables = [f"## All fields\n\n{schema['description']}\n\n{_fields(schema)}"]
    tables += [_object(name, part) for name, part in schema["properties"].items() if "properties" in part]
    tables += [_object(name, part) for name, part in schema["$defs"].items() if "properties" in part]
    return "\n\n".join(tables) + "\n"


def _object(name: str, schema: Schema) -> str:
    return f"### {name}\n\n{schema['description']}\n\n{_fields(schema)}"


def _fields(schema: Schema) -> str:
    lines = [f"| `{name}` | {kind} | {_prose(text)} |" for name, kind, text in field_rows(schema)]
    return "\n".join(["| field | holds | what it says |", "| --- | --- | --- |", *lines])


def field_rows(schema: Schema, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield name, kind and description of each field, and of the fields of rows inside it."""
    for name, part in schema["properties"].items():
        left_out = "" if name in schema["required"] else " Left out where there is none."
        yield f"{path}{name}", kind_of(part, name), f"{part['description']}{left_out}"
        row = part.get("items")
        if isinstance(row, dict) and "properties" in row:
            yield from field_rows(row, f"{path}{name}[].")


def kind_of(schema: Schema, name: str = "") -> str:
    """Return what a value is, for example ``list of [Evidence](#evidence)``."""
    if "$ref" in schema:
        target = schema["$ref"].rpartition("/")[2]
        return {"text": "text", "time": "time or null"}.get(target, f"[{target}](#{_anchor(target)})")
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{value}`" if value else "empty" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(kind_of(part) for part in schema["anyOf"])
    if "prefixItems" in schema:
        return "pair: " + ", ".join(kind_of(part) for part in schema["prefixItems"])
    match schema["type"]:
        case "array":
            return f"list of {kind_of(schema['items'])}"
        case "object" if "additionalProperties" in schema:
            return "object of names and values"
        case "object":
            return f"[object](#{_anchor(name)})" if name else "objects"
        case [*several]:
            return " or ".join(kind_of({"type": one}) for one in several)
        case plain:
            return {"integer": "whole number", "boolean": "true or false", "string": "text"}.get(plain, plain)


def _plural(kind: str) -> str:
    return f"{kind}s" if kind in ("text", "whole number") else kind


def write() -> None:
    """Write the pages."""
    for file, text in pages().items():
        file.write_text(text, "utf-8")


if __name__ == "__main__":
    write()
