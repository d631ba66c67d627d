"""Run a command, pass its output through unchanged, and keep it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

CHUNK = 1 << 16
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
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None  # noqa: S101 - pipes were asked for
    assert process.stderr is not None  # noqa: S101
    with _forward_signals(process):
        pumps = [
            threading.Thread(target=_pump, args=(source, target, folder / name), daemon=True)
            for source, target, name in (
                (process.stdout, sys.stdout.buffer, STREAMS[0]),
                (process.stderr, sys.stderr.buffer, STREAMS[1]),
            )
        ]
        for pump in pumps:
            pump.start()
        code = process.wait()
        for pump in pumps:
            pump.join()
    (folder / END).write_text(_end_of(process.pid, code), "utf-8")
    return 128 - code if code < 0 else code


def _pump(source: IO[bytes], target: IO[bytes], file: Path) -> None:
    """Pass bytes through at once, and keep them as long as the disk does."""
    kept: IO[bytes] | None = file.open("wb", buffering=0)
    reads = getattr(source, "read1", source.read)
    closed = False
    while chunk := reads(CHUNK):
        if not closed:
            try:
                target.write(chunk)
                target.flush()
            except (BrokenPipeError, ValueError):  # nobody reads any more; the command goes on
                closed = True
        if kept is not None:
            try:
                kept.write(chunk)
            except OSError:  # the disk is full; the output still passes
                kept = None
    if kept is not None:
        kept.close()


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
            return int(number), int(count), os.environ.get(job, "job")
    return 0, 1, ""
