"""The command line. Only this room prints or exits.

Exit codes:

- 0: an answer was given, with any verdict
- 1: failed, stopped or unknown with ``--exit-code``, or a failed check of ``rules``
- 2: wrong usage
- 3: an input is missing, empty or unreadable, or the output could not be written
- 4: no end seen or nothing to judge with ``--exit-code``
- 10 to 15: the decision, with ``--exit-decision``
- 70: an error of logdoctor itself; a file holds its traceback (``LOGDOCTOR_DEBUG=1`` prints it)
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

OBJECTS_BEFORE_COLLECTION = 100_000
"""A start makes as many objects, and none of them is garbage."""


class PlainCall(NamedTuple):
    """A call of ``diagnose`` with paths and ``--quiet`` only."""

    paths: list[str]
    quiet: bool


def run(args: Sequence[str] | None = None) -> Any:
    """Run the command line on ``args`` (default: the arguments of the process) and exit."""
    gc.set_threshold(OBJECTS_BEFORE_COLLECTION)
    atexit.register(gc.freeze)  # a last collection of garbage would take 20 ms
    _replace_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a title in Chinese must not end `rules list` on an ASCII terminal
    try:
        call = read_plain_call(sys.argv[1:] if args is None else args)
        if call is not None and "_LOGDOCTOR_COMPLETE" not in os.environ:  # a shell asks typer to complete words
            _diagnose(call)
        from logdoctor.cli.commands import app

        return app(args, prog_name="logdoctor")
    except Exception as error:
        from logdoctor.model.own_errors import is_debugging

        if is_debugging():
            raise
        from logdoctor.cli.errors import report_own_error

        raise SystemExit(report_own_error(error)) from None


def read_plain_call(args: Sequence[str]) -> PlainCall | None:
    """Return the call of ``diagnose`` that ``args`` stand for, or None if typer must read them."""
    if args and args[0] == "diagnose":
        args = args[1:]
    elif args and not names_input(args[0]):
        return None
    paths = [arg for arg in args if arg == "-" or not arg.startswith("-")]
    quiet = len(paths) < len(args)
    if not {*args} <= {*paths, "-q", "--quiet"} or (not paths and sys.stdin.isatty()) or _has_settings():
        return None
    return PlainCall(paths, quiet)


def names_input(arg: str) -> bool:
    """Return True if the first argument looks like an option or a path. No command has a dot, a slash or a star."""
    return arg.startswith("-") or not {*"./*"}.isdisjoint(arg)


def _has_settings() -> bool:
    """Return True if a file of settings must be read, or named because it is not used."""
    from logdoctor.cli.settings import LOCAL_FILE, find_file

    return find_file() is not None or os.path.exists(LOCAL_FILE)  # noqa: PTH110 - pathlib is slower


def _diagnose(call: PlainCall) -> None:
    """Diagnose and exit. Return on wrong usage, which typer reports.

    This does what ``logdoctor diagnose`` does, but does not import typer, which takes 25 ms.
    """
    from logdoctor.cli.diagnosing import diagnose
    from logdoctor.cli.errors import report_os_errors

    try:
        with report_os_errors():
            diagnose(call.paths, quiet=call.quiet)
    except KeyboardInterrupt:
        raise SystemExit(128 + signal.SIGINT) from None
    except Exception as error:
        from typer import BadParameter

        if not isinstance(error, BadParameter):
            raise
    else:
        raise SystemExit(0)


def _replace_closed_streams() -> None:
    """Open the null device for standard streams that are closed (``<&-``, ``>&-``, some daemons)."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - to the end
