"""``logdoctor completion``: print the script with which a shell completes our words."""

from __future__ import annotations

from typing import Annotated

import typer

from logdoctor.cli.words import require

SHELLS = ("bash", "zsh", "fish")
Shell = Annotated[str, typer.Argument(help="bash, zsh or fish.")]


def completion(shell: Shell) -> None:
    """Print the completion script of a shell: source <(logdoctor completion bash).

    Exit codes: 0 it is printed, 2 wrong usage.
    """
    from typer._completion_shared import get_completion_script  # what --show-completion prints

    require(shell, SHELLS, "SHELL")
    typer.echo(get_completion_script(prog_name="logdoctor", complete_var="_LOGDOCTOR_COMPLETE", shell=shell))
