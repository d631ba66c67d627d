"""Scans on a local Dask cluster.  Kills must not change the results."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from logdoctor.archive import Plan, Scan
from logdoctor.archive.checkpoint_log import CheckpointWriter
from logdoctor.archive.clusters import parse_options, start_slurm_cluster
from logdoctor.archive.engines import dask
from logdoctor.model import InputError

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.xdist_group("cluster")

OOM = "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.15 GiB of which 1.10 GiB is free.\n"
FINE = "step 1/2 loss 3.1\nstep 2/2 loss 2.9\nTraining finished.\n"


@pytest.fixture(scope="module", autouse=True)
def _pack_in_cache(cache, knowledge):
    """Compile the pack once for all processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOGDOCTOR_CACHE", str(cache))
        yield


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    place = tmp_path_factory.mktemp("jobs")
    for n in range(24):
        (place / f"j{n:02}").mkdir()
        (place / f"j{n:02}" / "x.log").write_text(FINE * 500 + (OOM if n % 2 else ""))
    return place


@pytest.fixture(scope="module")
def expected_bytes(jobs, tmp_path_factory):
    out = tmp_path_factory.mktemp("serial")
    list(Scan([str(jobs)], Plan(out)).run())
    return (out / "jobs.jsonl").read_bytes()


@pytest.fixture(scope="module")
def cluster():
    import dask as settings

    options = {"distributed.scheduler.allowed-failures": 1}
    with (
        settings.config.set(options),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as local_cluster,
    ):
        yield local_cluster


@pytest.fixture
def writes(monkeypatch):
    """Count the written records of each job."""
    names = Counter[str]()

    def add(self, record):
        names[record.job] += 1
        original_add(self, record)

    original_add = CheckpointWriter.add
    monkeypatch.setattr(CheckpointWriter, "add", add)
    return names


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(dask, "BATCH_JOBS", 1)
    monkeypatch.setattr(dask, "BATCHES_PER_WORKER", 1)


def results(out: Path) -> bytes:
    return (out / "jobs.jsonl").read_bytes()


# ── kills ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_cluster_writes_the_same_bytes_as_one_process(jobs, expected_bytes, cluster, tmp_path):
    list(Scan([str(jobs)], Plan(tmp_path, scheduler=cluster.scheduler_address)).run())
    assert results(tmp_path) == expected_bytes


def test_killed_worker_loses_no_record(jobs, expected_bytes, cluster, tmp_path, writes, small_batches):
    running = Scan([str(jobs)], Plan(tmp_path, scheduler=cluster.scheduler_address)).run()
    assert next(count for count in running if count)
    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
    assert sum(running) == 23
    assert results(tmp_path) == expected_bytes
    assert set(writes.values()) == {1}


def test_killed_client_continues_with_the_remaining_jobs(jobs, expected_bytes, cluster, tmp_path, writes):
    program = (
        "import sys; from pathlib import Path; from logdoctor.archive import Plan, Scan; from logdoctor.archive.engines import dask\n"
        "dask.BATCH_JOBS = dask.BATCHES_PER_WORKER = 1\n"
        "list(Scan([sys.argv[1]], Plan(Path(sys.argv[2]), scheduler=sys.argv[3])).run())\n"
    )
    command = [sys.executable, "-c", program, str(jobs), str(tmp_path), cluster.scheduler_address]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as client:
        until = time.monotonic() + 60
        while not any((tmp_path / "landing").glob("*")) and time.monotonic() < until:
            time.sleep(0.01)
        client.kill()
    again = Scan([str(jobs)], Plan(tmp_path, scheduler=cluster.scheduler_address))
    assert 0 < len(again.todo) < 24
    list(again.run())
    assert results(tmp_path) == expected_bytes
    assert len(writes) == len(again.todo)


def test_restarted_scheduler_loses_no_record(jobs, expected_bytes, tmp_path, writes, monkeypatch, small_batches):
    monkeypatch.setattr(dask, "RETRY_SECONDS", 0.2)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = Scan([str(jobs)], Plan(tmp_path, scheduler=f"tcp://127.0.0.1:{port}")).run()
    first = start_programs(port)
    try:
        assert next(count for count in running if count)
        kill(first)
        second = start_programs(port)
        try:
            list(running)
        finally:
            kill(second)
    finally:
        kill(first)
    assert results(tmp_path) == expected_bytes
    assert set(writes.values()) == {1}


