"""Speed and memory beside ripgrep with the same patterns, on one core.

    python benchmarks/speed.py [--log FILE | --mib 1024] [--patterns FILE] [--rounds 3] [--core 0]

Every contest alternates its programs round by round, so that a busy machine slows all of them. Medians are printed.
This program stays small, because on Linux the peak memory of a child starts with that of its parent.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

HERE = Path(__file__).parent
PYTHON = sys.executable
DOCTOR = [PYTHON, "-m", "logdoctor"]


@dataclass
class Rival:
    """A program of a contest, with the seconds and MiB of its runs."""

    name: str
    command: Sequence[str]
    stdin: Path | None = None
    seconds: list[float] = field(default_factory=list)
    mib: list[float] = field(default_factory=list)


def main() -> None:
    options = _options()
    with _inputs(options) as (log, forms):
        for title, rivals in _contests(log, forms):
            _compete(title, rivals, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path, help="the large log; default: one of our own making")
    parser.add_argument("--mib", type=int, default=1024, help="size of the log of our own making")
    parser.add_argument(
        "--patterns", type=Path, help="one pattern a line for ripgrep and the scan; default: all of ours"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--core", default="0", help="the processor to pin to")
    return parser.parse_args()


@contextmanager
def _inputs(options: argparse.Namespace) -> Iterator[tuple[Path, Path]]:
    """Yield the large log and the file of patterns, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="logdoctor-bench-") as folder:
        log, forms = options.log, options.patterns
        if log is None:
            log = Path(folder) / "big.log"
            subprocess.run([PYTHON, str(HERE / "biglog.py"), str(log), str(options.mib)], check=True)
        if forms is None:
            forms = Path(folder) / "forms.txt"
            with forms.open("wb") as out:
                subprocess.run([PYTHON, str(HERE / "forms.py")], check=True, stdout=out)
        patterns = len(forms.read_text().splitlines())
        print(f"{log.stat().st_size / 2**20:.0f} MiB, {patterns} patterns, {options.rounds} rounds\n")
        yield log, forms


def _contests(log: Path, forms: Path) -> Iterator[tuple[str, list[Rival]]]:
    # -a: the scan too reads what looks like a binary file
    rg = ["rg", "-a", "-j1", "-c", "-f", str(forms)]
    scan = [PYTHON, str(HERE / "scan_only.py")]
    yield (
        "a large file",
        [
            Rival("ripgrep", [*rg, str(log)]),
            Rival("scan alone", [*scan, str(forms), str(log)]),
            Rival("diagnose", [*DOCTOR, "diagnose", str(log)]),
        ],
    )
    yield (
        "the same through a pipe",
        [
            Rival("ripgrep", [*rg, "-"], log),
            Rival("diagnose", [*DOCTOR, "diagnose", "-"], log),
        ],
    )
    with tempfile.TemporaryDirectory(prefix="logdoctor-bench-") as folder:
        yield from _small_contests(Path(folder), log, forms, rg, scan)


def _small_contests(
    folder: Path, log: Path, forms: Path, rg: list[str], scan: list[str]
) -> Iterator[tuple[str, list[Rival]]]:
    part, small, packed = folder / "part.log", folder / "small.log", folder / "part.log.gz"
    with part.open("wb") as plain, gzip.open(packed, "wb", 6) as zipped, small.open("wb") as little:
        _copy(log, plain, 64)
        _copy(log, zipped, 64)
        _copy(log, little, 1)
    yield (
        "64 MiB, gzip",
        [
            Rival("ripgrep -z", [*rg, "-z", str(packed)]),
            Rival("diagnose", [*DOCTOR, "diagnose", str(packed)]),
        ],
    )
    dense = folder / "dense.txt"
    dense.write_text(forms.read_text() + "[0-9a-z] [a-zA-Z]+ ?[a-zA-Z:=|%]{3}\n" + "INFO\n")
    yield (
        "64 MiB, a pattern on nearly every line",
        [
            Rival("scan, as it is", [*scan, str(forms), str(part)]),
            Rival("scan, dense", [*scan, str(dense), str(part)]),
        ],
    )
    yield (
        "a small file (1 MiB)",
        [
            Rival("ripgrep", [*rg, str(small)]),
            Rival("diagnose", [*DOCTOR, "diagnose", str(small)]),
        ],
    )
    yield (
        "help",
        [
            Rival("bare python", [PYTHON, "-c", "pass"]),
            Rival("logdoctor --help", [*DOCTOR, "--help"]),
        ],
    )


def _copy(log: Path, out: IO[bytes] | gzip.GzipFile, mib: int) -> None:
    with log.open("rb") as file:
        for _ in range(mib):
            out.write(file.read(1 << 20))


def _compete(title: str, rivals: list[Rival], options: argparse.Namespace) -> None:
    for rival in rivals:
        _run(rival, options.core)  # warms caches, not counted
    for _ in range(options.rounds):
        for rival in rivals:
            seconds, mib = _run(rival, options.core)
            rival.seconds.append(seconds)
            rival.mib.append(mib)
    print(title)
    first = statistics.median(rivals[0].seconds)
    for rival in rivals:
        median = statistics.median(rival.seconds)
        print(f"  {rival.name:20} {median:8.3f} s  {median / first:6.2f} x  peak {max(rival.mib):6.0f} MiB")
    print(flush=True)


def _run(rival: Rival, core: str) -> tuple[float, float]:
    """Run a program. Return wall time in seconds and peak memory in MiB, mapped pages included."""
    pinned = ["taskset", "-c", core] if shutil.which("taskset") else []
    writer = subprocess.Popen(["cat", str(rival.stdin)], stdout=subprocess.PIPE) if rival.stdin else None
    begin = time.perf_counter()
    process = subprocess.Popen(
        [*pinned, *rival.command], stdin=writer.stdout if writer else subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    if writer and writer.stdout:
        writer.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if writer:
        writer.wait()
    if process.returncode not in {0, 1}:  # 1: nothing found, or a failure diagnosed
        raise SystemExit(f"{rival.name} ended with {process.returncode}: {' '.join(rival.command)}")
    return seconds, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
