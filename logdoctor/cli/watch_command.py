"""``logdoctor watch``: follow a job that runs."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from logdoctor.cli.alert_options import LIMIT, Notify, NotifyLimit, NotifyNames, QuietHoursOption, open_alerts
from logdoctor.cli.choices import among
from logdoctor.cli.diagnose_command import Lang, Rules
from logdoctor.cli.output import language_of, width_of, write_page
from logdoctor.cli.progress_bar import load_with_progress
from logdoctor.cli.rule_folders import all_folders
from logdoctor.cli.words import require

if TYPE_CHECKING:
    from logdoctor.live.watch import Change

STATES = ("failed", "finished", "suspicious")
EVERY = 0.5
Paths = Annotated[list[str], typer.Argument(help="Files, folders or globs of ONE job; new files are followed too.")]
ExitOn = Annotated[
    list[str] | None,
    typer.Option(
        "--exit-on", help=f"End at this state: {', '.join(STATES)}; may be repeated.", autocompletion=among(STATES)
    ),
]
OnFailure = Annotated[
    str | None,
    typer.Option("--on-failure", help="Run this shell command at a failure, with the diagnosis (JSON) as its input."),
]
Report = Annotated[Path | None, typer.Option("--report", help="Write the HTML page of a failure here.", dir_okay=False)]
Every = Annotated[float, typer.Option("--every", min=0.1, help="Seconds between two looks.")]


def watch(
    paths: Paths,
    exit_on: ExitOn = None,
    on_failure: OnFailure = None,
    report: Report = None,
    notify: Notify = None,
    quiet_hours: QuietHoursOption = None,
    notify_limit: NotifyLimit = LIMIT,
    notify_names: NotifyNames = False,
    every: Every = EVERY,
    lang: Lang = None,
    rules: Rules = None,
) -> None:
    """Follow the logs of a job that runs, and say at once when it fails or stands still.

    A line is printed whenever the state changes: waiting (nothing is written yet), running, suspicious (no line comes
    any more), failed (with the answer), finished.

    It follows until Ctrl-C, or until a state of --exit-on.

    Exit codes: 0 the state finished of --exit-on, 1 the state failed or suspicious of it, 2 wrong usage, 130 Ctrl-C.
    """
    from logdoctor.live.watch import Watch

    for state in exit_on or ():
        require(state, STATES, "--exit-on")
    language = language_of(lang)
    alerts = open_alerts(notify, quiet_hours, notify_limit, language, names=notify_names)
    job = " ".join(os.path.abspath(path) for path in paths)  # noqa: PTH100 - takes any text
    follower = Watch(paths, load_with_progress(all_folders(rules)), time.monotonic, lang=language)
    while True:
        for change in follower.poll():
            _tell(change, language)
            if change.state == "failed" and change.diagnosis:
                write_page(change.diagnosis, report)
            if alerts is not None and change.diagnosis and change.state in ("failed", "suspicious"):
                page = str(report or "") if change.state == "failed" else ""
                alerts.send(change.diagnosis, job, page=page, about=change.about)
            if change.state == "failed" and on_failure and change.diagnosis:
                subprocess.run(on_failure, shell=True, input=change.diagnosis.to_json(), text=True, check=False)  # noqa: S602 - the user's own command
            if change.state in (exit_on or ()):
                raise typer.Exit(0 if change.state == "finished" else 1)
        time.sleep(every)


def _tell(change: Change, lang: str) -> None:
    from logdoctor.cli.output import Style
    from logdoctor.model.escape import escape
    from logdoctor.render import render

    at = time.strftime("%H:%M:%S")
    typer.echo(f"{at} {change.state}{f': {escape(change.about)}' if change.about else ''}")
    if change.diagnosis is not None and change.state in ("failed", "suspicious"):
        typer.echo(render(change.diagnosis, "text", lang=lang, width=width_of(Style())), nl=False)
