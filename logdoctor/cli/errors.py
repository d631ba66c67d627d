"""Errors as the command line prints them, and their exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

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
        raise SystemExit(3) from None
    except RulesError as error:
        for fault in error.errors:
            print_error(fault)
        raise SystemExit(2) from None


def print_error(error: LogdoctorError) -> None:
    from logdoctor.model.escape import escape

    sys.stderr.write("logdoctor: " + "\n".join(map(escape, str(error).splitlines())) + "\n")


def print_problems(problems: Iterable[Problem]) -> None:
    from logdoctor.model import LogdoctorError

    for problem in problems:
        print_error(LogdoctorError(problem.what, problem.where, problem.why, problem.help))


def wrong_usage(what: str, option: str) -> Exception:
    """Return the error that typer reports, with the usage of the command."""
    import typer

    return typer.BadParameter(what, param_hint=option)


@contextmanager
def report_os_errors() -> Iterator[None]:
    """Flush the output. Print an error of the system, such as a full disk, without a traceback, then exit."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        raise SystemExit(_report_os_error(error)) from None


def _report_os_error(error: OSError) -> int:
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
