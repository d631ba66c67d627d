"""The numbers of a fleet report."""

from __future__ import annotations

import io

from logdoctor import diagnose
from logdoctor.scan.failure_fingerprint import fingerprint
from logdoctor.scan.fleet import MAX_JOBS_LISTED, count_records
from logdoctor.scan.record import CauseRow, JobRecord

DAY = 86400.0
MONDAY = 1_793_577_600.0  # 2026-11-02


def failed(job: str, signature: str = "cuda.oom", **more) -> JobRecord:
    return JobRecord(job, verdict="failure", signature=signature, **more)


def test_gpu_hours_are_counted_where_the_log_tells_ranks_and_times():
    fleet = count_records([failed("a", size=8, started=0.0, ended=7200.0), failed("b", size=8), failed("c", ended=9.0)])
    (cause,) = fleet.causes
    assert (cause.count, cause.hours, cause.timed_jobs) == (3, 16.0, 1)


def test_failures_are_told_by_week_and_weeks_without_one_are_not_left_out():
    fleet = count_records(
        [failed("a", changed=MONDAY), failed("b", changed=MONDAY + DAY), failed("c", changed=MONDAY + 14 * DAY)]
    )
    assert fleet.periods == [("2026-11-02", {"cuda.oom": 2}), ("2026-11-09", {}), ("2026-11-16", {"cuda.oom": 1})]


def test_each_period_names_the_jobs_that_failed_in_it():
    fleet = count_records(
        [failed("a", changed=MONDAY), failed("b", changed=MONDAY + 6 * DAY), failed("c", changed=MONDAY + 7 * DAY)]
    )
    assert fleet.failed_in == {"2026-11-02": ["a", "b"], "2026-11-09": ["c"]}


def test_attempts_and_what_speaks_for_another_one_are_counted():
    jobs = [
        failed("a", attempts=3, decision="stop"),
        failed("b", decision="retry"),
        JobRecord("c", verdict="healthy", attempts=2),
    ]
    fleet = count_records(jobs)
    assert fleet.restarted.jobs == ["a", "c"]
    assert {name: t.jobs for name, t in fleet.decisions.items()} == {"stop": ["a"]}


def test_a_gpu_known_by_its_bus_is_another_one_on_each_host():
    fleet = count_records(
        [failed("a", hosts=("n1",), gpus=("0000:c3:00",)), failed("b", hosts=("n2",), gpus=("0000:c3:00",))]
    )
    assert [t.name for t in fleet.gpus] == ["n1 0000:c3:00", "n2 0000:c3:00"]


def test_the_same_failure_in_several_jobs_is_told_as_one():
    fleet = count_records([failed("a", fingerprint="f"), failed("b", fingerprint="f"), failed("c", fingerprint="g")])
    assert [(t.name, t.count, t.jobs) for t in fleet.recurring] == [("f", 2, ["a", "b"])]


def test_causes_that_came_up_since_a_day_are_new():
    old, new = failed("a", changed=MONDAY), failed("b", "net.dns", changed=MONDAY + DAY)
    assert [t.name for t in count_records([old, new], new_since=MONDAY + 1).new] == ["net.dns"]


def test_hosts_gpus_and_peers_are_counted_once_a_job():
    cause = CauseRow("net.socket-connect", peers=("10.0.0.7:4431", "10.0.0.7:80"))
    fleet = count_records([failed("a", hosts=("n1",), gpus=("n1:3",), causes=(cause,))] * 2)
    assert [[(t.name, t.count) for t in some] for some in (fleet.hosts, fleet.gpus, fleet.peers)] == [
        [("n1", 2)],
        [("n1:3", 2)],
        [("10.0.0.7", 2)],
    ]


def test_the_longest_runs_that_failed_come_first():
    jobs = [failed(f"j{n:03}", started=0.0, ended=3600.0 * n) for n in range(300)]
    assert [(r.job, hours) for r, hours in count_records(jobs).slowest[:2]] == [("j299", 299.0), ("j298", 298.0)]


def test_a_run_that_took_no_time_took_no_hours_and_not_minus_none():
    assert str(count_records([failed("a", started=MONDAY, ended=MONDAY)]).slowest[0][1]) == "0.0"


def test_unexplained_lines_are_a_worklist():
    jobs = [JobRecord(f"u{n}", verdict="unknown", signature="unknown", templates=("panic <n>",)) for n in range(3)]
    assert [(t.name, t.count) for t in count_records(jobs).unexplained] == [("panic <n>", 3)]


def test_jobs_that_could_not_be_diagnosed_are_counted_by_what_happened():
    fleet = count_records(
        [JobRecord("a", status="stalled"), JobRecord("b", status="stalled"), JobRecord("c", status="died")]
    )
    assert {name: t.count for name, t in fleet.broken.items()} == {"stalled": 2, "died": 1}
    assert fleet.causes == []


def test_a_large_fleet_takes_bounded_memory():
    fleet = count_records(failed(f"j{n}") for n in range(3000))
    assert fleet.causes[0].count == 3000
    assert len(fleet.causes[0].jobs) == MAX_JOBS_LISTED


def test_the_same_failure_on_another_host_at_another_time_has_the_same_fingerprint():
    said = "{} {}:{}:31 [3] NCCL WARN Call to connect returned Connection refused by 10.0.0.{}<4431>"
    lines = (
        said.format("2026-11-02 10:00:01", "gpu-a01", 991, 7),
        said.format("2026-11-09 23:59:59", "gpu-b17", 18, 99),
    )
    one, two = (diagnose(io.BytesIO(f"{line}\n".encode())) for line in lines)
    assert fingerprint(one) == fingerprint(two) != ""
