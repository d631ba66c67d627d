"""``logdoctor schema``: JSON schemas of what logdoctor writes and reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from logdoctor.cli.choices import among, one_of
from logdoctor.cli.config_options import general_options, options_of
from logdoctor.cli.words import require

NAMES = ("diagnosis", "comparison", "rule", "settings")
Document = Annotated[str, typer.Argument(help=f"{one_of(NAMES)}.", autocompletion=among(NAMES))]


def schema(ctx: typer.Context, document: Document) -> None:
    """Print the JSON Schema of a diagnosis, a comparison, a rule file or the settings.

    The first two are written by 'logdoctor diagnose --json' and 'logdoctor diff -f json'.

    Exit codes: 0 it is printed, 2 wrong usage.
    """
    require(document, NAMES, "DOCUMENT")
    if document == "rule":
        from logdoctor.ruleset import shipped_rules

        typer.echo((shipped_rules() / "rule.schema.json").read_text("utf-8"))
        return
    if document == "settings":
        commands: Any = ctx.find_root().command
        found = settings_schema(commands.commands)
    else:
        from logdoctor.model.json_schema import json_schema

        found = json_schema(document)
    typer.echo(json.dumps(found, indent=2))


def settings_schema(commands: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a file of settings, made from the options of the commands."""
    tables = {name: _table(options) for name, command in commands.items() if (options := options_of(command))}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "settings of logdoctor",
        **_object({**tables, **_table(general_options(commands))["properties"]}),
    }


def _table(options: Mapping[str, Any]) -> dict[str, Any]:
    return _object({key: _property(option) for key, option in options.items()})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _property(option: Any) -> dict[str, Any]:
    names = {"int": "integer", "flo": "number"}
    kind = "boolean" if option.is_flag else names.get(option.type.name[:3], "string")
    one: dict[str, Any] = {"type": kind}
    if option.multiple:
        one = {"anyOf": [one, {"type": "array", "items": one}]}
    return {**one, "description": option.help or ""}
