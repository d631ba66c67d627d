"""``logdoctor completion``: print the script with which a shell completes our words."""

from __future__ import annotations

from typing import Annotated

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]  # imported there for others

from logdoctor.cli.choices import among
from logdoctor.cli.words import require

SHELLS = ("bash", "zsh", "fish")
Shell = Annotated[str, typer.Argument(help="bash, zsh or fish.", autocompletion=among(SHELLS))]


def completion(shell: Shell) -> None:
    """Print the completion script of a shell: source <(logdoctor completion bash).

    Exit codes: 0 it is printed, 2 wrong usage.
    """
    require(shell, SHELLS, "SHELL")
    typer.echo(get_completion_script(prog_name="logdoctor", complete_var="_LOGDOCTOR_COMPLETE", shell=shell))
