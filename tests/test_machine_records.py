"""Records of machines from another time or of another host decide nothing (see `lifecycle.machine_records`)."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from logdoctor.model import Diagnosis
from logdoctor.pipeline.diagnosis import diagnose
from logdoctor.reasoning.lifecycle.clocks import A_YEAR

CORPUS = Path(__file__).parent.parent / "corpus"
LOGS = {".log", ".txt", ".out", ".err"}
START = datetime(2026, 3, 14, 10, 0, tzinfo=timezone.utc)
DEVICE = "kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=8831, name=python3, GPU has fallen off the bus."
KILL = (
    "kernel: Out of memory: Killed process 8831 (python3) total-vm:91834092kB, anon-rss:61834092kB, file-rss:0kB, "
    "shmem-rss:0kB, UID:1000 pgtables:140000kB oom_score_adj:0"
)
MACHINE = (
    "systemd[1]: Started Session 4 of user root.",
    DEVICE,
    KILL,
    "sshd[900]: error: kex_exchange: closed by host",
)


def job_log(*, timed_end: bool = True, host: str = "") -> str:
    """Return the log of a job that starts at `START`, runs for 40 minutes and fails without saying why."""
    lines = [f"step {n}/900 loss 2.{n}" for n in range(40)]
    lines.append("[ERROR] training failed: watchdog of the trainer gave up")
    texts = [f"[{START + timedelta(minutes=n):%Y-%m-%d %H:%M:%S}] {line}" for n, line in enumerate(lines)]
    if host:
        texts.insert(
            0, f"{host}:8800:8800 [0] NCCL INFO comm 0x5 rank 0 nranks 1 cudaDev 0 busId 3b000 - Init COMPLETE"
        )
    return "\n".join([*texts, *([] if timed_end else ["Traceback (most recent call last):", "RuntimeError: gave up"])])


def machine_log(offset: timedelta, host: str = "gpu-a07", lines: Sequence[str] = MACHINE) -> str:
    """Return a journal whose first line is ``offset`` after the start of the job."""
    times = (START + offset + timedelta(seconds=n) for n in range(len(lines)))
    return "\n".join(f"{time:%Y-%m-%dT%H:%M:%S}+00:00 {host} {line}" for time, line in zip(times, lines, strict=True))


def diagnosed(knowledge, *logs: str) -> Diagnosis:
    files = [io.BytesIO(log.encode()) for log in logs]
    for number, file in enumerate(files):
        file.name = f"{number}.log"
    return diagnose(files, name="job", knowledge=knowledge)


def answer(diagnosis: Diagnosis) -> object:
    return diagnosis.verdict, [(c.signature, c.rule, c.culprit) for c in diagnosis.causes]


@pytest.mark.parametrize("first", ["machine", "job"])
@pytest.mark.parametrize("days", [-12, -2, 3])
def test_machine_log_of_another_day_changes_nothing_and_is_told(days, first, knowledge):
    logs = [machine_log(timedelta(days=days, hours=-1 if days < 0 else 1)), job_log()]
    diagnosis = diagnosed(knowledge, *(logs if first == "machine" else reversed(logs)))
    assert answer(diagnosis) == answer(diagnosed(knowledge, job_log()))
    told = diagnosis.coverage.not_judged
    assert {entry.why for entry in told} == {f"more than {abs(days)} days {'before' if days < 0 else 'after'} the job"}
    assert min(entry.first_line for entry in told) == 2


@pytest.mark.parametrize(("days", "signature"), [(0, "cuda.fell-off-bus"), (590, "host.oom-kill")])
def test_a_job_without_times_has_those_of_its_containers(days, signature, knowledge):
    pod = f"""Name:  trainer-0
Containers:
  trainer:
    State:          Terminated
      Reason:       OOMKilled
      Exit Code:    137
      Finished:     {START:%a, %d %b %Y %H:%M:%S} +0000
