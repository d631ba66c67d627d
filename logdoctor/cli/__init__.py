"""The command line. Only this room prints or exits.

Exit codes:

- 0: a diagnosis was made, with any verdict
- 1: a failure or unknown with ``--exit-code``, or a failed check of ``rules``
- 2: wrong usage
- 3: nothing could be read, or the output could not be written
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
from logdoctor.model.version import __version__

OWN_OPTIONS = {"--help", "--version", "--install-completion", "--show-completion"}

OBJECTS_BEFORE_COLLECTION = 100_000
"""A start makes as many objects, and none of them is garbage."""


class Commands(Mapping[str, Any]):
    """The commands of the files ``<name>_command.py``, imported at first use because imports are slow.

    Such a file defines a function with the name of the command, or a typer ``app``.
    """

    def __init__(self) -> None:
        modules = (module.name.rpartition("_") for module in pkgutil.iter_modules(__path__))
        self._names = [name for name, _, suffix in modules if suffix == "command"]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> Any:
        """Import the command. Raise `KeyError` if there is none."""
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
    """A group of commands in which ``logdoctor FILE`` means ``logdoctor diagnose FILE``."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = Commands()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert ``diagnose`` if a file or a pipe is given without a command."""
        piped = not args and not ctx.resilient_parsing and not sys.stdin.isatty()  # shells call this to complete words
        named = args and (args[0] in self.commands or args[0] in OWN_OPTIONS)
        is_input = args and (args[0].startswith("-") or set("./*") & set(args[0]) or os.path.lexists(args[0]))
        if piped or (is_input and not named):
            args = ["diagnose", *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Report an error of the system, such as a full disk, without a traceback."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except OSError as error:
            raise typer.Exit(report_os_error(error)) from None
        return result


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
    """Run the command line on ``args`` (default: the arguments of the process) and exit."""
    _replace_closed_streams()
    gc.set_threshold(OBJECTS_BEFORE_COLLECTION)
    atexit.register(gc.freeze)  # a last collection of garbage would take 20 ms
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a title in Chinese must not end `rules list` on an ASCII terminal
    return app(args)


def _replace_closed_streams() -> None:
    """Open the null device for standard streams that are closed (``<&-``, ``>&-``, some daemons)."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - to the end
