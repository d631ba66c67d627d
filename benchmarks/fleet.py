"""Speed and memory of scans of an archive, with one and two workers.

    python benchmarks/fleet.py [--jobs 1000] [--gib 1] [--folder FOLDER] [--patterns FILE] [--keep]

The archive holds simulated jobs and the cases of corpus/. Most jobs are small folders. Some are filled up with MiB of
healthy training. A quarter is packed by the hundred into tar.zst. The same options give the same archive. It takes
``--gib`` of disk in ``--folder``. Compare ratios, because times depend on the machine. Run it twice on an idle machine.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import psutil

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(Path(__file__).parent)]

from forms import named_forms  # noqa: E402
from simulator import FAULTS, simulate  # noqa: E402
from zstd_library import zstd  # noqa: E402

MIB = 1 << 20
TEMPLATES = 60
"""The number of different jobs. All others are copies under other numbers."""
LARGE_SHARE = 0.05
PACKED_SHARE = 0.25
PACKED_JOBS = 100


# ── the archive ─────────────────────────────────────────────────────────────────────────────────────────────────────


def templates() -> list[dict[str, str]]:
    """Return simulated jobs of 8 and 16 ranks, and labelled cases."""
    kinds = sorted(FAULTS)
    jobs = [dict(simulate(n, kinds[n % len(kinds)], 16 if n % 3 else 8).files) for n in range(TEMPLATES // 2)]
    cases = [case for case in sorted((ROOT / "corpus").iterdir()) if (case / "case.yaml").exists()]
    for case in cases[:: max(1, len(cases) // (TEMPLATES // 2))]:
        logs = [p for p in sorted(case.rglob("*")) if p.is_file() and p.suffix in (".log", ".out", ".err", ".txt")]
        if logs:
            jobs.append({str(p.relative_to(case)): p.read_text("utf-8", "replace") for p in logs})
    return jobs


def filling(rng: random.Random) -> bytes:
    """Return a MiB of lines of healthy training."""
    lines = [
        f"[2026-10-{rng.randrange(1, 29):02} 0{n % 10}:{n % 60:02}:11] iteration {n:8}/ 500000 | elapsed time per "
        f"iteration (ms): {rng.uniform(400, 700):.1f} | learning rate: {rng.random():.3E} | "
        f"lm loss: {rng.uniform(1, 9):.6E}\n"
        for n in range(9000)
    ]
    return "".join(lines).encode()[:MIB].rpartition(b"\n")[0] + b"\n"


def make(folder: Path, jobs: int, gib: float) -> None:
    """Write the archive: ``small/``, ``large/`` and ``packed/``."""
    rng = random.Random(f"{jobs} {gib}")
    kinds, fill = templates(), filling(rng)
    large = max(1, int(jobs * LARGE_SHARE))
    packed = int(jobs * PACKED_SHARE)
    mibs = max(1, round(gib * 1024 / large))
    for n in range(jobs - large - packed):
        write(folder / "small" / f"job-{n:06}", rng.choice(kinds), b"")
    for n in range(large):
        write(folder / "large" / f"job-{n:06}", rng.choice(kinds), fill, max(1, round(mibs * rng.uniform(0.5, 1.5))))
    (folder / "packed").mkdir()
    for first in range(0, packed, PACKED_JOBS):
        some = {f"job-{n:06}": rng.choice(kinds) for n in range(first, min(first + PACKED_JOBS, packed))}
        pack(folder / "packed" / f"jobs-{first:06}.tar.zst", some)


def write(folder: Path, files: dict[str, str], fill: bytes, times: int = 0) -> None:
    """Write a job. Its first file begins with ``times`` times ``fill``."""
    for at, (name, text) in enumerate(sorted(files.items())):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            for _ in range(times if at == 0 else 0):
                file.write(fill)
            file.write(text.encode("utf-8", "replace"))


def pack(path: Path, jobs: dict[str, dict[str, str]]) -> None:
    """Write an archive of many jobs."""
    with zstd.open(path, "wb") as out, tarfile.open(fileobj=out, mode="w|") as tar:
        for job, files in jobs.items():
            for name, text in sorted(files.items()):
                data = text.encode("utf-8", "replace")
                info = tarfile.TarInfo(f"{job}/{name}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))


# ── the runs ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Run:
    """A finished program, with its seconds, CPU seconds, and memory peaks."""

    def __init__(self, command: list[str]) -> None:
        begun = time.perf_counter()
        before = os.times()
        program = psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.peaks: dict[int, int] = {}
        while program.poll() is None:
            self._look(program)
            time.sleep(0.05)
        self.seconds = time.perf_counter() - begun
        after = os.times()
        self.cpu = after.children_user + after.children_system - before.children_user - before.children_system
        if program.returncode not in (0, 1):
            raise SystemExit(f"{command[:4]} ended with {program.returncode}")

    def _look(self, program: psutil.Popen) -> None:
        try:
            for process in (program, *program.children(recursive=True)):
                resident = process.memory_info().rss
                self.peaks[process.pid] = max(self.peaks.get(process.pid, 0), resident)
        except psutil.Error:
            return

    @property
    def memory(self) -> str:
        """Peaks in MiB, the largest first."""
        return " ".join(f"{peak / MIB:.0f}" for peak in sorted(self.peaks.values(), reverse=True) if peak > 20 * MIB)


def scan(place: Path, workers: int) -> Run:
    """Scan ``place`` into a new folder."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "logdoctor", "scan", str(place), "-w", str(workers), "-o", f"{out}/o"]
        return Run(command)