"""
    machine = machine_log(timedelta(days=days, minutes=-20), lines=(DEVICE,))
    diagnosis = diagnosed(knowledge, pod, machine)
    assert signature in {cause.signature for cause in diagnosis.causes}
    assert bool(diagnosis.coverage.not_judged) == bool(days)
    assert ("cuda.fell-off-bus" in {cause.signature for cause in diagnosis.causes}) != bool(days)


@pytest.mark.parametrize("minutes", [39, 60])
def test_machine_log_of_the_time_of_the_job_decides(minutes, knowledge):
    diagnosis = diagnosed(knowledge, machine_log(timedelta(minutes=minutes)), job_log())
    assert diagnosis.causes[0].signature == "cuda.fell-off-bus"
    assert not diagnosis.coverage.not_judged


@pytest.mark.parametrize("minutes", [-50, 0])
def test_machine_log_of_the_hour_before_the_job_is_judged(minutes, knowledge):
    assert not diagnosed(knowledge, machine_log(timedelta(minutes=minutes)), job_log()).coverage.not_judged


def test_machine_log_two_hours_before_a_job_is_set_aside(knowledge):
    diagnosis = diagnosed(knowledge, machine_log(timedelta(hours=-2, minutes=-7)), job_log())
    assert [entry.why for entry in diagnosis.coverage.not_judged] == ["more than 2 hours before the job"] * 2


def test_machine_log_some_hours_behind_the_last_time_decides_if_the_job_goes_on_without_times(knowledge):
    log = machine_log(timedelta(hours=5, minutes=7))
    assert diagnosed(knowledge, log, job_log(timed_end=False)).causes[0].signature == "cuda.fell-off-bus"
    assert diagnosed(knowledge, log, job_log()).coverage.not_judged


def test_machine_whose_clock_is_in_another_time_zone_decides(knowledge):
    zone = timedelta(hours=8)
    log = machine_log(zone + timedelta(minutes=39, seconds=30), lines=[DEVICE])
    assert diagnosed(knowledge, log, job_log()).causes[0].signature == "cuda.fell-off-bus"


def test_machine_log_alone_is_judged(knowledge):
    diagnosis = diagnosed(knowledge, machine_log(timedelta(days=-12)))
    assert diagnosis.causes[0].signature == "cuda.fell-off-bus"
    assert not diagnosis.coverage.not_judged


def test_time_since_boot_sets_nothing_aside(knowledge):
    log = f"[ 8123.456789] {DEVICE.removeprefix('kernel: ')}\n"
    assert diagnosed(knowledge, log, job_log()).causes[0].signature == "cuda.fell-off-bus"


def test_stamp_without_a_year_is_compared_in_the_nearest_year(knowledge):
    near = f"{START + timedelta(minutes=38):%b %e %H:%M:%S} gpu-a07 {DEVICE}\n"
    far = f"{START - timedelta(days=12):%b %e %H:%M:%S} gpu-a07 {DEVICE}\n"
    assert diagnosed(knowledge, near, job_log()).causes[0].signature == "cuda.fell-off-bus"
    assert diagnosed(knowledge, far, job_log()).coverage.not_judged


def test_machine_log_of_another_host_is_set_aside_if_all_hosts_are_known(knowledge):
    job = job_log(host="gpu-a07")
    foreign, own = (machine_log(timedelta(minutes=38), host, [DEVICE]) for host in ("gpu-a09", "gpu-a07"))
    assert [e.why for e in diagnosed(knowledge, foreign, job).coverage.not_judged] == [
        "gpu-a09 is not a host of the job"
    ]
    assert diagnosed(knowledge, own, job).causes[0].signature == "cuda.fell-off-bus"


def test_machine_log_of_another_host_decides_if_not_all_hosts_are_known(knowledge):
    log = machine_log(timedelta(minutes=38), "gpu-a09", [DEVICE])
    assert diagnosed(knowledge, log, job_log()).causes[0].culprit.hosts == ("gpu-a09",)


def test_flood_of_machine_records_takes_little_memory_and_the_last_one_decides(knowledge, monkeypatch):
    monkeypatch.setattr("logdoctor.reasoning.lifecycle.machine_records.MAX_HELD", 50)
    old = machine_log(timedelta(days=-12), lines=[KILL] * 400)
    log = machine_log(timedelta(minutes=38), lines=[DEVICE])
    diagnosis = diagnosed(knowledge, job_log(), f"{old}\n{log}")
    assert diagnosis.causes[0].signature == "cuda.fell-off-bus"
    assert sum(entry.records for entry in diagnosis.coverage.not_judged) > 100


# ── law L15: a foreign machine log changes nothing ──

_TIME = re.compile(rb"\d\d:\d\d:\d\d")
CASES = sorted(
    folder
    for folder in CORPUS.iterdir()
    if folder.name != "lab" and any(_TIME.search(log.read_bytes()) for log in folder.rglob("*") if log.suffix in LOGS)
)[::9]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_foreign_machine_log_beside_a_case_changes_neither_verdict_nor_causes(case, knowledge):
    logs = sorted(str(path) for path in case.rglob("*") if path.suffix in LOGS)
    before = diagnose(logs, name="job", knowledge=knowledge)
    start = before.job.started
    if start is None:
        pytest.skip("no line of the case has a time")
    year = datetime(2025, 1, 1, tzinfo=timezone.utc).timestamp() if start < A_YEAR else 0.0
    offset = datetime.fromtimestamp(start + year, timezone.utc) - START - timedelta(days=12)
    foreign = io.BytesIO(machine_log(offset, host="zz-node7").encode())
    for inputs in ([foreign, *logs], [*logs, foreign]):
        foreign.seek(0)
        assert answer(diagnose(inputs, name="job", knowledge=knowledge)) == answer(before)


ACCOUNTING = "JobID|JobName|State|ExitCode\n{rows}\n"


def row(job: str, state: str = "OUT_OF_MEMORY", code: str = "0:125") -> str:
    return f"{job}|train|{state}|{code}"


@pytest.mark.parametrize("named", ["SLURM_JOB_ID=4711\n", ""])
@pytest.mark.parametrize("first", ["accounting", "job"])
def test_accounting_of_other_jobs_changes_nothing_and_is_told(named, first, knowledge):
    log = named + job_log()
    logs = [ACCOUNTING.format(rows="\n".join(map(row, ("4709", "4710", "4712")))), log]
    diagnosis = diagnosed(knowledge, *(logs if first == "accounting" else reversed(logs)))
    assert answer(diagnosis) == answer(diagnosed(knowledge, log))
    assert {entry.what for entry in diagnosis.coverage.not_judged} == {"lines of the accounting"}


@pytest.mark.parametrize("task", ["4711", "4711.batch", "4711_3", "4711_3.0"])
def test_accounting_of_the_job_itself_is_judged(task, knowledge):
    logs = ["SLURM_JOB_ID=4711\n" + job_log(), ACCOUNTING.format(rows=row(task))]
    assert diagnosed(knowledge, *logs).causes[0].signature == "host.oom-kill"


def test_of_several_jobs_in_accounting_alone_the_first_that_failed_is_judged(knowledge):
    rows = "\n".join((row("4709", "COMPLETED", "0:0"), row("4710"), row("4711", "TIMEOUT", "0:0")))
    diagnosis = diagnosed(knowledge, ACCOUNTING.format(rows=rows))
    assert diagnosis.causes[0].signature == "host.oom-kill"
    assert "of job 4711, which is another one" in {entry.why for entry in diagnosis.coverage.not_judged}


@pytest.mark.parametrize("file", ["dmesg-node03.txt", "node03/dmesg.txt", "kern.node03.log"])
def test_a_file_named_after_a_host_of_the_job_is_of_that_host(file, tmp_path, knowledge):
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"[{START + timedelta(minutes=38):%a %b %e %H:%M:%S %Y}] {DEVICE.removeprefix('kernel: ')}\n")
    (tmp_path / "job.log").write_text(job_log(host="node03"))
    diagnosis = diagnose([tmp_path / "job.log", path], knowledge=knowledge)
    assert diagnosis.causes[0].culprit.hosts == ("node03",)


def pods_of(job: str, reason: str = "OOMKilled") -> str:
    """Return a pod of a job as ``kubectl get pods -o json`` lists it, ended 38 minutes after the start."""
    ended = {
        "reason": reason,
        "exitCode": 137 if reason == "OOMKilled" else 1,
        "finishedAt": f"{START + timedelta(minutes=38):%Y-%m-%dT%H:%M:%SZ}",
    }
    status = {"phase": "Failed", "containerStatuses": [{"name": "a", "state": {"terminated": ended}}]}
    return (
        json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{job}-worker-0"}, "status": status})
        + "\n"
    )


def test_pods_of_another_job_change_nothing_and_are_told(knowledge):
    log = "".join(f"[pod/fit-worker-0/pytorch] {line}\n" for line in job_log().splitlines())
    diagnosis = diagnosed(knowledge, log, pods_of("fit", "Error") + pods_of("serve"))
    assert diagnosis.answer is None or diagnosis.answer.signature != "host.oom-kill"
    assert "serve-worker-0 is no pod of the job" in {entry.why for entry in diagnosis.coverage.not_judged}


def test_pods_of_the_job_are_judged(knowledge):
    log = "".join(f"[pod/fit-worker-0/pytorch] {line}\n" for line in job_log().splitlines())
    assert diagnosed(knowledge, log, pods_of("fit")).causes[0].signature == "host.oom-kill"


SICK = """\
==============NVSMI LOG==============
Driver Version                            : 570.124.06
GPU 00000000:3B:00.0
    Remapped Rows
        Pending                           : Yes
