"""``logdoctor config``: show which file of settings holds, and all values."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from logdoctor.cli.config_options import ENVIRONMENT, check_table, general_options, used_settings
from logdoctor.cli.errors import print_error

if TYPE_CHECKING:
    from logdoctor.cli.settings import Settings


def config(ctx: typer.Context) -> None:
    """Show which file of settings holds, and each value with its origin. The output is itself a file of settings.

    Exit codes: 0 it is shown, 2 the file is faulty.
    """
    from logdoctor.model import InputError

    found = used_settings(ctx)
    commands: Any = ctx.find_root().command
    try:
        for line in _lines(found, commands.commands):
            typer.echo(line)
    except InputError as error:
        print_error(error)
        raise typer.Exit(2) from None


def _lines(found: Settings, commands: Any) -> Iterator[str]:
    from logdoctor.cli.settings import places

    if found.file is not None:
        yield f"# settings of {found.file}"
    else:
        yield "# no file of settings; it can be one of"
        yield from (f"#   {place}" for place in places())
    yield from _table(found, general_options(commands), found.values)
    for name, table in found.values.items():
        if isinstance(table, dict):
            check_table(name, table, commands, found)
            yield f"\n[{name}]"
            yield from (f"{key} = {_toml(value)}" for key, value in table.items())


def _table(found: Settings, options: Any, values: dict[str, Any]) -> Iterator[str]:
    for key, option in options.items():
        value, origin = _value(found, key, option, values)
        if value is None:
            yield f"# {key} is not set"
        else:
            yield f"{f'{key} = {_toml(value)}':30} # {origin}"


def _value(found: Settings, key: str, option: Any, values: dict[str, Any]) -> tuple[Any, str]:
    """Return a value and its origin."""
    variables = [option.envvar] if option.envvar else ENVIRONMENT.get(key, ())
    name = next((name for name in variables if os.environ.get(name)), "")
    if name:
        return (os.environ[name], f"${name}") if option.envvar else (values.get(key), f"${name} wins")
    if key in values:
        return values[key], f"{found.file}:{found.line_of(key)}"
    return option.default, "default"


def _toml(value: Any) -> str:
    """Return a text, number, list or truth value as TOML, which writes them as JSON does."""
    return json.dumps(value, ensure_ascii=False)
