"""Runs the command line for tests: in this process, as a program, on a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

from failing_job import VALIDATOR
from typer.testing import CliRunner

from logdoctor.cli.commands import app

RUN = CliRunner()


def call(*args: object, stdin: str | None = None, code: int = 0):
    """Run the command line in this process and return its result.  The exit code must be ``code``."""
    result = RUN.invoke(app, [str(a) for a in args], input=stdin, prog_name="logdoctor")
    assert result.exit_code == code, (result.output, result.exception)
    return result


def report(*args: object, **options) -> dict:
    diagnosis = json.loads(call("diagnose", "--format", "json", *args, **options).stdout)
    VALIDATOR.validate(diagnosis)
    return diagnosis


def program(*args: object, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command line as a program."""
    command = [sys.executable, "-m", "logdoctor", *map(str, args)]
    return subprocess.run(command, input=stdin, capture_output=True, env={**os.environ, **env}, check=False, timeout=60)


def terminal(*args: object, errors: bool = True, **env: str) -> bytes:
    """Run the command line on a terminal and return its output.

    Without ``errors`` standard error is discarded, and so is the progress bar.
    """
    parent_end, child_end = pty.openpty()
    command = [sys.executable, "-m", "logdoctor", *map(str, args)]
    streams = {"stdin": child_end, "stdout": child_end, "stderr": child_end if errors else subprocess.DEVNULL}
    with subprocess.Popen(command, **streams, env={**os.environ, **env}) as process:
        os.close(child_end)
        output = b""
        while chunk := _read(parent_end):
            output += chunk
        process.wait(60)
    os.close(parent_end)
    return output + b"\nexit %d" % process.returncode


def _read(parent_end: int) -> bytes:
    try:
        return os.read(parent_end, 1 << 16)
    except OSError:  # Linux reports EIO if the other end is closed
        return b""