def ripgrep(place: Path, patterns: Path, threads: int) -> Run:
    """Search the same files with ripgrep."""
    return Run(["rg", f"-j{threads}", "--no-ignore", "-a", "-c", "-f", str(patterns), str(place)])


def weight(place: Path) -> tuple[int, int]:
    """Return the number of files and the number of bytes."""
    sizes = [p.stat().st_size for p in place.rglob("*") if p.is_file()]
    return len(sizes), sum(sizes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--gib", type=float, default=1.0)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "logdoctor-fleet")
    parser.add_argument("--patterns", type=Path, help="for ripgrep (default: 333 of our own)")
    parser.add_argument("--keep", action="store_true", help="keep the archive")
    asked = parser.parse_args()
    folder = asked.folder / f"{asked.jobs}-{asked.gib:g}"
    if not folder.exists():
        make(folder, asked.jobs, asked.gib)
    patterns = asked.patterns or own_patterns(asked.folder / "patterns.txt")
    scan(folder / "packed", 1)  # compiles what is known
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{'':22}{'files':>8}{'MiB':>8}{'s':>8}{'cpu s':>8}{'jobs/s':>8}{'MB/s':>8}  MiB of memory, each process")
    for kind, jobs in (("small", None), ("packed", None), ("large", None)):
        place = folder / kind
        jobs = len(list(place.iterdir())) if kind != "packed" else int(asked.jobs * PACKED_SHARE)
        one, two = scan(place, 1), scan(place, 2)
        say(f"{kind}, 1 worker", place, jobs, one)
        say(f"{kind}, 2 workers", place, jobs, two)
        print(f"{'':22}2 workers are {one.seconds / two.seconds:.2f} × as fast as one")
        if kind == "large":
            rival = ripgrep(place, patterns, 2)
            say("ripgrep -j2", place, jobs, rival)
            print(
                f"{'':22}2 workers are {rival.seconds / two.seconds:.2f} × as fast (cpu: {rival.cpu / two.cpu:.2f} ×)"
            )
    if not asked.keep:
        shutil.rmtree(folder)


def own_patterns(path: Path) -> Path:
    """Write 333 patterns of the scan to ``path``, because ripgrep takes no more."""
    forms = sorted(named_forms())
    path.write_text("\n".join(forms[:: max(1, len(forms) // 333)][:333]) + "\n")
    return path


def say(title: str, place: Path, jobs: int, run: Run) -> None:
    files, size = weight(place)
    print(
        f"{title:22}{files:8}{size / MIB:8.0f}{run.seconds:8.1f}{run.cpu:8.1f}"
        f"{jobs / run.seconds:8.0f}{size / 1e6 / run.seconds:8.0f}  {run.memory}"
    )


if __name__ == "__main__":
    main()
