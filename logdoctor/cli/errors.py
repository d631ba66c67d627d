"""Errors as the command line prints them, and their exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

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


def report_own_error(error: Exception) -> int:
    """Print an error of logdoctor in two lines, and return the exit code. The traceback goes to a file."""
    from logdoctor.model import LogdoctorError
    from logdoctor.model.own_errors import DEBUG, describe

    details = _write_details(error)
    where = f"with {details}, which holds the details" if details else f"with what {DEBUG}=1 prints"
    print_error(LogdoctorError(f"this is an error of logdoctor: {describe(error)}", help=f"please report it {where}"))
    return 70


def _write_details(error: Exception) -> str:
    """Write version and traceback to a temporary file. Return its name, or "" if no file can be written."""
    import platform
    import tempfile
    import traceback

    from logdoctor.version import __version__

    head = f"logdoctor {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", errors="replace", prefix="logdoctor-", suffix=".txt", delete=False
        ) as file:
            file.write(head + "".join(traceback.format_exception(error)))
    except OSError:
        return ""
    return file.name


def refuse_output(file: Path, error: OSError) -> NoReturn:
    """Print that an output cannot be written, then exit with 3."""
    from logdoctor.model import InputError

    print_error(InputError("cannot be written", str(file), error.strerror or str(error)))
    raise SystemExit(3) from None


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
