"""Run a command, pass its output through unchanged, and keep it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import IO, cast

CHUNK = 1 << 20
"""Bytes that are read at once, and that the pipe of the command holds where the system allows it."""
LEFT_BEHIND = 2.0
"""Seconds without a byte after the end of the command, after which nobody waits for its output any more."""
FORWARDED = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT", "SIGCONT")
    if hasattr(signal, name)
)
STREAMS = ("stdout.log", "stderr.log")
END = "wrapper.log"
"""Names of the files in the folder of a command. The end is read last."""


def run_command(command: Sequence[str], folder: Path) -> int:
    """Run the command and keep its output in ``folder``. Return its exit code, 128 + n if signal n ended it.

    Raises OSError if it cannot be started.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / END).unlink(missing_ok=True)  # of a command that was started before
    process = subprocess.Popen(command, bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = cast("FileIO", process.stdout), cast("FileIO", process.stderr)  # pipes without a buffer
    with _forward_signals(process):
        pumps = [
            Pump(out, sys.stdout.buffer, folder / STREAMS[0]),
            Pump(err, sys.stderr.buffer, folder / STREAMS[1]),
        ]
        code = process.wait()
        for pump in pumps:
            pump.finish()
    (folder / END).write_text(_end_of(process.pid, code), "utf-8")
    return 128 - code if code < 0 else code


class Pump(threading.Thread):
    """Passes bytes through at once, and keeps them as long as the disk does."""

    def __init__(self, source: FileIO, target: IO[bytes], file: Path) -> None:
        super().__init__(daemon=True)
        self._source, self._target, self._file = source, target, file
        self._waits_since: float | None = None
        """The time since which it waits for bytes of the command, None while it writes."""
        self.start()

    def run(self) -> None:
        target: IO[bytes] | None = self._target
        chunk = memoryview(bytearray(CHUNK))
        _widen(self._source)
        with self._file.open("wb", buffering=0) as file:
            kept: IO[bytes] | None = file
            while size := self._read(chunk):
                target, kept = _write(chunk[:size], target), _write(chunk[:size], kept)

    def finish(self) -> None:
        """Wait for the last bytes. A process that the command left behind may hold the pipe for ever."""
        while self.is_alive():
            self.join(0.1)
            if self._waits_since is not None and time.monotonic() - self._waits_since > LEFT_BEHIND:
                return

    def _read(self, chunk: memoryview) -> int:
        self._waits_since = time.monotonic()
        size = self._source.readinto(chunk) or 0
        self._waits_since = None
        return size


def _widen(pipe: FileIO) -> None:
    """Let the pipe hold more, so that command and wrapper take turns less often. Linux only, and up to its limits."""
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, CHUNK)


def _write(chunk: memoryview, sink: IO[bytes] | None) -> IO[bytes] | None:
    """Write to the sink. Return None if it is gone: a reader that went away or a full disk must not end the command."""
    if sink is None:
        return None
    try:
        sink.write(chunk)
        sink.flush()
    except (OSError, ValueError):
        return None
    return sink


@contextmanager
def _forward_signals(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Pass signals on. The command decides what they do; at a terminal it gets SIGINT and SIGQUIT by itself."""

    def forward(number: int, _frame: object) -> None:
        if not (number in (signal.SIGINT, signal.SIGQUIT) and sys.stdin is not None and sys.stdin.isatty()):
            process.send_signal(number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, forward) for number in FORWARDED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_of(pid: int, code: int) -> str:
    """Return how the command ended, as a line that the formats know."""
    if code >= 0:
        return f"[launcher] process {pid} finished with exit code {code}\n"
    return f"[launcher] process {pid} terminated by signal {-code} ({signal.Signals(-code).name})\n"


def node_of_job() -> tuple[int, int, str]:
    """Return the number of this node, the number of nodes, and the name of the job, as launchers tell them."""
    for node, nodes, job in (
        ("SLURM_NODEID", "SLURM_NNODES", "SLURM_JOB_ID"),
        ("GROUP_RANK", "GROUP_WORLD_SIZE", "TORCHELASTIC_RUN_ID"),
        ("NODE_RANK", "NNODES", "JOB_ID"),
    ):
        number, count = os.environ.get(node, ""), os.environ.get(nodes, "")
        if number.isdecimal() and count.isdecimal() and int(count) > 1:
            return int(number), int(count), _name_of(os.environ.get(job, "job"))
    return 0, 1, ""


def _name_of(job: str) -> str:
    """Return the name of a job with its step and its restart, which keep logs of their own."""
    step, restart = os.environ.get("SLURM_STEP_ID", ""), os.environ.get("SLURM_RESTART_COUNT", "0")
    named = f"{job}.{step}" if step.isdecimal() else job
    return f"{named}-restart-{restart}" if restart.isdecimal() and int(restart) else named