def start_programs(port: int) -> list[subprocess.Popen[bytes]]:
    """Start a scheduler and a worker as programs.  Return after the scheduler answers."""
    dask_program = [sys.executable, "-m", "dask"]
    address = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    commands = [
        [*dask_program, "scheduler", *address],
        [*dask_program, "worker", f"tcp://127.0.0.1:{port}", "--nthreads", "1", "--no-nanny", "--no-dashboard"],
    ]
    programs = [subprocess.Popen(c, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for c in commands]
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with socket.socket() as caller:
            if caller.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    return programs


def kill(programs: list[subprocess.Popen[bytes]]) -> None:
    for program in programs:
        program.kill()
        program.wait()


class Trap(distributed.WorkerPlugin):
    """Worker plugin that kills its worker at job j01."""

    def setup(self, worker):
        from logdoctor.archive import diagnose_task

        def diagnose_or_die(paths, *, name, **rest):
            if name.endswith("j01"):
                os._exit(9)
            return original(paths, name=name, **rest)

        original = diagnose_task.diagnose
        diagnose_task.diagnose = diagnose_or_die

    def teardown(self, worker):
        """Undo the trap for the next test."""
        from logdoctor import diagnose
        from logdoctor.archive import diagnose_task

        diagnose_task.diagnose = diagnose


def test_job_that_kills_its_workers_gives_a_died_record(cluster, tmp_path):
    for n in range(2):
        (tmp_path / "jobs" / f"j0{n}").mkdir(parents=True)
        (tmp_path / "jobs" / f"j0{n}" / "x.log").write_text(OOM)
    with distributed.Client(cluster, set_as_default=False) as client:
        client.register_plugin(Trap(), name="trap")
        scan = Scan([str(tmp_path / "jobs")], Plan(tmp_path / "out", scheduler=cluster.scheduler_address))
        list(scan.run())
        client.unregister_worker_plugin("trap")
    assert [r.status for r in scan.records()] == ["diagnosed", "died"]
    again = Scan([str(tmp_path / "jobs")], Plan(tmp_path / "out"))
    assert [Path(job.name).name for job in again.todo] == ["j01"]


# ── faulty clusters ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_silent_scheduler_is_an_immediate_error(jobs, tmp_path, monkeypatch):
    monkeypatch.setattr(dask, "CONNECT_SECONDS", 0.5)
    with pytest.raises(InputError, match="no scheduler answers"):
        list(Scan([str(jobs)], Plan(tmp_path, scheduler="tcp://127.0.0.1:9")).run())


def test_workers_with_other_rules_are_refused(jobs, cluster, tmp_path, monkeypatch):
    monkeypatch.setattr("logdoctor.pipeline.knowledge.__version__", "0.0.1")
    monkeypatch.setattr(dask, "_load_pack", dask._load_pack.__wrapped__)
    with pytest.raises(InputError, match="other rules"):
        list(Scan([str(jobs)], Plan(tmp_path, scheduler=cluster.scheduler_address)).run())


def test_missing_dask_gives_an_error_with_the_install_command(jobs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'logdoctor\[cluster\]'"):
        list(Scan([str(jobs)], Plan(tmp_path, scheduler="tcp://127.0.0.1:9")).run())


def test_missing_cluster_package_gives_an_error_with_the_install_command(jobs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask_kubernetes.operator", None)
    with pytest.raises(InputError, match=r"pip install 'logdoctor\[kubernetes\]'"):
        list(Scan([str(jobs)], Plan(tmp_path, cluster="kubernetes")).run())


def test_local_scan_does_not_import_dask(jobs, tmp_path):
    program = (
        "import sys; from pathlib import Path; from logdoctor.archive import Plan, Scan\n"
        "list(Scan([sys.argv[1]], Plan(Path(sys.argv[2]))).run())\n"
        "assert not {'dask', 'distributed', 'tornado', 'dask_jobqueue'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(jobs / "j00"), str(tmp_path)], check=True, timeout=60)


# ── starting clusters ───────────────────────────────────────────────────────────────────────────────────────────────


def test_cluster_options_are_parsed_as_numbers_lists_and_texts():
    options = ["queue=long", "cores=4", 'job_extra_directives=["--qos=low"]', "walltime=01:30:00", "local_directory="]
    assert parse_options(options) == {
        "queue": "long",
        "cores": 4,
        "job_extra_directives": ["--qos=low"],
        "walltime": "01:30:00",
        "local_directory": "",
    }


@pytest.mark.parametrize("wrong", ["queue", "=long", "a b=c"])
def test_cluster_option_without_name_is_refused(wrong):
    with pytest.raises(ValueError, match="is not like"):
        parse_options([wrong])


def test_slurm_options_are_in_the_job_script(monkeypatch):
    jobqueue = pytest.importorskip("dask_jobqueue")
    monkeypatch.setattr(jobqueue.SLURMCluster, "scale", lambda self, jobs: None)
    options = ["queue=long", "account=lab", "walltime=01:30:00", 'job_extra_directives=["--qos=low"]']
    with start_slurm_cluster(
        3, {**parse_options(options), "scheduler_options": {"dashboard_address": ":0"}}
    ) as slurm_cluster:
        script = slurm_cluster.job_script().splitlines()
    wanted = ("-p long", "-A lab", "-t 01:30:00", "--qos=low", "--cpus-per-task=1", "-n 1")
    assert {f"#SBATCH {option}" for option in wanted} <= set(script)
    assert "--nthreads 1" in script[-1]
