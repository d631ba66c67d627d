"""CPU seconds of an installed logdoctor beside ripgrep, which counts the lines that hold one of the same texts.

    python benchmarks/speed.py [--runs 9] [--gib] [--only WORD] [--record] [--keep FOLDER]
    python benchmarks/speed.py --log LOG --folder FOLDER     only these logs, and folders of one job

Builds the wheel of this tree and installs it into a virtual environment, with byte code. Each contest runs its programs
by turns, so that a busy machine slows all of them. The least of the runs counts: user and system time of the process.
This program stays small, because on Linux the peak memory of a child starts with that of its parent.

``--record`` appends the figures to results.tsv, beside the commit. ``tools/compare_speed.py`` compares the last two.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.tsv"
FEW, LEAST = 3, 2
"""Runs that must do for what takes seconds, and for what takes many."""


@dataclass
class Program:
    """A program of a contest, with the figures of its runs."""

    name: str
    command: list[str]
    cache: str = "warm"  # fresh: made anew for each run, none: nothing can be kept
    bar: float | None = None  # as a share of the seconds of the first program
    peak: int | None = None  # bar of the memory, MiB
    jobs: int = 1  # jobs or ranks: the seconds of one are compared
    rate: int | None = None  # bar of the jobs a second
    stdin: Path | None = None
    seconds: list[float] = field(default_factory=list)
    mib: float = 0

    @property
    def least(self) -> float:
        return min(self.seconds) / self.jobs


@dataclass(frozen=True)
class Contest:
    """Programs that do equal work. The first is the rival of all others."""

    title: str
    runs: int
    programs: Callable[[], list[Program]]  # makes the logs


def main() -> None:
    options = _options()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        _compare(options.keep.resolve(), options)
        return
    with tempfile.TemporaryDirectory(prefix="logdoctor-bench-") as folder:
        _compare(Path(folder), options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--gib", action="store_true", help="also a log of 1 GiB")
    parser.add_argument("--only", default="", help="contests whose title holds this word")
    parser.add_argument("--record", action="store_true", help=f"append the figures to {RESULTS.name}")
    parser.add_argument("--log", type=Path, action="append", default=[], help="measure this log; may be repeated")
    parser.add_argument("--folder", type=Path, action="append", default=[], help="measure this folder of one job")
    parser.add_argument("--keep", type=Path, help="keep the environment and the logs here for the next time")
    return parser.parse_args()


def _compare(folder: Path, options: argparse.Namespace) -> None:
    python = _install(folder)
    texts = folder / "texts.txt"
    texts.write_bytes(subprocess.check_output([python, HERE / "forms.py", "--texts"], env=_environment(folder, "warm")))
    print(f"{len(texts.read_bytes().splitlines())} texts, at most {options.runs} runs\n", flush=True)
    doctor = str(python.parent / "logdoctor")
    given = [*options.log, *options.folder]
    contests = [_given(path.resolve(), doctor, texts) for path in given] or _contests(folder, python.parent, texts)
    _run(Program("fills the cache", [doctor, str(HERE / "speed.py")]), folder)
    for contest in contests:
        if options.only in contest.title and (options.gib or "GiB" not in contest.title):
            programs = contest.programs()
            for _ in range(min(contest.runs, options.runs)):
                for program in programs:
                    _run(program, folder)
            _print(contest.title, programs)
            if options.record and not given:
                _record(contest.title, programs)


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


def _contests(folder: Path, binaries: Path, texts: Path) -> list[Contest]:
    doctor = str(binaries / "logdoctor")

    def made(kind: str, size: int) -> Path:
        path = folder / f"{kind}-{size}"
        if not path.exists():
            subprocess.run([sys.executable, HERE / "biglog.py", kind, path, str(size)], check=True)
        return path

    def against_rg(kind: str, size: int, bar: float, peak: int | None = None) -> Callable[[], list[Program]]:
        def programs() -> list[Program]:
            log = made(kind, size)
            return [_rg(texts, log), Program("logdoctor", [doctor, str(log)], bar=bar, peak=peak)]

        return programs

    def help_() -> list[Program]:
        bare = Program("bare python", [str(binaries / "python"), "-c", "pass"])
        return [bare, Program("logdoctor --help", [doctor, "--help"], bar=6)]

    def warm() -> list[Program]:
        log = made("crash", 1)
        return [
            _rg(texts, log),
            Program("logdoctor", [doctor, str(log)], bar=2.5),
            Program("logdoctor -q", [doctor, "-q", str(log)], bar=2.5),
            Program("cat | logdoctor", [doctor], bar=2.5, stdin=log),
        ]

    def first_run() -> list[Program]:
        log = made("crash", 1)
        first = Program("first run", [doctor, str(log)], "fresh", bar=10, peak=90)
        return [_rg(texts, log), first, Program("nothing kept", [doctor, str(log)], "none", bar=10, peak=90)]

    def packed() -> list[Program]:
        log = made("job", 64)
        packed = log.with_suffix(".gz")
        if not packed.exists():
            with packed.open("wb") as file:
                subprocess.run(["gzip", "--stdout", log], stdout=file, check=True)
        plain = Program("logdoctor, plain", [doctor, str(log)])
        return [plain, Program("gzip", [doctor, str(packed)], bar=1.2)]

    def rank() -> list[Program]:
        few, many = (Program(f"of {n:,}", [doctor, str(made("ranks", n))], jobs=n) for n in (64, 1024))
        many.bar = 1.25
        return [few, many]

    def jobs() -> list[Program]:
        place, count = made("folders", 500), 500
        scan = Program("scan", [doctor, "scan", str(place), "-w", "1", "-q"], jobs=count, rate=450)
        rival = _rg(texts, place)
        rival.jobs = count
        return [rival, scan]

    return [
        Contest("help", 9, help_),
        Contest("1 MiB, warm", 9, warm),
        Contest("1 MiB, first run", FEW, first_run),
        Contest("64 MiB, gzip", FEW, packed),
        Contest("256 MiB", FEW, against_rg("job", 256, 0.9, 64)),
        Contest("1 GiB", LEAST, against_rg("job", 1024, 0.7, 64)),
        Contest("64 rank files", FEW, against_rg("ranks", 64, 10)),
        Contest("1,024 rank files", LEAST, against_rg("ranks", 1024, 10, 128)),
        Contest("a rank", LEAST, rank),
        Contest("70 MB of joined logs", LEAST, against_rg("joined", 70, 12, 160)),
        Contest("280 MB of joined logs", LEAST, against_rg("joined", 280, 12, 160)),
        Contest("500 folders", FEW, jobs),
    ]


def _given(path: Path, doctor: str, texts: Path) -> Contest:
    return Contest(str(path), FEW, lambda: [_rg(texts, path), Program("logdoctor", [doctor, str(path)])])


def _rg(texts: Path, path: Path) -> Program:
    return Program("rg -F, same texts", ["rg", "-a", "-c", "--no-ignore", "-F", "-f", str(texts), str(path)])


def _print(title: str, programs: list[Program]) -> None:
    print(title)
    first = programs[0].least
    for program in programs:
        rate = f"  {1 / program.least:6.0f} a second" if program.rate else ""
        bars = [
            (program.bar, program.least / first, f"{program.bar} x"),
            (program.peak, program.mib, f"{program.peak} MiB"),
            (program.rate and 1 / program.rate, program.least, f"{program.rate} a second"),
        ]
        told = ", ".join(f"{text}{' MISSED' if value > bar else ''}" for bar, value, text in bars if bar)
        print(
            f"  {program.name:20} {min(program.seconds):8.3f} s  {program.least / first:6.2f} x  "
            f"peak {program.mib:4.0f} MiB{rate}{told and f'  (bar: {told})'}"
        )
    print(flush=True)


def _record(title: str, programs: list[Program]) -> None:
    """Append a row for each program but the rival. A commit with + has changes that are not committed."""
    commit = _git("rev-parse", "--short", "HEAD") + (
        "+" if _git("status", "--short", "../logdoctor", "../rules") else ""
    )
    day = dt.datetime.now(dt.timezone.utc).date()
    with RESULTS.open("a", encoding="utf-8") as file:
        for program in programs[1:]:
            ratio, seconds = program.least / programs[0].least, min(program.seconds)
            row = (commit, day, title, program.name, f"{ratio:.3f}", f"{seconds:.3f}")
            print(*row, f"{program.mib:.0f}", sep="\t", file=file)


def _git(*command: str) -> str:
    return subprocess.run(["git", *command], cwd=HERE, capture_output=True, text=True, check=False).stdout.strip()


def _run(program: Program, folder: Path) -> None:
    if program.cache == "fresh":
        shutil.rmtree(folder / "fresh", ignore_errors=True)
    writer = subprocess.Popen(["cat", program.stdin], stdout=subprocess.PIPE) if program.stdin else None
    process = subprocess.Popen(
        program.command,
        stdin=writer.stdout if writer else subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
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
