from __future__ import annotations

import pytest
from format_probe import kinds, read_record, records


@pytest.mark.parametrize(
    ("line", "kind", "level", "fields"),
    [
        (
            "Initializing distributed: GLOBAL_RANK: 6, MEMBER: 7/16",
            "lightning.rank",
            "info",
            {"by_rank": 6, "world_size": 16},
        ),
        ("initializing ddp: GLOBAL_RANK: 1, MEMBER: 2/4", "lightning.rank", "info", {"by_rank": 1, "world_size": 4}),
        (
            "All distributed processes registered. Starting with 16 processes",
            "lightning.world",
            "info",
            {"world_size": 16},
        ),
        (
            "Child process with PID 331 terminated with code -9. Forcefully terminating all other processes to avoid zombies",
            "lightning.child_died",
            "error",
            {"pid": 331, "exit_code": -9, "signal": 9},
        ),
        ("Received SIGTERM: 15", "lightning.signal", "warning", {"signal": 15}),
        ("bypassing sigterm", "lightning.bypass", "warning", {"signal": 15}),
        ("Bypassing signal 15", "lightning.bypass", "warning", {"signal": 15}),
        ("Requeing job 4411...", "lightning.requeue", "warning", {"job": 4411}),
        ("`Trainer.fit` stopped: `max_steps=500` reached.", "lightning.stopped", "info", {"stage": "fit"}),
        ("Detected KeyboardInterrupt, attempting graceful shutdown ...", "lightning.interrupt", "warning", {}),
        (
            "Monitored metric val_loss = nan is not finite. Previous best value was 2.1. Signaling Trainer to stop.",
            "lightning.not_finite",
            "error",
            {"metric": "val_loss", "value": "nan"},
        ),
        ("LOCAL_RANK: 3 - CUDA_VISIBLE_DEVICES: [0,1,2,3]", "lightning.devices", "info", {"by_local_rank": 3}),
        ("Restoring states from the checkpoint path at /scratch/run/last.ckpt", "lightning.resume", "info", {}),
        ("The `srun` command is available on your system but is not used.", "lightning.hint", "info", {}),
    ],
)
def test_lines_of_lightning(line, kind, level, fields):
    record = read_record(records("lightning"), line)
    assert (record.kind, record.level) == (kind, level)
    assert {k: record.fields.get(k) for k in fields} == fields


DEAD = """\
The actor died unexpectedly before finishing this task.
\tclass_name: RolloutWorker
\tactor_id: 0f1e2d3c4b5a69788796a5b401000000
\tpid: 7714
\tnamespace: 2f
\tip: 10.7.3.9
The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file."""


def test_a_dead_actor_is_named_with_process_and_host():
    record = read_record(records("ray"), DEAD)
    expected = {"class_name": "RolloutWorker", "pid": 7714, "host": "10.7.3.9", "exit_type": "SYSTEM_ERROR"}
    assert (record.kind, record.level) == ("ray.actor_died", "error")
    assert {k: record.fields[k] for k in expected} == expected


def test_an_actor_that_died_with_its_owner_names_the_owners_host():
    owner = "Owner Id: 02ff Owner Ip address: 10.7.3.4 Owner worker exit type: SYSTEM_ERROR"
    record = read_record(
        records("ray"), DEAD.partition("worker process")[0] + f"owner has died. {owner} Worker exit detail: gone."
    )
    assert (record.fields["host"], record.fields.get("pid")) == ("10.7.3.4", None)


def test_a_dead_worker_is_named_by_its_own_line():
    line = (
        "A worker died or was killed while executing a task by an unexpected system error. Worker ID: ab12 Node ID: cd34 "
        "Worker IP address: 10.7.3.9 Worker port: 10021 Worker PID: 818 Worker exit type: SYSTEM_ERROR Worker exit detail: x"
    )
    record = read_record(records("ray"), line)
    assert (record.kind, record.fields["pid"], record.fields["host"]) == ("ray.worker_died", 818, "10.7.3.9")


def test_a_planned_end_of_a_worker_is_no_error():
    assert read_record(records("ray"), "Worker PID: 818 Worker exit type: INTENDED_USER_EXIT").level == "info"


@pytest.mark.parametrize(
    ("line", "kind", "level", "fields"),
    [
        (
            "2 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: ab12, IP: 10.7.3.9) over the last time period.",
            "ray.oom",
            "error",
            {"count": 2, "host": "10.7.3.9"},
        ),
        (
            "Memory on the node (IP: 10.7.3.9, ID: ab12) where the task (task ID: 77, name=f) was running was 59.11GB / 62.20GB (0.950), which exceeds the memory usage threshold of 0.95.",
            "ray.oom",
            "error",
            {"host": "10.7.3.9", "used": "59.11GB", "total": "62.20GB"},
        ),
        (
            "1 worker(s) were killed due to the node running low on memory. Memory on the node (IP: 10.7.3.9, ID: ab12) was 28.62GB / 30.00GB (0.954017), which exceeds the memory usage threshold of 0.950000",
            "ray.oom",
            "error",
            {"host": "10.7.3.9", "used": "28.62GB", "total": "30.00GB"},
        ),
        (
            "Memory on the node (IP: 10.7.3.9) was 28.62GB / 30.00GB (0.954017)",
            "ray.oom",
            "error",
            {"host": "10.7.3.9", "used": "28.62GB", "total": "30.00GB"},
        ),
        ("2 worker(s) were killed due to the node running low on memory.", "ray.oom", "error", {}),
        (
            "The node with node id: ab12 and address: 10.7.3.9 and node name: 10.7.3.9 has been marked dead because the detector has missed too many heartbeats from it.",
            "ray.node_died",
            "error",
            {"host": "10.7.3.9"},
        ),
        ("Failed to connect to GCS at address 10.7.3.1:6379", "ray.gcs", "error", {"peer": "10.7.3.1:6379"}),
        ("Raylet is terminated. Termination is unexpected.", "ray.raylet_died", "fatal", {}),
        (
            "The following resource request cannot be scheduled right now: {'GPU': 8.0}.",
            "ray.placement",
            "warning",
            {},
        ),
        (
            "Connecting to existing Ray cluster at address: 10.7.3.1:6379...",
            "ray.cluster",
            "info",
            {"peer": "10.7.3.1:6379"},
        ),
        (
            "/tmp/ray/session_1 is over 95% full, available space: 3; capacity: 99",
            "ray.disk",
            "warning",
            {"percent": 95},
        ),
    ],
)
def test_lines_of_ray(line, kind, level, fields):
    record = read_record(records("ray"), line)
    assert (record.kind, record.level) == (kind, level)
    assert {k: record.fields.get(k) for k in fields} == fields


@pytest.mark.parametrize("line", ["Started actor 3", "GCS is up", "node 3 joined the cluster", "All actors are ready"])
def test_healthy_lines_give_no_record(line):
    assert kinds((*records("ray"), *records("lightning")), line) == []


@pytest.mark.parametrize("indent", ["\t", "    "])
def test_the_process_that_died_is_read_from_the_lines_below_however_they_are_indented(indent):
    below = "".join(f"\n{indent}{line}" for line in ("class_name: Rollout", "pid: 7121", "name: r0", "ip: 10.8.2.31"))
    record = read_record(records("ray"), "The actor died unexpectedly before finishing this task." + below)
    assert (record.fields["pid"], record.fields["host"]) == (7121, "10.8.2.31")
