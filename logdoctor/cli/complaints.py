"""What ends a command: the error as a person reads it, and its exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from logdoctor.model import LogdoctorError, Problem


@contextmanager
def complaints() -> Iterator[None]:
    """End with 3 where nothing could be read, with 2 where rules are faulty, and say why on standard error."""
    from logdoctor.model import InputError, RulesError

    try:
        yield
    except InputError as error:
        complain(error)
        raise typer.Exit(3) from None
    except RulesError as error:
        for fault in error.errors:
            complain(fault)
        raise typer.Exit(2) from None


def complain(error: LogdoctorError) -> None:
    """Say on standard error what is wrong."""
    from logdoctor.model.escape import escape

    typer.echo("logdoctor: " + "\n".join(map(escape, str(error).splitlines())), err=True)


def complain_of(problems: Iterable[Problem]) -> None:
    """Say on standard error what could not be read, or which rules are faulty."""
    from logdoctor.model import LogdoctorError

    for one in problems:
        complain(LogdoctorError(one.what, one.where, one.why, one.help))


def broken_off(error: OSError) -> int:
    """The exit code of a command that the system did not let read or write; standard error says why."""
    from logdoctor.model import InputError

    try:
        sys.stdout.flush()
    except OSError:  # nothing more can be written there: the interpreter must not try it again when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):  # `| head` has seen enough
        return 0
    complain(InputError("cannot go on", str(error.filename or ""), error.strerror or str(error)))
    return 3
