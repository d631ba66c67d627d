"""Scans of small archives: results, interrupted scans, packed archives, broken jobs, filters."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from logdoctor.archive import Filters, Plan, Scan
from logdoctor.archive.record import JobRecord, parse_record
from logdoctor.model import InputError

OOM = "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.15 GiB of which 1.10 GiB is free.\n"
FINE = "step 1/2 loss 3.1\nstep 2/2 loss 2.9\nTraining finished.\n"


def write_logs(folder: Path, jobs: dict[str, str]) -> Path:
    for name, text in jobs.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def jobs(tmp_path):
    logs = {f"j{n}/rank{r}.log": OOM if n % 2 else FINE for n in range(6) for r in range(2)}
    return write_logs(tmp_path / "jobs", logs)


def run_scan(place: Path, out: Path, **settings) -> list[JobRecord]:
    scan = Scan([str(place)], Plan(out, **settings))
    list(scan.run())
    return list(scan.records())


def test_each_job_gives_a_record_with_its_cause(jobs, tmp_path):
    signatures = {Path(r.job).name: r.signature for r in run_scan(jobs, tmp_path / "out")}
    assert signatures == {f"j{n}": "cuda.oom" if n % 2 else "finished" for n in range(6)}


def test_worker_processes_write_the_same_bytes_as_one_process(jobs, tmp_path):
    run_scan(jobs, tmp_path / "one")
    run_scan(jobs, tmp_path / "two", workers=2)
    assert (tmp_path / "one" / "jobs.jsonl").read_bytes() == (tmp_path / "two" / "jobs.jsonl").read_bytes()


def test_unchanged_jobs_are_not_diagnosed_again(jobs, tmp_path):
    run_scan(jobs, tmp_path / "out")
    write_logs(jobs, {"j0/rank0.log": OOM, "j9/x.log": FINE})
    scan = Scan([str(jobs)], Plan(tmp_path / "out"))
    assert [Path(job.name).name for job in scan.todo] == ["j0", "j9"]
    list(scan.run())
    assert {Path(r.job).name: r.signature for r in scan.records()}["j0"] == "cuda.oom"


def test_stopped_scan_continues_with_the_remaining_jobs(jobs, tmp_path):
    whole = run_scan(jobs, tmp_path / "whole")
    first = Scan([str(jobs)], Plan(tmp_path / "out"))
    for done, _ in enumerate(first.run(), 1):
        if done == 2:
            break
    second = Scan([str(jobs)], Plan(tmp_path / "out"))
    assert len(second.todo) == 4
    list(second.run())
    assert list(second.records()) == whole


def test_truncated_last_line_repeats_only_its_job(jobs, tmp_path):
    whole = run_scan(jobs, tmp_path / "out")
    content = (tmp_path / "out" / "jobs.jsonl").read_bytes()
    (tmp_path / "out" / "jobs.jsonl").write_bytes(content[:-40])
    scan = Scan([str(jobs)], Plan(tmp_path / "out"))
    assert [Path(job.name).name for job in scan.todo] == ["j5"]
    list(scan.run())
    assert list(scan.records()) == whole


@pytest.mark.parametrize(
    "damage", [b"", b"\xff\xfe\0\0\n", b'{"schema":"other/9"}\n', b"[1,2]\n", b'{"schema":"logdoctor.scan/2"}\n']
)
def test_damaged_results_of_an_earlier_scan_are_skipped(jobs, tmp_path, damage):
    write_logs(tmp_path, {"out/jobs.jsonl": ""})
    (tmp_path / "out" / "jobs.jsonl").write_bytes(damage)
    assert len(run_scan(jobs, tmp_path / "out")) == 6


def test_all_shards_together_diagnose_every_job_once(jobs, tmp_path):
    out = tmp_path / "out"
    parts = [Scan([str(jobs)], Plan(out, shard=(n, 3))) for n in (1, 2, 3)]
    assert sorted(job.name for part in parts for job in part.todo) == [str(jobs / f"j{n}") for n in range(6)]
    for part in parts:
        list(part.run())
    last = Scan([str(jobs)], Plan(out))
    assert last.todo == []
    list(last.run())
    assert list(last.records()) == run_scan(jobs, tmp_path / "whole")


def test_results_inside_the_archive_are_no_job(jobs, tmp_path):
    before = run_scan(jobs, jobs / "results")
    assert len(before) == 6
    assert run_scan(jobs, jobs / "results") == before
    assert run_scan(jobs, tmp_path / "out") == before


def test_second_scan_in_the_same_folder_is_refused(jobs, tmp_path):
    running = Scan([str(jobs)], Plan(tmp_path / "out")).run()
    next(running)
    with pytest.raises(InputError, match="another scan"):
        list(Scan([str(jobs)], Plan(tmp_path / "out")).run())
    running.close()


# ── packed archives ─────────────────────────────────────────────────────────────────────────────────────────────────


def pack_archive(path: Path, members: list[tuple[str, str]]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, text in members:
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    return path


def test_packed_archive_of_several_jobs_gives_a_record_each(tmp_path):
    place = pack_archive(
        tmp_path / "many.tar.gz", [("a/x.log", FINE), ("b/0.log", FINE), ("b/1.log", OOM), ("c/x.log", OOM)]
    )
    records = run_scan(place, tmp_path / "out")
    assert [(r.job, r.signature, r.files) for r in records] == [
        (f"{place}:a", "finished", 1),
        (f"{place}:b", "cuda.oom", 2),
        (f"{place}:c", "cuda.oom", 1),
    ]


def test_scattered_members_of_an_archive_are_all_read(tmp_path):
    members = [("b/0.log", FINE), ("a/x.log", FINE), ("b/1.log", OOM), ("c/x.log", FINE)]
    records = run_scan(pack_archive(tmp_path / "many.tar.gz", members), tmp_path / "out")
    assert [(r.signature, r.files) for r in records] == [("finished", 1), ("cuda.oom", 2), ("finished", 1)]


def test_packed_archive_of_one_job_gives_one_record(tmp_path):
    place = pack_archive(tmp_path / "one.tar.gz", [("rank0.log", FINE), ("rank1.log", OOM)])
    assert [(r.job, r.signature, r.files) for r in run_scan(place, tmp_path / "out")] == [(str(place), "cuda.oom", 2)]


def test_truncated_archive_gives_the_jobs_before_its_end(tmp_path):
    place = pack_archive(
        tmp_path / "cut.tar.gz", [(f"j{n}/x.log", os.urandom(30_000).hex() + "\n" + OOM) for n in range(4)]
    )
    place.write_bytes(place.read_bytes()[: place.stat().st_size // 2])
    records = run_scan(place, tmp_path / "out")
    assert [r.signature for r in records][:1] == ["cuda.oom"]
    assert "only the beginning" in records[-1].problems[0].what


# ── broken jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_unreadable_job_gives_a_record_with_the_reason(jobs, tmp_path):
    write_logs(jobs, {"bad/x.log": "\0\1\2" * 999})
    bad = run_scan(jobs, tmp_path / "out")[0]
    assert (Path(bad.job).name, bad.status) == ("bad", "unreadable")
    assert bad.problems[0].what


def test_job_over_its_limit_gives_a_stalled_record(jobs, tmp_path, monkeypatch):
    monkeypatch.setattr("logdoctor.archive.diagnose_task.time.monotonic", iter(range(0, 10**9, 50)).__next__)
    assert {r.status for r in run_scan(jobs, tmp_path / "out", seconds=10.0)} == {"stalled"}


def test_crashing_job_gives_a_died_record_and_no_other_job_is_lost(jobs, tmp_path, monkeypatch):
    from logdoctor.archive import diagnose_task

    def broken(paths, *, name, **rest):
        if name.endswith("j3"):
            raise ZeroDivisionError("planted")
        return diagnose(paths, name=name, **rest)

    diagnose = diagnose_task.diagnose
    monkeypatch.setattr(diagnose_task, "diagnose", broken)
    statuses = {Path(r.job).name: r.status for r in run_scan(jobs, tmp_path / "out")}
    assert statuses.pop("j3") == "died"
    assert set(statuses.values()) == {"diagnosed"}


def test_killed_scan_keeps_all_finished_records(tmp_path):
    place = write_logs(tmp_path / "jobs", {f"j{n:03}/x.log": (FINE * 1_000) + OOM for n in range(12)})
    command = [sys.executable, "-m", "logdoctor", "scan", str(place), "--out", str(tmp_path / "out"), "--workers", "2"]
    running = subprocess.Popen([*command, "--format", "jsonl"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    landing = tmp_path / "out" / "landing"
    until = time.monotonic() + 60
    while not any(p.stat().st_size for p in landing.glob("*")) and time.monotonic() < until:
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    landed = {
        parse_record(line).job for p in landing.glob("*") for line in p.read_bytes().splitlines() if line.endswith(b"}")
    }
    again = Scan([str(place)], Plan(tmp_path / "out"))
    assert not landed & {job.name for job in again.todo}
    list(again.run())
    assert list(again.records()) == run_scan(place, tmp_path / "whole")


# ── filters and records ─────────────────────────────────────────────────────────────────────────────────────────────


def test_since_and_until_select_jobs_by_time_of_change(jobs, tmp_path):
    for n in range(6):
        for file in (jobs / f"j{n}").iterdir():
            os.utime(file, (1000 + n, 1000 + n))
    scan = Scan([str(jobs)], Plan(tmp_path / "out"), Filters(since=1002, until=1004))
    assert [Path(job.name).name for job in scan.jobs] == ["j2", "j3"]


def test_missing_place_is_a_problem_and_the_other_place_is_scanned(jobs, tmp_path):
    scan = Scan([str(tmp_path / "none"), str(jobs)], Plan(tmp_path / "out"))
    assert len(scan.jobs) == 6
    assert [p.where for p in scan.problems] == [str(tmp_path / "none")]


def test_written_record_is_read_unchanged(jobs, tmp_path):
    for record in run_scan(jobs, tmp_path / "out"):
        assert parse_record(record.to_line()) == record
        assert json.loads(record.to_line())["schema"] == "logdoctor.scan/2"


def test_record_with_unknown_fields_is_read():
    assert parse_record(JobRecord("j").to_line()[:-1] + ',"more":1}') == JobRecord("j")
