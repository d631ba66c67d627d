"""Scans on a Dask cluster of this machine: whatever is killed, the results are those of an undisturbed run."""

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

from logdoctor.model import InputError
from logdoctor.scan import Plan, Scan
from logdoctor.scan.checkpoint_log import CheckpointWriter
from logdoctor.scan.clusters import parse_options, start_slurm_cluster
from logdoctor.scan.engines import dask

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.xdist_group("cluster")

OOM = "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.15 GiB of which 1.10 GiB is free.\n"
FINE = "step 1/2 loss 3.1\nstep 2/2 loss 2.9\nTraining finished.\n"


@pytest.fixture(scope="module", autouse=True)
def _compiled(cache, knowledge):
    """What is known is compiled once for all processes."""
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
def undisturbed(jobs, tmp_path_factory):
    out = tmp_path_factory.mktemp("serial")
    list(Scan([str(jobs)], Plan(out)).run())
    return (out / "jobs.jsonl").read_bytes()


@pytest.fixture(scope="module")
def cluster():
    import dask as settings

    settled = {"distributed.scheduler.allowed-failures": 1}
    with (
        settings.config.set(settled),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as made,
    ):
        yield made


@pytest.fixture
def landed(monkeypatch):
    """How often each job landed."""
    names = Counter[str]()

    def add(self, record):
        names[record.job] += 1
        plain_add(self, record)

    plain_add = CheckpointWriter.add
    monkeypatch.setattr(CheckpointWriter, "add", add)
    return names


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(dask, "BATCH_JOBS", 1)
    monkeypatch.setattr(dask, "BATCHES_PER_WORKER", 1)


def results(out: Path) -> bytes:
    return (out / "jobs.jsonl").read_bytes()


# ── what is killed ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_cluster_gives_the_same_bytes_as_one_process(jobs, undisturbed, cluster, tmp_path):
    list(Scan([str(jobs)], Plan(tmp_path, scheduler=cluster.scheduler_address)).run())
    assert results(tmp_path) == undisturbed


def test_a_worker_that_is_killed_costs_no_result(jobs, undisturbed, cluster, tmp_path, landed, small_batches):
    running = Scan([str(jobs)], Plan(tmp_path, scheduler=cluster.scheduler_address)).run()
    assert next(count for count in running if count)
    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
    assert sum(running) == 23
    assert results(tmp_path) == undisturbed
    assert set(landed.values()) == {1}


