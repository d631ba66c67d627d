"""Scans of small archives: the same results from every engine, nothing lost or read twice, each broken job a row."""

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

from logdoctor.model import InputError
from logdoctor.scan import Filters, Plan, Scan
from logdoctor.scan.record import JobRecord, parse_record

OOM = "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.15 GiB of which 1.10 GiB is free.\n"
FINE = "step 1/2 loss 3.1\nstep 2/2 loss 2.9\nTraining finished.\n"


def archive(folder: Path, jobs: dict[str, str]) -> Path:
    for name, text in jobs.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def jobs(tmp_path):
    many = {f"j{n}/rank{r}.log": OOM if n % 2 else FINE for n in range(6) for r in range(2)}
    return archive(tmp_path / "jobs", many)


def scanned(place: Path, out: Path, **how) -> list[JobRecord]:
    made = Scan([str(place)], Plan(out, **how))
    list(made.run())
    return list(made.records())


def test_each_job_of_an_archive_is_a_row_with_its_cause(jobs, tmp_path):
    found = {Path(r.job).name: r.signature for r in scanned(jobs, tmp_path / "out")}
    assert found == {f"j{n}": "cuda.oom" if n % 2 else "healthy" for n in range(6)}


def test_worker_processes_give_the_same_bytes_as_one_process(jobs, tmp_path):
    scanned(jobs, tmp_path / "one")
    scanned(jobs, tmp_path / "two", workers=2)
    assert (tmp_path / "one" / "jobs.jsonl").read_bytes() == (tmp_path / "two" / "jobs.jsonl").read_bytes()


def test_jobs_that_did_not_change_are_not_read_again(jobs, tmp_path):
    scanned(jobs, tmp_path / "out")
    archive(jobs, {"j0/rank0.log": OOM, "j9/x.log": FINE})
    made = Scan([str(jobs)], Plan(tmp_path / "out"))
    assert [Path(job.name).name for job in made.todo] == ["j0", "j9"]
    list(made.run())
    assert {Path(r.job).name: r.signature for r in made.records()}["j0"] == "cuda.oom"


def test_a_scan_that_was_stopped_goes_on_where_it_stood(jobs, tmp_path):
    whole = scanned(jobs, tmp_path / "whole")
    first = Scan([str(jobs)], Plan(tmp_path / "out"))
    for done, _ in enumerate(first.run(), 1):
        if done == 2:
            break
    second = Scan([str(jobs)], Plan(tmp_path / "out"))
    assert len(second.todo) == 4
    list(second.run())
    assert list(second.records()) == whole


def test_a_line_that_a_kill_cut_short_costs_its_job_only(jobs, tmp_path):
    whole = scanned(jobs, tmp_path / "out")
    kept = (tmp_path / "out" / "jobs.jsonl").read_bytes()
    (tmp_path / "out" / "jobs.jsonl").write_bytes(kept[:-40])
    made = Scan([str(jobs)], Plan(tmp_path / "out"))
    assert [Path(job.name).name for job in made.todo] == ["j5"]
    list(made.run())
    assert list(made.records()) == whole


@pytest.mark.parametrize(
    "damage", [b"", b"\xff\xfe\0\0\n", b'{"schema":"other/9"}\n', b"[1,2]\n", b'{"schema":"logdoctor.scan/1"}\n']
)
def test_damaged_results_of_an_earlier_scan_are_passed_over(jobs, tmp_path, damage):
    archive(tmp_path, {"out/jobs.jsonl": ""})
    (tmp_path / "out" / "jobs.jsonl").write_bytes(damage)
    assert len(scanned(jobs, tmp_path / "out")) == 6


def test_shards_together_do_every_job_once(jobs, tmp_path):
    out = tmp_path / "out"
    parts = [Scan([str(jobs)], Plan(out, shard=(n, 3))) for n in (1, 2, 3)]
    assert sorted(job.name for part in parts for job in part.todo) == [str(jobs / f"j{n}") for n in range(6)]
    for part in parts:
        list(part.run())
    last = Scan([str(jobs)], Plan(out))
    assert last.todo == []
    list(last.run())
    assert list(last.records()) == scanned(jobs, tmp_path / "whole")


def test_results_that_lie_in_the_archive_are_no_job(jobs, tmp_path):
    before = scanned(jobs, jobs / "results")
    assert len(before) == 6
    assert scanned(jobs, jobs / "results") == before
    assert scanned(jobs, tmp_path / "out") == before


def test_two_scans_do_not_work_in_one_folder(jobs, tmp_path):
    one = Scan([str(jobs)], Plan(tmp_path / "out")).run()
    next(one)
    with pytest.raises(InputError, match="another scan"):
        list(Scan([str(jobs)], Plan(tmp_path / "out")).run())
    one.close()


# ── packed archives ─────────────────────────────────────────────────────────────────────────────────────────────────


