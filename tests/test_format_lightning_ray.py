from __future__ import annotations

from format_probe import read_record, records

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
