"""The command line: words and exit codes.  The only room that prints or exits.

Exit codes: 0 a diagnosis was made, whatever it says; 1 a failure or unknown was found and ``--exit-code`` was given (or
a check of ``rules`` failed); 2 wrong usage; 3 nothing could be read, or the output could not be written.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import os
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from logdoctor.cli.errors import report_os_error
from logdoctor.version import __version__

OWN_OPTIONS = {"--help", "--version", "--install-completion", "--show-completion"}

SELDOM = 100_000
"""So many more objects before garbage is looked for: a start makes as many, and none of them is any."""


class Commands(Mapping[str, Any]):
    """The files ``<name>_command.py``, each imported when its command is asked for: most of a start is imports.

    Such a file has a function that is called like the command, or ``app`` where it needs more than that.
    """

    def __init__(self) -> None:
        """Look which there are."""
        found = (module.name.rpartition("_") for module in pkgutil.iter_modules(__path__))
        self._names = [name for name, _, suffix in found if suffix == "command"]

    def __iter__(self) -> Iterator[str]:
        """The names, sorted."""
        return iter(self._names)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        """Whether there is such a command; imports nothing."""
        return name in self._names

    def __getitem__(self, name: str) -> Any:
        """The command.  Raises `KeyError` where there is none."""
        if name not in self._names:
            raise KeyError(name)
        module = importlib.import_module(f"{__name__}.{name}_command")
        own = getattr(module, "app", None) or typer.Typer(add_completion=False, rich_markup_mode=None)
        if not own.registered_commands:
            own.command(name)(getattr(module, name))
        command = typer.main.get_command(own)
        command.name = name
        return command


class DiagnoseByDefault(TyperGroup):
    """``logdoctor FILE`` and ``cat FILE | logdoctor`` mean ``logdoctor diagnose``."""

    def __init__(self, **settings: Any) -> None:
        """Take the commands from their files."""
        super().__init__(**settings)
        self.commands: Any = Commands()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put ``diagnose`` in front where no command is named."""
        piped = not args and not ctx.resilient_parsing and not sys.stdin.isatty()  # not while completing words
        named = args and (args[0] in self.commands or args[0] in OWN_OPTIONS)
        means_it = args and (args[0].startswith("-") or set("./*") & set(args[0]) or os.path.lexists(args[0]))
        if piped or (means_it and not named):
            args = ["diagnose", *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what the system refuses to it (a full disk) is told, and no traceback."""
        try:
            done = super().invoke(ctx)
            sys.stdout.flush()
        except OSError as error:
            raise typer.Exit(report_os_error(error)) from None
        return done


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
    _stand_in_for_closed_streams()
    gc.set_threshold(SELDOM)
    atexit.register(gc.freeze)  # all goes with the process: looking for garbage in it would take 20 ms
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a title in Chinese must not end `rules list` on an ASCII terminal
    return app(args)


def _stand_in_for_closed_streams() -> None:
    """Standard streams that are closed (``<&-``, ``>&-``, some daemons) are empty, or swallow what is written."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - to the end
