"""The numbers of a fleet report."""

from __future__ import annotations

import io
import re

from logdoctor import diagnose
from logdoctor.archive.failure_fingerprint import fingerprint
from logdoctor.archive.fleet import MAX_JOBS_LISTED, Tally, count_records
from logdoctor.archive.fleet_page import write_page
from logdoctor.archive.outputs import load_writer
from logdoctor.archive.record import CauseRow, JobRecord

DAY = 86400.0
MONDAY = 1_793_577_600.0  # 2026-11-02


def failed(job: str, signature: str = "cuda.oom", **more) -> JobRecord:
    return JobRecord(job, verdict="failed", signature=signature, **more)


def decided(tally: Tally) -> dict[str, str]:
    return {name: job.decision for name, job in tally.jobs.items()}


def test_gpu_hours_need_ranks_and_times():
    fleet = count_records([failed("a", size=8, started=0.0, ended=7200.0), failed("b", size=8), failed("c", ended=9.0)])
    (cause,) = fleet.causes
    assert (cause.count, cause.hours, cause.timed_jobs) == (3, 16.0, 1)


def test_weeks_without_failures_are_included():
    fleet = count_records(
        [failed("a", changed=MONDAY), failed("b", changed=MONDAY + DAY), failed("c", changed=MONDAY + 14 * DAY)]
    )
    assert fleet.periods == [("2026-11-02", {"cuda.oom": 2}), ("2026-11-09", {}), ("2026-11-16", {"cuda.oom": 1})]


def test_months_without_failures_are_included():
    fleet = count_records([failed("a", changed=MONDAY), failed("b", changed=MONDAY + 100 * DAY)], "month")
    assert [(month, len(causes)) for month, causes in fleet.periods] == [
        ("2026-11", 1),
        ("2026-12", 0),
        ("2027-01", 0),
        ("2027-02", 1),
    ]


def test_each_period_lists_its_failed_jobs():
    fleet = count_records(
        [failed("a", changed=MONDAY), failed("b", changed=MONDAY + 6 * DAY), failed("c", changed=MONDAY + 7 * DAY)]
    )
    assert {week: [*jobs] for week, jobs in fleet.failed_in.items()} == {"2026-11-02": ["a", "b"], "2026-11-09": ["c"]}


def test_restarted_jobs_are_counted_by_decision():
    jobs = [
        failed("a", attempts=3, decision="fix-first"),
        failed("b", decision="requeue"),
        JobRecord("c", verdict="finished", attempts=2),
    ]
    fleet = count_records(jobs)
    assert decided(fleet.restarted) == {"a": "fix-first", "c": ""}
    assert {name: decided(tally) for name, tally in fleet.decisions.items()} == {"fix-first": {"a": "fix-first"}}


def test_jobs_of_one_cause_keep_their_own_decisions(tmp_path):
    decisions = {"a": "requeue", "b": "fix-first", "c": "requeue", "d": "requeue"}
    fleet = count_records([failed(job, decision=decision) for job, decision in decisions.items()])
    assert decided(fleet.causes[0]) == decisions
    write_page(fleet, tmp_path / "fleet.html")
    html = (tmp_path / "fleet.html").read_text("utf-8")
    assert "Start again as it is (3), Fix it first (1)" in html
    assert '<li>b <span class="soft">Fix it first</span></li>' in html


def test_host_that_is_only_the_place_is_no_culprit():
    own = failed("c", "app.exception", hosts=("n2",), ranks=(3,))
    seen = failed("a", hosts=("n1",), place_hosts=("n1", "n2"))
    fleet = count_records([seen, failed("b", place_hosts=("n2",)), own])
    told = [[(tally.name, tally.count) for tally in tallies] for tallies in (fleet.hosts, fleet.places)]
    assert told == [[("n1", 1)], [("n2", 3)]]


def test_table_tells_how_many_jobs_of_a_cause_need_which_decision():
    decisions = {"a": "requeue", "b": "fix-first", "c": "requeue"}
    records = [
        JobRecord(job, verdict="failed", signature="net.dns", decision=decision, hosts=("n1",), place_hosts=("n2",))
        for job, decision in decisions.items()
    ]
    out = io.StringIO()
    load_writer("table")(records, out)
    assert re.search(r"net\.dns +requeue \(2\), fix-first \(1\) +n1 ×3 +n2 ×3 +a", out.getvalue())


