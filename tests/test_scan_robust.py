"""Scans that are disturbed: jobs that break, signals, a full disk, processes that die."""

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

from logdoctor.scan import Plan, Scan

pytestmark = pytest.mark.usefixtures("surroundings", "knowledge")

OOM = "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.15 GiB of which 1.10 GiB is free.\n"
GIB = 1 << 30


def job(place: Path, name: str, text: str = OOM) -> Path:
    (place / name).mkdir(parents=True)
    path = place / name / "x.log"
    path.write_text(text)
    return path


def many(place: Path, count: int = 40) -> Path:
    """Jobs that take a moment each: all of them several seconds."""
    text = "".join(f"[rank{n % 8}]: RuntimeError: the {n}th shard of the ring is lost\n" for n in range(1_000))
    for n in range(count):
        job(place, f"j{n:02}", text)
    return place


def command(place: Path, out: Path, workers: int) -> list[str]:
    return [sys.executable, "-m", "logdoctor", "scan", str(place), "--out", str(out), "--workers", str(workers)]


def landed(out: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in (out / "landing").glob("*"))


# ── jobs that break ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("workers", [1, 2])
def test_jobs_that_break_are_rows_that_say_why_and_the_others_are_diagnosed(tmp_path, workers):
    place = tmp_path / "jobs"
    for n in range(20):
        job(place, f"j{n:02}")
    cut = job(place, "cut", "")
    cut.with_suffix(".log.gz").write_bytes(gzip.compress(os.urandom(50_000).hex().encode() + OOM.encode())[:30_000])
    cut.unlink()
    job(place, "binary").write_bytes(os.urandom(50_000))
    bomb = job(place, "bomb", "")
    layers = OOM.encode()
    for _ in range(10):
        layers = gzip.compress(layers)
    bomb.with_suffix(".log.gz").write_bytes(layers)
    bomb.unlink()
    job(place, "gone").unlink()
    (place / "gone" / "x.log").symlink_to("x.log")
    made = Scan([str(place)], Plan(tmp_path / "out", workers=workers))
    list(made.run())
    found = {Path(r.job).name: r for r in made.records()}
    assert {found[f"j{n:02}"].signature for n in range(20)} == {"cuda.oom"}
    whys = {name: found[name].problems[0].why for name in ("cut", "binary", "bomb")}
    assert whys == {
        "cut": "the gzip data ends before its end mark",
        "binary": "it is binary data, not text",
        "bomb": "it is packed more than 8 layers deep",
    }


@pytest.mark.skipif(sys.platform == "darwin", reason="its file systems know no such names")
@pytest.mark.parametrize("workers", [1, 2])
def test_names_that_are_no_utf_8_are_jobs_of_their_own_and_done_once(tmp_path, workers):
    place = tmp_path / "jobs"
    for name in (b"j-\xff", b"j-\xfe"):
        job(place, os.fsdecode(name))
    list(Scan([str(place)], Plan(tmp_path / "out", workers=workers)).run())
    again = Scan([str(place)], Plan(tmp_path / "out", workers=workers))
    assert [(Path(r.job).name, r.signature) for r in again.records()] == [
        ("j-\\udcfe", "cuda.oom"),
        ("j-\\udcff", "cuda.oom"),
    ]
    assert not again.todo


