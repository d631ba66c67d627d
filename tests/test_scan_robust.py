"""Scans with broken jobs, signals, a full disk, or dying processes."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from logdoctor.archive import Plan, Scan

pytestmark = pytest.mark.usefixtures("clean_environment", "knowledge")

OOM = "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.15 GiB of which 1.10 GiB is free.\n"
GIB = 1 << 30


def write_job(place: Path, name: str, text: str = OOM) -> Path:
    (place / name).mkdir(parents=True)
    path = place / name / "x.log"
    path.write_text(text)
    return path


def write_slow_jobs(place: Path, count: int = 40) -> Path:
    """Write jobs that take several seconds together."""
    text = "".join(f"[rank{n % 8}]: RuntimeError: the {n}th shard of the ring is lost\n" for n in range(1_000))
    for n in range(count):
        write_job(place, f"j{n:02}", text)
    return place


def command(place: Path, out: Path, workers: int) -> list[str]:
    return [sys.executable, "-m", "logdoctor", "scan", str(place), "--out", str(out), "--workers", str(workers)]


def count_records(out: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in (out / "landing").glob("*"))


# ── broken jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("workers", [1, 2])
def test_broken_jobs_give_records_with_the_reason(tmp_path, workers):
    place = tmp_path / "jobs"
    for n in range(20):
        write_job(place, f"j{n:02}")
    cut = write_job(place, "cut", "")
    cut.with_suffix(".log.gz").write_bytes(gzip.compress(os.urandom(50_000).hex().encode() + OOM.encode())[:30_000])
    cut.unlink()
    write_job(place, "binary").write_bytes(os.urandom(50_000))
    bomb = write_job(place, "bomb", "")
    layers = OOM.encode()
    for _ in range(10):
        layers = gzip.compress(layers)
    bomb.with_suffix(".log.gz").write_bytes(layers)
    bomb.unlink()
    write_job(place, "gone").unlink()
    (place / "gone" / "x.log").symlink_to("x.log")
    scan = Scan([str(place)], Plan(tmp_path / "out", workers=workers))
    list(scan.run())
    results = {Path(r.job).name: r for r in scan.records()}
    assert {results[f"j{n:02}"].signature for n in range(20)} == {"cuda.oom"}
    whys = {name: results[name].problems[0].why for name in ("cut", "binary", "bomb")}
    assert whys == {
        "cut": "the gzip data ends before its end mark",
        "binary": "it is binary data, not text",
        "bomb": "it is packed more than 8 layers deep",
    }


@pytest.mark.skipif(sys.platform == "darwin", reason="its file systems know no such names")
@pytest.mark.parametrize("workers", [1, 2])
def test_names_that_are_not_utf_8_are_separate_jobs(tmp_path, workers):
    place = tmp_path / "jobs"
    for name in (b"j-\xff", b"j-\xfe"):
        write_job(place, os.fsdecode(name))
    list(Scan([str(place)], Plan(tmp_path / "out", workers=workers)).run())
    again = Scan([str(place)], Plan(tmp_path / "out", workers=workers))
    assert [(Path(r.job).name, r.signature) for r in again.records()] == [
        ("j-\\udcfe", "cuda.oom"),
        ("j-\\udcff", "cuda.oom"),
    ]
    assert not again.todo


def test_unreadable_folder_is_a_problem(tmp_path, monkeypatch):
    write_job(tmp_path, "good")
    write_job(tmp_path, "shut")
    scandir = os.scandir

    def refuse(path):
        if Path(path).name == "shut":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    scan = Scan([str(tmp_path)], Plan(tmp_path / "out"))
    assert [Path(job.name).name for job in scan.jobs] == ["good"]
    assert [(p.where, p.why) for p in scan.problems] == [(str(tmp_path / "shut"), "Permission denied")]


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux how much memory was used")
def test_line_of_two_gibibytes_takes_bounded_memory(tmp_path):
    """The line has one character only, so that the disk stores it as a hole."""
    place = tmp_path / "jobs"
    with write_job(place, "huge", "x" * 4096).open("r+b") as file:
        file.truncate(2 * GIB)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + OOM.encode())
    program = (
        "import sys; from pathlib import Path; from logdoctor.archive import Plan, Scan\n"
        "scan = Scan([sys.argv[1]], Plan(Path(sys.argv[2]))); list(scan.run())\n"
        "peak = Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]\n"
        "print([r.signature for r in scan.records()], peak)\n"
    )  # `resource` would count what the process was before it became this program
    command_line = [sys.executable, "-c", program, str(place), str(tmp_path / "out")]
    output = subprocess.run(command_line, check=True, capture_output=True, text=True, timeout=120).stdout
    signatures, _, kibibytes = output.rpartition(" ")
    assert signatures == "['cuda.oom']"
    assert int(kibibytes) < 400 << 10


@pytest.fixture
def write_jobs_with_deed(tmp_path, monkeypatch):
    """Write 8 jobs.  A worker process that diagnoses j3 runs the code ``deed``."""

    def write_jobs(deed: str) -> Path:
        (tmp_path / "site").mkdir()
        (tmp_path / "site" / "sitecustomize.py").write_text(
            "import os, time\n"
            "def disturbed(paths, *, name, **rest):\n"
            f"    if name.endswith('j3'): {deed}\n"
            "    return plain(paths, name=name, **rest)\n"
            "from logdoctor.archive import diagnose_task\n"
            "plain, diagnose_task.diagnose = diagnose_task.diagnose, disturbed\n"
        )
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=os.pathsep)
        for n in range(8):
            write_job(tmp_path / "jobs", f"j{n}")
        return tmp_path / "jobs"

    return write_jobs


@pytest.mark.parametrize(("deed", "status"), [("os._exit(9)", "died"), ("time.sleep(999)", "stalled")])
def test_dying_or_hanging_worker_loses_no_other_job(write_jobs_with_deed, tmp_path, monkeypatch, deed, status):
    monkeypatch.setattr("logdoctor.archive.engines.pool.GRACE_SECONDS", 3.0)
    scan = Scan([str(write_jobs_with_deed(deed))], Plan(tmp_path / "out", workers=2, seconds=0.5))
    list(scan.run())
    statuses = {Path(r.job).name: r.status for r in scan.records()}
    assert statuses == {f"j{n}": status if n == 3 else "diagnosed" for n in range(8)}


# ── signals ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_stopped_scan_leaves_no_process_and_continues_later(tmp_path, sent, code, workers):
    place, out = write_slow_jobs(tmp_path / "jobs"), tmp_path / "out"
    running = subprocess.Popen(
        command(place, out, workers),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  ignored in the background
    )
    until = time.monotonic() + 60
    while not count_records(out) and time.monotonic() < until:
        time.sleep(0.02)
    worker_processes = psutil.Process(running.pid).children(recursive=True)
    running.send_signal(sent)
    errors = running.communicate(timeout=60)[1]
    assert running.returncode == code
    assert b"Traceback" not in errors
    assert sent == signal.SIGKILL or b"of 40 jobs; the same command goes on from" in errors
    assert psutil.wait_procs(worker_processes, timeout=60)[1] == []
    assert len(Scan([str(place)], Plan(out)).todo) == 40 - count_records(out)


# ── a full disk ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("workers", [1, 2])
def test_full_disk_ends_the_scan_and_keeps_its_records(tmp_path, workers):
    """A limit on the size of files acts like a full disk."""
    place, out = tmp_path / "jobs", tmp_path / "out"
    for n in range(40):
        write_job(place, f"j{n:02}")
    limited = ["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", *command(place, out, workers)]
    full = subprocess.run(limited, check=False, capture_output=True, text=True, timeout=120)
    assert full.returncode == 3
    assert "cannot keep results" in full.stderr
    assert "Traceback" not in full.stderr
    written = count_records(out)
    assert written > 0
    scan = Scan([str(place)], Plan(out))
    assert len(scan.todo) == 40 - written
    list(scan.run())
    assert [r.signature for r in scan.records()] == ["cuda.oom"] * 40
