"""Options ``--config`` and ``--no-config`` of every command, and what a file of settings sets."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperOption

from logdoctor.cli.alert_options import KEYS as ALERT_KEYS
from logdoctor.cli.errors import print_error
from logdoctor.cli.words import propose

if TYPE_CHECKING:
    from logdoctor.cli.settings import Settings

META = "logdoctor.settings"
"""Place of the settings in the context of typer."""
OWN = ("config", "no_config")
OF_DIAGNOSE_ONLY = {"format", "output"}
"""Other commands have their own options of this name, which their table sets."""
ENVIRONMENT = {"color": ("NO_COLOR", "FORCE_COLOR"), "width": ("COLUMNS",)}
"""Variables that win over the file."""


def add_config_options(command: Any) -> None:
    """Add the options to a command, or to all commands of a group."""
    if hasattr(command, "commands"):
        for each in command.commands.values():
            add_config_options(each)
        return
    eager: dict[str, Any] = {"is_eager": True, "expose_value": False}
    text = "Read the settings of this file (default: $LOGDOCTOR_CONFIG, or the user's own)."
    command.params += [
        TyperOption(param_decls=["--config"], type=str, metavar="FILE", callback=_load, help=text, **eager),
        TyperOption(
            param_decls=["--no-config"],
            type=bool,
            is_flag=True,
            default=False,
            callback=_load_nothing,
            help="Read no settings.",
            **eager,
        ),
    ]


def used_settings(ctx: Any) -> Settings:
    """Return the settings that hold for a command."""
    from logdoctor.cli.settings import Settings

    found: Settings = ctx.meta.get(META) or Settings()
    return found


def general_options(commands: Any) -> dict[str, Any]:
    """Return the options that stand outside of a table: those of ``diagnose``, and those of messages."""
    of_messages = options_of(commands["watch"])
    return {**options_of(commands["diagnose"]), **{key: of_messages[key] for key in ALERT_KEYS}}


def options_of(command: Any) -> dict[str, Any]:
    """Return the options of a command that a file may set, by key."""
    return {
        name[2:]: option
        for option in command.params
        for name in option.opts
        if name.startswith("--") and option.name not in OWN
    }


def _load_nothing(ctx: Any, _: Any, wanted: bool) -> None:  # noqa: FBT001 - typer hands it over by position
    if wanted:
        from logdoctor.cli.settings import Settings

        ctx.meta[META] = Settings()
        ctx.default_map = {}


def _load(ctx: Any, _: Any, file: str | None) -> None:
    """Read the settings and make them the defaults of the command. A faulty file is wrong usage."""
    if META in ctx.meta or ctx.resilient_parsing:
        return
    from pathlib import Path

    from logdoctor.cli.settings import read_file, report_local_file, settings
    from logdoctor.model import InputError

    try:
        ctx.meta[META] = found = read_file(Path(file)) if file else settings()
        report_local_file(found.file)
        if found.file is not None:
            ctx.default_map = dict(_defaults(ctx, found))
    except InputError as error:
        print_error(error)
        raise SystemExit(2) from None


def _defaults(ctx: Any, found: Settings) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of the options of the command that the file sets."""
    commands, name = ctx.find_root().command.commands, ctx.command.name
    general, own = general_options(commands), options_of(ctx.command)
    flat = {key: value for key, value in found.values.items() if not isinstance(value, dict)}
    check_keys(flat, general, found)
    for key, value in found.values.items():
        if isinstance(value, dict):
            check_table(key, value, commands, found)
    if name != "diagnose":
        flat = {key: value for key, value in flat.items() if _has_meaning(key, own, general)}
    for key, value in {**flat, **found.values.get(name, {})}.items():
        checked = check_value(ctx, own[key], key, value, found)
        if key != "rules" and not any(map(os.environ.get, ENVIRONMENT.get(key, ()))):
            yield own[key].name, checked


def check_table(name: str, table: Mapping[str, Any], commands: Any, found: Settings) -> None:
    """Check that a table is named after a command, and its keys after options of the command."""
    if name not in commands:
        hint = propose(name, commands, 1)
        raise found.fault(name, f"unknown setting '{name[:80]}': it is no command" + (f"; {hint}" if hint else ""))
    check_keys(table, options_of(commands[name]), found)


def check_keys(table: Mapping[str, Any], options: Mapping[str, Any], found: Settings) -> None:
    for key in table:
        if key not in options:
            hint = propose(key, options, 1)
            raise found.fault(key, f"unknown setting '{key[:80]}'" + (f"; {hint}" if hint else ""))


def _has_meaning(key: str, own: Mapping[str, Any], general: Mapping[str, Any]) -> bool:
    """Return whether a command has the option of ``diagnose`` under the same key."""
    return key not in OF_DIAGNOSE_ONLY and key in own and own[key].multiple == general[key].multiple


def check_value(ctx: Any, option: Any, key: str, value: Any, found: Settings) -> Any:
    """Return the value as the option takes it. Raise `InputError` if it does not."""
    if option.name == "rules":
        return found.rules
    wanted, name = _wanted(option)
    values = value if option.multiple and isinstance(value, list) else [value]
    if not all(isinstance(v, wanted) and (wanted is bool or not isinstance(v, bool)) for v in values):
        raise found.fault(key, f"'{key}' must be {name}, not {type(value).__name__}")
    if hasattr(option.type, "dir_okay"):
        values = [str(found.path(v)) for v in values]
    try:
        option.process_value(ctx, values if option.multiple else values[0])
    except typer.BadParameter as error:
        raise found.fault(key, f"'{key}': {error.message}") from None
    return values if option.multiple else values[0]


def _wanted(option: Any) -> tuple[Any, str]:
    """Return the type of TOML for an option, and its name."""
    if option.is_flag:
        return bool, "true or false"
    if option.type.name.startswith(("int", "float")):
        return (int, float), "a number"
    return str, "a text"
