"""``logdoctor completion``: print the script with which a shell completes our words."""

from __future__ import annotations

from typing import Annotated

import typer
from typer.completion import shell_complete

from logdoctor.cli.words import require

SHELLS = ("bash", "zsh", "fish")
Shell = Annotated[str, typer.Argument(help="bash, zsh or fish.")]


def completion(ctx: typer.Context, shell: Shell) -> None:
    """Print the completion script of a shell: source <(logdoctor completion bash).

    Exit codes: 0 it is printed, 2 wrong usage.
    """
    require(shell, SHELLS, "SHELL")
    shell_complete(ctx.find_root().command, {}, "logdoctor", "_LOGDOCTOR_COMPLETE", f"source_{shell}")