def test_a_client_that_is_killed_goes_on_where_it_stood(jobs, undisturbed, cluster, tmp_path, landed):
    program = (
        "import sys; from pathlib import Path; from logdoctor.scan import Plan, Scan; from logdoctor.scan.engines import dask\n"
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
    assert results(tmp_path) == undisturbed
    assert len(landed) == len(again.todo)


def test_a_scheduler_that_is_killed_and_comes_again_costs_no_result(
    jobs, undisturbed, tmp_path, landed, monkeypatch, small_batches
):
    monkeypatch.setattr(dask, "RETRY_SECONDS", 0.2)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = Scan([str(jobs)], Plan(tmp_path, scheduler=f"tcp://127.0.0.1:{port}")).run()
    first = cluster_of_programs(port)
    try:
        assert next(count for count in running if count)
        end(first)
        second = cluster_of_programs(port)
        try:
            list(running)
        finally:
            end(second)
    finally:
        end(first)
    assert results(tmp_path) == undisturbed
    assert set(landed.values()) == {1}


def cluster_of_programs(port: int) -> list[subprocess.Popen[bytes]]:
    """A scheduler and a worker, each a program; the scheduler answers."""
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


def end(programs: list[subprocess.Popen[bytes]]) -> None:
    for program in programs:
        program.kill()
        program.wait()


class Trap(distributed.WorkerPlugin):
    """Workers die of the job j01."""

    def setup(self, worker):
        from logdoctor.scan import diagnose_task

        def deadly(paths, *, name, **rest):
            if name.endswith("j01"):
                os._exit(9)
            return plain(paths, name=name, **rest)

        plain = diagnose_task.diagnose
        diagnose_task.diagnose = deadly

    def teardown(self, worker):
        """The next job may be called like that."""
        from logdoctor import diagnose
        from logdoctor.scan import diagnose_task

        diagnose_task.diagnose = diagnose


def test_a_job_that_kills_its_workers_is_a_row_and_the_others_are_done(cluster, tmp_path):
    for n in range(2):
        (tmp_path / "jobs" / f"j0{n}").mkdir(parents=True)
        (tmp_path / "jobs" / f"j0{n}" / "x.log").write_text(OOM)
    with distributed.Client(cluster, set_as_default=False) as client:
        client.register_plugin(Trap(), name="trap")
        made = Scan([str(tmp_path / "jobs")], Plan(tmp_path / "out", scheduler=cluster.scheduler_address))
        list(made.run())
        client.unregister_worker_plugin("trap")
    assert [r.status for r in made.records()] == ["diagnosed", "died"]
    again = Scan([str(tmp_path / "jobs")], Plan(tmp_path / "out"))
    assert [Path(job.name).name for job in again.todo] == ["j01"]


# ── what is wrong with a cluster ────────────────────────────────────────────────────────────────────────────────────


def test_a_scheduler_that_does_not_answer_is_an_error_at_once(jobs, tmp_path, monkeypatch):
    monkeypatch.setattr(dask, "CONNECT_SECONDS", 0.5)
    with pytest.raises(InputError, match="no scheduler answers"):
        list(Scan([str(jobs)], Plan(tmp_path, scheduler="tcp://127.0.0.1:9")).run())


def test_workers_that_know_other_rules_are_refused(jobs, cluster, tmp_path, monkeypatch):
    monkeypatch.setattr("logdoctor.knowledge.__version__", "0.0.1")
    monkeypatch.setattr(dask, "_load_pack", dask._load_pack.__wrapped__)
    with pytest.raises(InputError, match="other rules"):
        list(Scan([str(jobs)], Plan(tmp_path, scheduler=cluster.scheduler_address)).run())


def test_without_dask_the_error_says_what_to_install(jobs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'logdoctor\[cluster\]'"):
        list(Scan([str(jobs)], Plan(tmp_path, scheduler="tcp://127.0.0.1:9")).run())


def test_without_its_package_a_cluster_is_not_started(jobs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask_kubernetes.operator", None)
    with pytest.raises(InputError, match=r"pip install 'logdoctor\[kubernetes\]'"):
        list(Scan([str(jobs)], Plan(tmp_path, cluster="kubernetes")).run())


def test_nothing_of_dask_is_imported_by_a_scan_of_this_machine(jobs, tmp_path):
    program = (
        "import sys; from pathlib import Path; from logdoctor.scan import Plan, Scan\n"
        "list(Scan([sys.argv[1]], Plan(Path(sys.argv[2]))).run())\n"
        "assert not {'dask', 'distributed', 'tornado', 'dask_jobqueue'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(jobs / "j00"), str(tmp_path)], check=True, timeout=60)


# ── clusters that are started ───────────────────────────────────────────────────────────────────────────────────────


def test_options_of_a_cluster_are_numbers_lists_and_texts():
    given = ["queue=long", "cores=4", 'job_extra_directives=["--qos=low"]', "walltime=01:30:00", "local_directory="]
    assert parse_options(given) == {
        "queue": "long",
        "cores": 4,
        "job_extra_directives": ["--qos=low"],
        "walltime": "01:30:00",
        "local_directory": "",
    }


@pytest.mark.parametrize("wrong", ["queue", "=long", "a b=c"])
def test_an_option_of_a_cluster_without_a_name_is_refused(wrong):
    with pytest.raises(ValueError, match="is not like"):
        parse_options([wrong])


def test_slurm_is_asked_for_jobs_of_one_process_in_the_queue_that_is_wanted(monkeypatch):
    jobqueue = pytest.importorskip("dask_jobqueue")
    monkeypatch.setattr(jobqueue.SLURMCluster, "scale", lambda self, jobs: None)
    given = ["queue=long", "account=lab", "walltime=01:30:00", 'job_extra_directives=["--qos=low"]']
    with start_slurm_cluster(3, {**parse_options(given), "scheduler_options": {"dashboard_address": ":0"}}) as made:
        script = made.job_script().splitlines()
    wanted = ("-p long", "-A lab", "-t 01:30:00", "--qos=low", "--cpus-per-task=1", "-n 1")
    assert {f"#SBATCH {option}" for option in wanted} <= set(script)
    assert "--nthreads 1" in script[-1]
