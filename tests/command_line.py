"""The command line as the tests call it: in this process, as a program of its own, on a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

from failing_job import VALIDATOR
from typer.testing import CliRunner

from logdoctor.cli import app

RUN = CliRunner()


def call(*args: object, stdin: str | None = None, code: int = 0):
    """Run the command line in this process and give what came of it; its exit code must be ``code``."""
    result = RUN.invoke(app, [str(a) for a in args], input=stdin, prog_name="logdoctor")
    assert result.exit_code == code, (result.output, result.exception)
    return result


def report(*args: object, **options) -> dict:
    found = json.loads(call("diagnose", "--format", "json", *args, **options).stdout)
    VALIDATOR.validate(found)
    return found


def program(*args: object, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run it as a program of its own."""
    command = [sys.executable, "-m", "logdoctor", *map(str, args)]
    return subprocess.run(command, input=stdin, capture_output=True, env={**os.environ, **env}, check=False, timeout=60)


def terminal(*args: object, errors: bool = True, **env: str) -> bytes:
    """What it prints where standard output is a terminal; without ``errors``, and so without its progress, on it."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "logdoctor", *map(str, args)]
    where = {"stdin": theirs, "stdout": theirs, "stderr": theirs if errors else subprocess.DEVNULL}
    with subprocess.Popen(command, **where, env={**os.environ, **env}) as process:
        os.close(theirs)
        out = b""
        while piece := _read(ours):
            out += piece
        process.wait(60)
    os.close(ours)
    return out + b"\nexit %d" % process.returncode


def _read(ours: int) -> bytes:
    try:
        return os.read(ours, 1 << 16)
    except OSError:  # Linux says EIO where the other end is closed
        return b""