def packed(path: Path, members: list[tuple[str, str]]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, text in members:
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    return path


def test_a_packed_archive_of_many_jobs_is_as_many_rows(tmp_path):
    place = packed(tmp_path / "many.tar.gz", [("a/x.log", FINE), ("b/0.log", FINE), ("b/1.log", OOM), ("c/x.log", OOM)])
    found = scanned(place, tmp_path / "out")
    assert [(r.job, r.signature, r.files) for r in found] == [
        (f"{place}:a", "healthy", 1),
        (f"{place}:b", "cuda.oom", 2),
        (f"{place}:c", "cuda.oom", 1),
    ]


def test_a_job_whose_members_are_scattered_in_the_archive_is_read_whole(tmp_path):
    members = [("b/0.log", FINE), ("a/x.log", FINE), ("b/1.log", OOM), ("c/x.log", FINE)]
    found = scanned(packed(tmp_path / "many.tar.gz", members), tmp_path / "out")
    assert [(r.signature, r.files) for r in found] == [("healthy", 1), ("cuda.oom", 2), ("healthy", 1)]


def test_an_archive_of_one_job_is_one_row(tmp_path):
    place = packed(tmp_path / "one.tar.gz", [("rank0.log", FINE), ("rank1.log", OOM)])
    assert [(r.job, r.signature, r.files) for r in scanned(place, tmp_path / "out")] == [(str(place), "cuda.oom", 2)]


def test_an_archive_that_breaks_off_keeps_the_jobs_before_the_break(tmp_path):
    place = packed(tmp_path / "cut.tar.gz", [(f"j{n}/x.log", os.urandom(30_000).hex() + "\n" + OOM) for n in range(4)])
    place.write_bytes(place.read_bytes()[: place.stat().st_size // 2])
    found = scanned(place, tmp_path / "out")
    assert [r.signature for r in found][:1] == ["cuda.oom"]
    assert "only the beginning" in found[-1].problems[0].what


# ── what breaks ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_job_that_cannot_be_read_is_a_row_that_says_why(jobs, tmp_path):
    archive(jobs, {"bad/x.log": "\0\1\2" * 999})
    bad = scanned(jobs, tmp_path / "out")[0]
    assert (Path(bad.job).name, bad.status) == ("bad", "unreadable")
    assert bad.problems[0].what


def test_a_job_that_takes_too_long_is_a_row_that_says_so(jobs, tmp_path, monkeypatch):
    monkeypatch.setattr("logdoctor.scan.diagnose_task.time.monotonic", iter(range(0, 10**9, 50)).__next__)
    assert {r.status for r in scanned(jobs, tmp_path / "out", seconds=10.0)} == {"stalled"}


def test_a_job_that_breaks_the_program_is_a_row_and_the_others_go_on(jobs, tmp_path, monkeypatch):
    from logdoctor.scan import diagnose_task

    def broken(paths, *, name, **rest):
        if name.endswith("j3"):
            raise ZeroDivisionError("planted")
        return examining_diagnose(paths, name=name, **rest)

    examining_diagnose = diagnose_task.diagnose
    monkeypatch.setattr(diagnose_task, "diagnose", broken)
    found = {Path(r.job).name: r.status for r in scanned(jobs, tmp_path / "out")}
    assert found.pop("j3") == "died"
    assert set(found.values()) == {"diagnosed"}


def test_a_client_that_is_killed_loses_nothing_that_was_finished(tmp_path):
    place = archive(tmp_path / "jobs", {f"j{n:03}/x.log": (FINE * 1_000) + OOM for n in range(12)})
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
    assert list(again.records()) == scanned(place, tmp_path / "whole")


# ── what a scan is asked for ────────────────────────────────────────────────────────────────────────────────────────


def test_only_jobs_that_changed_in_the_time_asked_for_are_scanned(jobs, tmp_path):
    for n in range(6):
        for file in (jobs / f"j{n}").iterdir():
            os.utime(file, (1000 + n, 1000 + n))
    made = Scan([str(jobs)], Plan(tmp_path / "out"), Filters(since=1002, until=1004))
    assert [Path(job.name).name for job in made.jobs] == ["j2", "j3"]


def test_a_place_that_is_not_there_is_a_problem_and_the_others_are_scanned(jobs, tmp_path):
    made = Scan([str(tmp_path / "none"), str(jobs)], Plan(tmp_path / "out"))
    assert len(made.jobs) == 6
    assert [p.where for p in made.problems] == [str(tmp_path / "none")]


def test_a_record_is_the_same_after_it_was_written_and_read(jobs, tmp_path):
    for record in scanned(jobs, tmp_path / "out"):
        assert parse_record(record.to_line()) == record
        assert json.loads(record.to_line())["schema"] == "logdoctor.scan/1"


def test_a_record_of_a_later_version_with_more_fields_is_read():
    assert parse_record(JobRecord("j").to_line()[:-1] + ',"more":1}') == JobRecord("j")
