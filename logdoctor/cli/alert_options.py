"""The options of commands that send messages about failures."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from logdoctor.alerts import Alerts

KEYS = ("notify", "quiet-hours", "notify-limit", "notify-names")
"""Settings that hold for all commands that have the option."""
Notify = Annotated[
    list[str] | None,
    typer.Option(
        "--notify",
        metavar="URL",
        envvar="LOGDOCTOR_NOTIFY",
        help="Send a short message of a failure there (an apprise URL); may be repeated.",
    ),
]
QuietHoursOption = Annotated[
    str | None, typer.Option("--quiet-hours", metavar="HH:MM-HH:MM", help="Send no message between these hours.")
]
NotifyLimit = Annotated[int, typer.Option("--notify-limit", min=1, help="Send at most so many messages an hour.")]
NotifyNames = Annotated[
    bool, typer.Option("--notify-names/--no-notify-names", help="Keep names of hosts and users in messages.")
]
LIMIT = 20


def open_alerts(
    targets: Sequence[str] | None, quiet: str | None, limit: int, lang: str, *, names: bool
) -> Alerts | None:
    """Return the targets of a command, None if it has none. Faulty hours are wrong usage."""
    if not targets:
        return None
    from logdoctor.alerts import Alerts, QuietHours

    try:
        hours = QuietHours.read(quiet) if quiet else None
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--quiet-hours") from None
    return Alerts(targets, _print_line, quiet=hours, most=limit, names=names, lang=lang)


def _print_line(text: str) -> None:
    sys.stderr.write(f"logdoctor: {text}\n")
