"""``logdoctor run``: start a command, and answer if it fails."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from logdoctor.cli.alert_options import LIMIT, Notify, NotifyLimit, NotifyNames, QuietHoursOption, open_alerts
from logdoctor.cli.diagnose_command import Lang, Rules
from logdoctor.cli.errors import print_error
from logdoctor.cli.output import language_of, width_of, write_page
from logdoctor.cli.rule_folders import all_folders

if TYPE_CHECKING:
    from logdoctor.model import Diagnosis

WAIT = 20.0
"""Seconds in which the wrapper of the first node waits for those of the others. Slurm kills it 30 s after SIGTERM."""
Command = Annotated[list[str], typer.Argument(help="The command, behind --.", metavar="-- COMMAND...")]
Save = Annotated[
    Path | None,
    typer.Option("--save", help="Keep the output below this folder. On several nodes it is the one they share."),
]
Report = Annotated[Path | None, typer.Option("--report", help="Write the HTML page of a failure here.", dir_okay=False)]


def run(
    command: Command,
    save: Save = None,
    report: Report = None,
    notify: Notify = None,
    quiet_hours: QuietHoursOption = None,
    notify_limit: NotifyLimit = LIMIT,
    notify_names: NotifyNames = False,
    lang: Lang = None,
    rules: Rules = None,
) -> None:
    """Start a command and, if it fails, say what went wrong first, on standard error.

    Its output passes through unchanged and at once, signals are passed on, and the exit code is its own. In a step of
    several nodes (SLURM_NODEID, torchrun's or NODE_RANK) with a shared --save, the first node answers for all.

    Exit codes: that of the command; 127 if it cannot be started.
    """
    from tempfile import TemporaryDirectory

    from logdoctor.live.run import node_of_job, run_command

    language = language_of(lang)
    alerts = open_alerts(notify, quiet_hours, notify_limit, language, names=notify_names)
    node, nodes, job = node_of_job()
    with TemporaryDirectory(prefix="logdoctor-run-") as temporary:
        place = (save or Path(temporary)) / job if job else save or Path(temporary)
        folder = place / f"node-{node}" if nodes > 1 else place
        try:
            code = run_command(command, folder)
        except OSError as error:
            from logdoctor.model import LogdoctorError

            print_error(LogdoctorError("the command cannot be started", command[0], str(error.strerror or error)))
            raise typer.Exit(127) from None
        if code:
            is_first = nodes > 1 and save is not None and node == 0
            if is_first:
                _wait_for_nodes(place, nodes)
            is_full = nodes == 1 or is_first
            diagnosis = _diagnose(place if is_first else folder, language, rules or ())
            if diagnosis is not None:
                _print(diagnosis, language, full=is_full)
                write_page(diagnosis, report)
                if alerts is not None and is_full:
                    alerts.send(diagnosis, job or str(place.absolute()), page=str(report or ""))
    raise typer.Exit(code)


def _wait_for_nodes(place: Path, nodes: int) -> None:
    from logdoctor.live.run import END

    until = time.monotonic() + WAIT
    while time.monotonic() < until and sum(1 for _ in place.glob(f"node-*/{END}")) < nodes:
        time.sleep(0.2)


def _diagnose(place: Path, lang: str, rules: Sequence[Path]) -> Diagnosis | None:
    """Diagnose what was kept. An error of ours must not change the exit code of the command."""
    from logdoctor.cli.errors import report_own_error
    from logdoctor.model import InputError
    from logdoctor.pipeline.diagnosis import diagnose
    from logdoctor.pipeline.knowledge import gather

    try:
        return diagnose(str(place), knowledge=gather(all_folders(rules)), lang=lang)
    except InputError as error:
        print_error(error)
    except Exception as error:  # noqa: BLE001 - see above
        report_own_error(error)
    return None


def _print(diagnosis: Diagnosis, lang: str, *, full: bool) -> None:
    from logdoctor.cli.output import Style
    from logdoctor.render import render

    text = render(diagnosis, "text", lang=lang, width=width_of(Style()), quiet=not full)
    sys.stderr.write(text)
    sys.stderr.flush()