"""


@pytest.mark.parametrize("beside", ["KeyError: 'lr'", ""])
def test_the_state_of_a_gpu_that_no_line_calls_one_of_the_jobs_decides_nothing_beside_its_own_failure(
    beside, knowledge
):
    crash = (
        f'Traceback (most recent call last):\n  File "/srv/train.py", line 3, in <module>\n{beside}\n' if beside else ""
    )
    diagnosis = diagnosed(knowledge, job_log() + crash, SICK)
    assert diagnosis.causes[0].signature == ("app.exception" if beside else "cuda.ecc")
    assert "cuda.ecc" in {cause.signature for cause in diagnosis.causes}


def test_no_host_of_the_job_is_lent_to_the_state_of_a_gpu(knowledge):
    still_running = job_log(host="node03").replace(
        "[ERROR] training failed: watchdog of the trainer gave up", "step 40/900"
    )
    cause = diagnosed(knowledge, still_running, SICK).causes[0]
    assert (cause.culprit.hosts, cause.place.hosts) == ((), ())


def test_the_state_of_a_gpu_takes_no_good_end_back(knowledge):
    log = "".join(f"step {n}/900 loss 2.{n}\n" for n in range(890, 901)) + "Training completed.\n"
    assert diagnosed(knowledge, log, SICK).verdict == "finished"
