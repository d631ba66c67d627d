"""The commands and their options, read by typer."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from inspect import cleandoc
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from logdoctor import cli
from logdoctor.cli.config_options import add_config_options
from logdoctor.cli.errors import report_os_errors
from logdoctor.cli.words import propose
from logdoctor.pack.module_names import module_names
from logdoctor.version import __version__

BRIEF = """\
logdoctor says what went wrong first in a distributed-training job, on which
rank and host, how we know, and what to do.

  logdoctor slurm-48213.out           diagnose a log; several files are one job
  logdoctor JOB_FOLDER/               a folder is one job
  cat crash.log | logdoctor --json    a pipe; the answer for a program

All commands and options: logdoctor --help"""
FOR_AUTHORS = ("evaluate", "rules", "train")
OWN_OPTIONS = {"--help", "--version", "--install-completion", "--show-completion"}


class Commands(Mapping[str, Any]):
    """The commands of the files ``<name>_command.py``, imported at first use because imports are slow.

    Such a file defines a function with the name of the command, or a typer ``app``.
    """

    def __init__(self) -> None:
        modules = (name.rpartition("_") for name in module_names(cli.__path__))
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
        module = self._module(name)
        own = getattr(module, "app", None) or typer.Typer(add_completion=False, rich_markup_mode=None)
        if not own.registered_commands:
            own.command(name)(getattr(module, name))
        command = typer.main.get_command(own)
        command.name = name
        add_config_options(command)
        return command

    def help_text(self, name: str) -> str:
        """Return the help of a command without its options, because to build these takes 2 ms a command."""
        module = self._module(name)
        return str(getattr(module, name).__doc__ if hasattr(module, name) else module.app.info.help)

    def _module(self, name: str) -> ModuleType:
        return importlib.import_module(f"{cli.__name__}.{name}_command")


class DiagnoseByDefault(TyperGroup):
    """A group of commands in which ``logdoctor FILE`` means ``logdoctor diagnose FILE``."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = Commands()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert ``diagnose`` if a file or a pipe is given without a command. Nothing at all gets a few examples."""
        if not args and not ctx.resilient_parsing and sys.stdin.isatty():
            typer.echo(BRIEF, err=True)
            raise typer.Exit(2)
        piped = not args and not ctx.resilient_parsing  # shells call this to complete words
        named = args and (args[0] in self.commands or args[0] in OWN_OPTIONS)
        is_input = args and (cli.names_input(args[0]) or os.path.lexists(args[0]))
        if piped or (is_input and not named):
            args = ["diagnose", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete the options of ``diagnose`` too, because its name may be left out."""
        items: list[Any] = super().shell_complete(ctx, incomplete)
        return [*items, *self.commands["diagnose"].shell_complete(ctx, incomplete)] if incomplete[:1] == "-" else items

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Report an error of the system, such as a full disk, without a traceback."""
        with report_os_errors(), _propose_options():
            return super().invoke(ctx)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands by their help texts, those for authors last."""
        del ctx
        width = max(map(len, self.commands))
        for title, wanted in (("Commands", False), ("For your own rules and cases", True)):
            names = [name for name in self.commands if (name in FOR_AUTHORS) == wanted]
            texts = (TyperCommand(name, help=cleandoc(self.commands.help_text(name))) for name in names)
            rows = [
                (str(text.name).ljust(width), text.get_short_help_str(formatter.width - width - 6)) for text in texts
            ]
            with formatter.section(title):
                formatter.write_dl(rows)


@contextmanager
def _propose_options() -> Iterator[None]:
    """Add similar options to the error about an unknown one. Those that click finds may share one letter only."""
    try:
        yield
    except Exception as error:
        name, context = getattr(error, "option_name", ""), getattr(error, "ctx", None)
        if name and context is not None and hasattr(error, "possibilities"):
            names = [n for option in context.command.params for n in option.opts if n.startswith("--")]
            hint = propose(name, names, 2)
            from logdoctor.model.escape import escape

            error.possibilities = None
            error.message = f"No such option: {escape(name)}" + (f"; {hint}" if hint else "")  # type: ignore[attr-defined]
        raise


app = typer.Typer(
    cls=DiagnoseByDefault,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Say what went wrong first in a distributed-training job, where, with which proof, and what to do.\n\n"
    "logdoctor FILE...            diagnose a job: its files, or its folder\n\n"
    "cat crash.log | logdoctor    diagnose what a job printed",
)


def _version(wanted: bool) -> None:  # noqa: FBT001 - typer hands it over by position
    if wanted:
        typer.echo(f"logdoctor {__version__}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")]


@app.callback()
def top(version: Version = False) -> None:
    """Hold the options that stand before a command."""
