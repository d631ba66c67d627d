"""The command line: words and exit codes.  The only room that prints or exits.

Exit codes: 0 a diagnosis was made, whatever it says; 1 a failure or unknown was found and ``--exit-code`` was given (or
a check of ``rules`` failed); 2 wrong usage; 3 nothing could be read.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from logdoctor.cli import (
    diagnose_command,
    diff_command,
    evaluate_command,
    events_command,
    explain_command,
    fleet_command,
    history_command,
    report_command,
    rules_commands,
    scan_command,
    train_command,
)
from logdoctor.version import __version__

OWN_OPTIONS = {"--help", "--version", "--install-completion", "--show-completion"}


class DiagnoseByDefault(TyperGroup):
    """``logdoctor FILE`` and ``cat FILE | logdoctor`` mean ``logdoctor diagnose``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put ``diagnose`` in front where no command is named."""
        piped = not args and not ctx.resilient_parsing and not sys.stdin.isatty()  # not while completing words
        named = args and (args[0] in self.commands or args[0] in OWN_OPTIONS)
        means_it = args and (args[0].startswith("-") or set("./*") & set(args[0]) or os.path.lexists(args[0]))
        if piped or (means_it and not named):
            args = ["diagnose", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=DiagnoseByDefault,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Say what went wrong first in a distributed-training job, where, with which proof, and what to do.\n\n"
    "cat crash.log | logdoctor        diagnose what a job printed\n\n"
    "logdoctor diagnose JOB_FOLDER    a folder is one job",
)
app.command("diagnose")(diagnose_command.diagnose)
app.command("report")(report_command.report)
app.command("diff")(diff_command.diff)
app.command("events")(events_command.events)
app.command("explain", context_settings={"ignore_unknown_options": True})(explain_command.explain)
app.command("scan")(scan_command.scan)
app.command("fleet")(fleet_command.fleet)
app.command("history")(history_command.history)
app.command("train")(train_command.train)
app.command("evaluate")(evaluate_command.evaluate)
app.add_typer(rules_commands.app, name="rules")


def _version(wanted: bool) -> None:  # noqa: FBT001 - typer hands it over by position
    if wanted:
        typer.echo(f"logdoctor {__version__}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")]


@app.callback()
def top(version: Version = False) -> None:
    """Hold the options that stand before a command."""


def run(args: list[str] | None = None) -> Any:
    """Run the command line on ``args`` (default: the process's own) and exit."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a title in Chinese must not end `rules list` on an ASCII terminal
    try:
        return app(args)
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
