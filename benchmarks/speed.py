"""CPU seconds of an installed logdoctor beside ripgrep, which counts the lines that hold one of the same texts.

    python benchmarks/speed.py [--runs 9] [--gib] [--log LOG] [--only WORD] [--folder FOLDER]

Builds the wheel of this tree and installs it into a virtual environment, with byte code. Each contest runs its programs
by turns, so that a busy machine slows all of them. The least of the runs counts: user and system time of the process.
This program stays small, because on Linux the peak memory of a child starts with that of its parent.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
MIB = 1 << 20
SLOW_MIB, SLOW_RUNS = 256, 3
"""From this size on, and for runs that compile the texts, a few runs must do."""


@dataclass
class Program:
    """A program of a contest, with the figures of its runs."""

    name: str
    command: list[str]
    cache: str = "warm"  # fresh: made anew for each run, none: nothing can be kept
    bar: float | None = None  # as a share of the seconds of the first program
    stdin: Path | None = None
    seconds: list[float] = field(default_factory=list)
    mib: float = 0


def main() -> None:
    options = _options()
    if options.folder:
        options.folder.mkdir(parents=True, exist_ok=True)
        _compare(options.folder.resolve(), options)
        return
    with tempfile.TemporaryDirectory(prefix="logdoctor-bench-") as folder:
        _compare(Path(folder), options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--gib", action="store_true", help="also a log of 1 GiB")
    parser.add_argument("--log", type=Path, help="the log of the contests of 1 MiB, instead of one of our own making")
    parser.add_argument("--only", default="", help="contests whose title holds this word")
    parser.add_argument("--folder", type=Path, help="keep the environment and the logs here for the next time")
    return parser.parse_args()


def _compare(folder: Path, options: argparse.Namespace) -> None:
    python = _install(folder)
    texts = folder / "texts.txt"
    texts.write_bytes(subprocess.check_output([python, HERE / "forms.py", "--texts"], env=_environment(folder, "warm")))
    print(f"{len(texts.read_bytes().splitlines())} texts, {options.runs} runs\n", flush=True)
    for title, runs, programs in _contests(folder, python.parent, texts, options):
        if options.only in title:
            _compete(title, runs, programs, folder)


def _install(folder: Path) -> Path:
    """Install this tree into ``folder``. Return the path of the Python there."""
    python = folder / "venv/bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for how in ([], ["--force-reinstall", "--no-deps"]):  # what it needs, then this tree in place of an older one
        subprocess.run([*pip, *how, HERE.parent], check=True, env=_environment(folder, "warm"))
    shutil.rmtree(folder / "warm", ignore_errors=True)
    place = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(subprocess.check_output([python, "-c", place], text=True).strip())
    packages = [p for p in site.iterdir() if not p.name.startswith(("pip", "setuptools"))]
    size = sum(f.lstat().st_size for p in packages for f in (p.rglob("*") if p.is_dir() else [p]))
    count = sum(p.suffix == ".dist-info" for p in packages)
    print(f"installed: {size / 1e6:.1f} MB in {count} packages (bar: 50 MB, 18 packages)")
    return python


def _contests(
    folder: Path, binaries: Path, texts: Path, options: argparse.Namespace
) -> Iterator[tuple[str, int, list[Program]]]:
    doctor = str(binaries / "logdoctor")

    def rg(log: Path) -> Program:
        return Program("rg -F, same texts", ["rg", "-c", "-F", "-f", str(texts), str(log)])

    help_ = Program("logdoctor --help", [doctor, "--help"], bar=6)
    yield "help", options.runs, [Program("bare python", [str(binaries / "python"), "-c", "pass"]), help_]
    small = options.log.resolve() if options.log else _log(folder, 1)
    warm = [
        Program("logdoctor", [doctor, str(small)], bar=1.5),
        Program("logdoctor -q", [doctor, "-q", str(small)], bar=1.5),
        Program("cat | logdoctor", [doctor], bar=1.5, stdin=small),
    ]
    yield "1 MiB, warm", options.runs, [rg(small), *warm]
    first = Program("first run", [doctor, str(small)], "fresh", bar=10)
    nothing_kept = Program("nothing kept", [doctor, str(small)], "none", bar=10)
    yield "1 MiB, first run (peak: 90 MiB)", min(options.runs, SLOW_RUNS), [rg(small), first, nothing_kept]
    middle = _log(folder, 64)
    packed = middle.with_suffix(".log.gz")
    if not packed.exists():
        subprocess.run(["gzip", "--keep", middle], check=True)
    plain = Program("logdoctor, plain", [doctor, str(middle)])
    yield "64 MiB, gzip", min(options.runs, SLOW_RUNS), [plain, Program("gzip", [doctor, str(packed)], bar=1.2)]
    for mib in (256, 1024)[: 1 + options.gib]:
        log = _log(folder, mib)
        yield f"{mib} MiB", min(options.runs, SLOW_RUNS), [rg(log), Program("logdoctor", [doctor, str(log)], bar=1)]


def _log(folder: Path, mib: int) -> Path:
    log = folder / f"{mib}.log"
    if not log.exists():
        subprocess.run([sys.executable, HERE / "biglog.py", log, str(mib)], check=True)
    return log


def _compete(title: str, runs: int, programs: list[Program], folder: Path) -> None:
    for program in programs:
        if program.cache == "warm":
            _run(program, folder)  # fills the cache
            program.seconds, program.mib = [], 0
    for _ in range(runs):
        for program in programs:
            _run(program, folder)
    print(title)
    first = min(programs[0].seconds)
    for program in programs:
        least = min(program.seconds)
        bar = f"  (bar: {program.bar:g} x)" if program.bar else ""
        print(f"  {program.name:20} {least:8.3f} s  {least / first:6.2f} x  peak {program.mib:4.0f} MiB{bar}")
    print(flush=True)


def _run(program: Program, folder: Path) -> None:
    if program.cache == "fresh":
        shutil.rmtree(folder / "fresh", ignore_errors=True)
    writer = subprocess.Popen(["cat", program.stdin], stdout=subprocess.PIPE) if program.stdin else None
    process = subprocess.Popen(
        program.command,
        stdin=writer.stdout if writer else subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=_environment(folder, program.cache),
        cwd=folder,
    )
    if writer and writer.stdout:
        writer.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if writer:
        writer.wait()
    if process.returncode:
        raise SystemExit(f"{program.name} ended with {process.returncode}: {' '.join(program.command)}")
    program.seconds.append(usage.ru_utime + usage.ru_stime)
    program.mib = max(program.mib, usage.ru_maxrss / 1024)  # pages of mapped files included


def _environment(folder: Path, cache: str) -> dict[str, str]:
    """Return the variables of a user's shell, without those that change how Python starts."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    kept = "" if cache == "none" else str(folder / cache)
    return {**variables, "LOGDOCTOR_CACHE": kept, "LOGDOCTOR_CONFIG": "", "LC_ALL": "C.UTF-8"}


if __name__ == "__main__":
    main()