def test_the_page_names_every_decision(tmp_path):
    decisions = ("fix-first", "investigate", "resubmit-with-changes", "requeue-without-host", "requeue", "do-nothing")
    fleet = count_records(failed(name, f"net.{name}", decision=name) for name in decisions)
    for lang, text in (("en", "Start again without a host"), ("zh", "无需处理")):
        write_page(fleet, tmp_path / "fleet.html", lang)
        assert text in (tmp_path / "fleet.html").read_text("utf-8")


def test_equal_bus_ids_on_two_hosts_are_two_gpus():
    fleet = count_records(
        [failed("a", hosts=("n1",), gpus=("0000:c3:00",)), failed("b", hosts=("n2",), gpus=("0000:c3:00",))]
    )
    assert [t.name for t in fleet.gpus] == ["n1 0000:c3:00", "n2 0000:c3:00"]


def test_equal_fingerprints_give_one_recurring_failure():
    fleet = count_records([failed("a", fingerprint="f"), failed("b", fingerprint="f"), failed("c", fingerprint="g")])
    assert [(t.name, t.count, [*t.jobs]) for t in fleet.recurring] == [("f", 2, ["a", "b"])]


def test_causes_first_seen_since_a_day_are_new():
    old, new = failed("a", changed=MONDAY), failed("b", "net.dns", changed=MONDAY + DAY)
    assert [t.name for t in count_records([old, new], new_since=MONDAY + 1).new] == ["net.dns"]


def test_hosts_gpus_and_peers_count_once_per_job():
    cause = CauseRow("net.socket-connect", peers=("10.0.0.7:4431", "10.0.0.7:80"))
    fleet = count_records([failed("a", hosts=("n1",), gpus=("n1:3",), causes=(cause,))] * 2)
    assert [[(t.name, t.count) for t in tallies] for tallies in (fleet.hosts, fleet.gpus, fleet.peers)] == [
        [("n1", 2)],
        [("n1:3", 2)],
        [("10.0.0.7", 2)],
    ]


def test_slowest_failed_jobs_come_first():
    jobs = [failed(f"j{n:03}", started=0.0, ended=3600.0 * n) for n in range(300)]
    assert [(r.job, hours) for r, hours in count_records(jobs).slowest[:2]] == [("j299", 299.0), ("j298", 298.0)]


def test_run_without_duration_took_zero_hours():
    assert str(count_records([failed("a", started=MONDAY, ended=MONDAY)]).slowest[0][1]) == "0.0"


def test_unexplained_templates_are_counted():
    jobs = [JobRecord(f"u{n}", verdict="unknown", signature="unknown", templates=("panic <n>",)) for n in range(3)]
    assert [(t.name, t.count) for t in count_records(jobs).unexplained] == [("panic <n>", 3)]


def test_jobs_without_diagnosis_are_counted_by_status():
    fleet = count_records(
        [JobRecord("a", status="stalled"), JobRecord("b", status="stalled"), JobRecord("c", status="died")]
    )
    assert {name: t.count for name, t in fleet.broken.items()} == {"stalled": 2, "died": 1}
    assert fleet.causes == []


def test_large_fleet_takes_bounded_memory():
    fleet = count_records(failed(f"j{n}") for n in range(3000))
    assert fleet.causes[0].count == 3000
    assert len(fleet.causes[0].jobs) == MAX_JOBS_LISTED


def test_same_failure_on_another_host_has_the_same_fingerprint():
    line = "{} {}:{}:31 [3] NCCL WARN Call to connect returned Connection refused by 10.0.0.{}<4431>"
    lines = (
        line.format("2026-11-02 10:00:01", "gpu-a01", 991, 7),
        line.format("2026-11-09 23:59:59", "gpu-b17", 18, 99),
    )
    first, second = (diagnose(io.BytesIO(f"{line}\n".encode())) for line in lines)
    assert fingerprint(first) == fingerprint(second) != ""
