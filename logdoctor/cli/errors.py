"""Errors as the command line prints them, and their exit codes."""

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
def report_errors() -> Iterator[None]:
    """Print errors, then exit: 3 for unreadable input, 2 for faulty rules."""
    from logdoctor.model import InputError, RulesError

    try:
        yield
    except InputError as error:
        print_error(error)
        raise typer.Exit(3) from None
    except RulesError as error:
        for fault in error.errors:
            print_error(fault)
        raise typer.Exit(2) from None


def print_error(error: LogdoctorError) -> None:
    from logdoctor.model.escape import escape

    typer.echo("logdoctor: " + "\n".join(map(escape, str(error).splitlines())), err=True)


def print_problems(problems: Iterable[Problem]) -> None:
    from logdoctor.model import LogdoctorError

    for problem in problems:
        print_error(LogdoctorError(problem.what, problem.where, problem.why, problem.help))


def report_os_error(error: OSError) -> int:
    """Print an error of the system and return the exit code. A closed pipe (``| head``) is no error."""
    from logdoctor.model import InputError

    try:
        sys.stdout.flush()
    except OSError:  # else the interpreter would try to flush again when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return 0
    print_error(InputError("cannot go on", str(error.filename or ""), error.strerror or str(error)))
    return 3