def test_a_folder_that_may_not_be_read_is_told(tmp_path, monkeypatch):
    job(tmp_path, "good")
    job(tmp_path, "shut")
    scandir = os.scandir

    def refuse(path):
        if Path(path).name == "shut":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    made = Scan([str(tmp_path)], Plan(tmp_path / "out"))
    assert [Path(found.name).name for found in made.jobs] == ["good"]
    assert [(p.where, p.why) for p in made.problems] == [(str(tmp_path / "shut"), "Permission denied")]


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux how much memory was used")
def test_a_line_of_two_gibibytes_does_not_fill_the_memory(tmp_path):
    """Of one character: a disk keeps it as a hole, and a pipe would make it endless."""
    place = tmp_path / "jobs"
    with job(place, "huge", "x" * 4096).open("r+b") as file:
        file.truncate(2 * GIB)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + OOM.encode())
    program = (
        "import sys; from pathlib import Path; from logdoctor.scan import Plan, Scan\n"
        "made = Scan([sys.argv[1]], Plan(Path(sys.argv[2]))); list(made.run())\n"
        "peak = Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]\n"
        "print([r.signature for r in made.records()], peak)\n"
    )  # `resource` would count what the process was before it became this program
    asked = [sys.executable, "-c", program, str(place), str(tmp_path / "out")]
    told = subprocess.run(asked, check=True, capture_output=True, text=True, timeout=120).stdout
    signatures, _, kibibytes = told.rpartition(" ")
    assert signatures == "['cuda.oom']"
    assert int(kibibytes) < 400 << 10


@pytest.fixture
def of_j3(tmp_path, monkeypatch):
    """Jobs of which one, j3, has worker processes do what is given."""

    def made(deed: str) -> Path:
        (tmp_path / "site").mkdir()
        (tmp_path / "site" / "sitecustomize.py").write_text(
            "import os, time\n"
            "def disturbed(paths, *, name, **rest):\n"
            f"    if name.endswith('j3'): {deed}\n"
            "    return plain(paths, name=name, **rest)\n"
            "from logdoctor.scan import diagnose_task\n"
            "plain, diagnose_task.diagnose = diagnose_task.diagnose, disturbed\n"
        )
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=os.pathsep)
        for n in range(8):
            job(tmp_path / "jobs", f"j{n}")
        return tmp_path / "jobs"

    return made


@pytest.mark.parametrize(("deed", "status"), [("os._exit(9)", "died"), ("time.sleep(999)", "stalled")])
def test_a_worker_that_dies_or_hangs_in_a_job_costs_no_other_job(of_j3, tmp_path, monkeypatch, deed, status):
    monkeypatch.setattr("logdoctor.scan.engines.pool.GRACE_SECONDS", 3.0)
    made = Scan([str(of_j3(deed))], Plan(tmp_path / "out", workers=2, seconds=0.5))
    list(made.run())
    found = {Path(r.job).name: r.status for r in made.records()}
    assert found == {f"j{n}": status if n == 3 else "diagnosed" for n in range(8)}


# ── signals ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_scan_that_is_stopped_leaves_no_process_and_goes_on_later(tmp_path, sent, code, workers):
    place, out = many(tmp_path / "jobs"), tmp_path / "out"
    running = subprocess.Popen(
        command(place, out, workers),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  ignored in the background
    )
    until = time.monotonic() + 60
    while not landed(out) and time.monotonic() < until:
        time.sleep(0.02)
    workers_of_it = psutil.Process(running.pid).children(recursive=True)
    running.send_signal(sent)
    told = running.communicate(timeout=60)[1]
    assert running.returncode == code
    assert b"Traceback" not in told
    assert psutil.wait_procs(workers_of_it, timeout=60)[1] == []
    assert len(Scan([str(place)], Plan(out)).todo) == 40 - landed(out)


# ── a full disk ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_ends_the_scan_and_what_landed_stays(tmp_path, workers):
    """A limit on the size of files is to a process what a full disk is."""
    place, out = tmp_path / "jobs", tmp_path / "out"
    for n in range(40):
        job(place, f"j{n:02}")
    limited = ["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", *command(place, out, workers)]
    full = subprocess.run(limited, check=False, capture_output=True, text=True, timeout=120)
    assert full.returncode == 3
    assert "cannot keep results" in full.stderr
    assert "Traceback" not in full.stderr
    kept = landed(out)
    assert kept > 0
    made = Scan([str(place)], Plan(out))
    assert len(made.todo) == 40 - kept
    list(made.run())
    assert [r.signature for r in made.records()] == ["cuda.oom"] * 40
