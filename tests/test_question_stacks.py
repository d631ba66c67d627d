"""Stack dumps, and processes whose stack differs from the others."""

from __future__ import annotations

import pytest
from failing_job import diagnose_log
from question_probe import by_name, derive

from logdoctor.logs.line_parser import parse_text
from logdoctor.model import Record
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.questions.stacks import odd_stack

ALL_REDUCE = "    all_reduce (torch/distributed/distributed_c10d.py:2501)\n    step (pretrain.py:88)\n"
BARRIER = "    barrier (torch/distributed/distributed_c10d.py:4120)\n    save (pretrain.py:140)\n"
READING = "    read_shard (corpus/reader.py:31)\n    __next__ (torch/utils/data/dataloader.py:701)\n    step (pretrain.py:80)\n"
BACKWARD = "    _engine_run_backward (torch/autograd/graph.py:769)\n    step (pretrain.py:85)\n"
WORKER = (
    "    poll (selectors.py:415)\n    _worker_loop (torch/utils/data/_utils/worker.py:275)\n    <module> (<string>:1)\n"
)


def spy(pid: int, frames: str, state: str = "idle") -> str:
    return (
        f"Process {pid}: /opt/conda/bin/python3.11 -u pretrain.py\n"
        f"Python v3.11.8 (/opt/conda/bin/python3.11)\n\n"
        f'Thread {pid} ({state}): "MainThread"\n{frames}'
        f'Thread {pid + 900000} (idle): "Thread-1 (run)"\n    wait (threading.py:331)\n'
    )


def derive_records(text: str, state: JobState | None = None) -> dict[str, Record]:
    return by_name(derive(odd_stack, text, state))


def stacks(text: str) -> list[Record]:
    return [e for e in parse_text(text) if e.kind in ("python.stack", "crash.backtrace")]


def test_dumps_of_several_processes_are_several_stacks() -> None:
    records = stacks(spy(70100, ALL_REDUCE) + spy(70101, READING))
    assert [e.pid for e in records] == [70100, 70101]
    assert str(records[0].fields["frames"]).endswith("distributed_c10d.py:all_reduce")


def test_the_main_thread_of_a_dump_without_its_head_names_the_process() -> None:
    records = stacks(f'Thread 70100 (idle): "MainThread"\n{ALL_REDUCE}Thread 70101 (idle): "MainThread"\n{READING}')
    assert [e.pid for e in records] == [70100, 70101]


def test_a_headline_names_the_rank_and_host_of_the_stacks_below() -> None:
    records = stacks(f"===== rank 3 on gx07 =====\n{spy(70103, READING)}")
    assert [(e.rank, e.host, e.pid) for e in records] == [(3, "gx07", 70103)]


def test_a_headline_without_stacks_is_no_stack() -> None:
    assert not stacks("===== rank 3 on gx07 =====\nstep 10 loss: 2.3\n")


def test_the_local_rank_on_the_command_line_is_taken() -> None:
    text = spy(70100, READING).replace("pretrain.py\n", "pretrain.py --local-rank=5\n", 1)
    assert stacks(text)[0].fields["local_rank"] == 5


def test_each_time_out_of_faulthandler_is_a_dump_of_its_own() -> None:
    dump = 'Timeout (0:05:00)!\nThread 0x00007f11aa002740 (most recent call first):\n  File "/a/b.py", line 3 in wait\n'
    assert len(stacks(dump * 3)) == 3


def test_pystack_prints_the_outermost_call_first() -> None:
    text = (
        "Traceback for thread 5002 (python) [] (most recent call last):\n"
        '    (Python) File "/opt/x/threading.py", line 995, in _bootstrap\n'
        "Traceback for thread 5001 (python) [Has the GIL] (most recent call last):\n"
        '    (Python) File "/opt/x/train.py", line 20, in <module>\n        main()\n'
        '    (Python) File "/opt/x/train.py", line 12, in main\n        dist.barrier()\n'
    )
    (records,) = stacks(text)
    assert (records.pid, records.fields["where"], records.fields["threads"]) == (5001, "train.py:12 in main", 2)


def test_first_thread_of_gdb_is_the_main_thread_at_any_position() -> None:
    text = (
        'Thread 2 (Thread 0x7f1100000700 (LWP 8111) "solver"):\n#0  0x00007f1c in __poll () from /lib64/libc.so.6\n'
        'Thread 1 (Thread 0x7f1100000740 (LWP 8110) "solver"):\n'
        "#0  0x00007f1c in opal_progress () from /opt/ompi/lib/libopen-pal.so.40\n"
        "#1  0x00007f1c in PMPI_Allreduce () from /opt/ompi/lib/libmpi.so.40\n"
        "[Inferior 1 (process 8110) detached]\n"
        'Thread 1 (Thread 0x7f2200000740 (LWP 8120) "solver"):\n#0  0x00007f1c in work () at solver.c:41\n'
    )
    records = stacks(text)
    assert [e.pid for e in records] == [8110, 8120]
    assert records[0].fields["frames"] == ("opal_progress", "PMPI_Allreduce")


def test_single_process_that_works_while_the_others_wait_is_odd() -> None:
    found = derive_records(spy(70100, ALL_REDUCE) + spy(70101, READING, "active") + spy(70102, ALL_REDUCE))
    fields = found["odd_stack"].fields
    assert (fields["odd_pids"], fields["at"], fields["others"], fields["others_at"]) == ((70101,), "data", 2, "comm")


def test_single_process_in_another_collective_is_odd() -> None:
    found = derive_records(spy(70100, ALL_REDUCE) + spy(70101, BARRIER) + spy(70102, ALL_REDUCE))
    assert (found["odd_stack"].fields["odd_pids"], found["odd_stack"].fields["at"]) == ((70101,), "comm")


def test_all_in_the_same_call_give_same_stack_and_no_odd_process() -> None:
    found = derive_records("".join(spy(70100 + i, ALL_REDUCE) for i in range(4)))
    assert list(found) == ["same_stack"]
    assert found["same_stack"].fields["count"] == 4


def test_two_against_two_give_no_odd_process() -> None:
    text = "".join(spy(70100 + i, ALL_REDUCE if i < 2 else READING) for i in range(4))
    assert not derive_records(text)


def test_two_processes_with_one_that_reads_data_name_the_reader() -> None:
    assert derive_records(spy(70100, ALL_REDUCE) + spy(70101, READING))["odd_stack"].fields["odd_pids"] == (70101,)


def test_two_processes_that_wait_or_work_unnamed_give_no_odd_process() -> None:
    assert "odd_stack" not in derive_records(spy(70100, ALL_REDUCE) + spy(70101, BARRIER))
    assert not derive_records(spy(70100, ALL_REDUCE) + spy(70101, "    step (pretrain.py:85)\n"))


def test_workers_of_a_data_loader_are_no_ranks() -> None:
    text = spy(70100, ALL_REDUCE) + spy(70101, ALL_REDUCE) + spy(70102, ALL_REDUCE) + spy(70111, WORKER)
    assert list(derive_records(text)) == ["same_stack"]


def test_the_latest_dump_of_a_process_counts() -> None:
    early = spy(70100, READING) + spy(70101, ALL_REDUCE) + spy(70102, ALL_REDUCE)
    late = "".join(spy(70100 + i, ALL_REDUCE) for i in range(3))
    assert list(derive_records(early + late)) == ["same_stack"]


def test_ranks_in_different_calls_of_a_backward_pass_give_no_odd_process() -> None:
    text = spy(70100, BACKWARD) + spy(70101, ALL_REDUCE) + spy(70102, BACKWARD) + spy(70103, ALL_REDUCE)
    assert not derive_records(text)


def test_a_dump_without_any_name_of_its_process_does_not_count() -> None:
    text = 'Timeout (0:05:00)!\n  File "/a/b.py", line 3 in wait\n'
    assert not derive_records(text * 4)


def test_ranks_are_named_by_the_tags_in_front_of_their_dumps() -> None:
    head = "[rank{0}]: Current thread 0x00007f{0}1aa002740 (most recent call first):\n"
    waits = '[rank{0}]:   File "/x/site-packages/torch/distributed/distributed_c10d.py", line 4120 in barrier\n'
    saves = '[rank{0}]:   File "/x/site-packages/torch/serialization.py", line 850 in save\n'
    text = "".join((head + (saves if rank == 0 else waits)).format(rank) for rank in range(4))
    fields = derive_records(text)["odd_stack"].fields
    assert (fields["odd"], fields["at"]) == ((0,), "save")


def test_pipeline_stages_give_no_odd_process() -> None:
    receives = "    recv (torch/distributed/distributed_c10d.py:2001)\n    forward (pipe.py:88)\n"
    assert not derive_records(
        spy(70100, receives) + spy(70101, ALL_REDUCE) + spy(70102, receives) + spy(70103, receives)
    )


def test_stacks_of_processes_that_their_watchdog_aborted_are_compared() -> None:
    text = ""
    for rank in range(4):
        work = "serialization.py" if rank == 2 else "distributed/distributed_c10d.py"
        call = "save" if rank == 2 else "all_reduce"
        text += (
            f"[rank{rank}]: Fatal Python error: Aborted\n[rank{rank}]: \n"
            f"[rank{rank}]: Thread 0x00007f{rank}1bb002740 (most recent call first):\n"
            f"[rank{rank}]:   <no Python frame>\n"
            f"[rank{rank}]: Current thread 0x00007f{rank}1cc002740 (most recent call first):\n"
            f"[rank{rank}]:   <no Python frame>\n"
            f"[rank{rank}]: Thread 0x00007f{rank}1aa002740 (most recent call first):\n"
            f'[rank{rank}]:   File "/x/site-packages/torch/{work}", line 850 in {call}\n'
            f'[rank{rank}]:   File "/x/train.py", line 12 in main\n'
        )
    fields = derive_records(text)["odd_stack"].fields
    assert (fields["odd"], fields["at"]) == ((2,), "save")


def test_segmentation_fault_is_no_wait() -> None:
    text = ""
    for rank in range(3):
        text += f"[rank{rank}]: Fatal Python error: Segmentation fault\n"
        text += f"[rank{rank}]: Current thread 0x00007f{rank}1aa002740 (most recent call first):\n"
        text += f'[rank{rank}]:   File "/x/train.py", line 12 in main\n'
    assert not derive_records(text)


def test_line_of_the_call_is_the_evidence() -> None:
    found = derive_records(spy(70100, ALL_REDUCE) + spy(70101, BARRIER) + spy(70102, ALL_REDUCE))
    assert found["odd_stack"].line.text.strip().startswith("barrier (")


def test_process_that_gdb_names_only_as_it_detaches_is_compared(knowledge):
    dump = (
        "0x00007f64b46934ff in ?? () from /lib/libmpich.so.12\n"
        "#0  0x00007f64b46934ff in ?? () from /lib/libmpich.so.12\n"
        "#1  0x00007f64b44a3b45 in {} () from /lib/libmpich.so.12\n"
        "#2  0x00005634504850c3 in main () at heat.c:102\n"
        "[Inferior 1 (process {}) detached]\n\n"
    )
    calls = {71: "PMPI_Allreduce", 72: "PMPI_Barrier", 73: "PMPI_Allreduce"}
    cause = diagnose_log("".join(dump.format(call, pid) for pid, call in calls.items()), knowledge).causes[0]
    assert "72" in cause.summary
    assert "PMPI_Barrier" in cause.title


def test_other_process_is_shown_also_if_the_odd_one_is_dumped_last() -> None:
    text = spy(70100, ALL_REDUCE) + spy(70101, ALL_REDUCE) + spy(70102, READING)
    assert {*derive_records(text)} == {"odd_stack", "others_stack"}


def gdb(pid: int, call: str, arguments: str, headline: str = "== solver ==") -> str:
    return (
        f"{headline}\n#0  0x00007f10 in epoll_wait () from /lib64/libc.so.6\n"
        f"#1  0x00007f11 in ompi_coll_inner (module=0x55, rank=77) from /opt/ompi/lib/libmpi.so.40\n"
        f"#2  0x00007f12 in {call} () from /opt/ompi/lib/libmpi.so.40\n"
        f"#3  0x00005513 in relax ({arguments}) at tide.c:64\n#4  0x00005514 in main () at tide.c:91\n"
        f"[Inferior 1 (process {pid}) detached]\n\n"
    )


def test_the_rank_is_read_from_the_argument_of_the_programs_own_function() -> None:
    log = "".join(gdb(8100 + n, "PMPI_Allreduce", f"cells=64, rank={n}, size=3") for n in range(3))
    assert [e.rank for e in stacks(log)] == [0, 1, 2]


def test_a_headline_of_two_marks_names_the_rank() -> None:
    assert [(e.rank, e.pid) for e in stacks(gdb(8104, "PMPI_Bcast", "cells=64", "== rank 4 (pid 8104) =="))] == [
        (4, 8104)
    ]


def test_the_rank_that_stands_in_another_collective_is_told(knowledge) -> None:
    log = "".join(gdb(8100 + n, "PMPI_Allreduce", f"rank={n}, size=4") for n in range(3))
    cause = diagnose_log(log + gdb(8103, "PMPI_Bcast", "rank=3, size=4"), knowledge, hung=True).causes[0]
    assert "Rank 3 (pid 8103) stands apart: the others are in PMPI_Allreduce." in cause.summary


def wait_of(rank: int, call: str = ALL_REDUCE) -> str:
    return f'=== rank {rank} ===\nThread 4{rank} (active): "MainThread"\n{call}'


@pytest.mark.parametrize("absent", [0, 1, 3])
def test_the_rank_without_a_stack_is_missing(absent):
    text = "".join(wait_of(rank) for rank in range(5) if rank != absent)
    record = derive_records(text)["absent_stack"]
    assert record.fields["missing"] == (absent,)


@pytest.mark.parametrize(
    "text",
    [
        "".join(map(wait_of, range(4))),
        "".join(wait_of(rank) for rank in (0, 2, 4)),
        "".join(wait_of(rank, BACKWARD) for rank in (0, 1, 3)),
        "".join(wait_of(rank, ALL_REDUCE if rank else BARRIER) for rank in (0, 1, 3, 4)),
        "".join(map(wait_of, (0, 1, 3))) + "step 41 loss 2.0\n",
    ],
    ids=["all are there", "every other rank", "no collective", "one elsewhere", "work follows"],
)
def test_no_rank_is_missing(text):
    assert "absent_stack" not in derive_records(text)


@pytest.mark.parametrize("count", [1, 2])
def test_one_or_two_processes_that_wait_in_a_collective_are_an_open_question(count: int, knowledge) -> None:
    found = derive_records("".join(spy(70100 + i, ALL_REDUCE) for i in range(count)))
    assert (list(found), found["lone_wait"].fields["alone"]) == (["lone_wait"], count)
    diagnosis = diagnose_log("".join(spy(70100 + i, ALL_REDUCE) for i in range(count)), knowledge)
    assert (diagnosis.verdict, diagnosis.causes) == ("unknown", ())
    assert "all other ranks" in diagnosis.decision.collect[0]


QUEUE = "    get (queue.py:171)\n    main_loop (serve.py:40)\n"
REQUESTS = (
    "    broadcast (torch/distributed/distributed_c10d.py:2501)\n"
    "    broadcast_pyobj (engine/utils.py:812)\n    recv_requests (engine/scheduler.py:40)\n"
)


@pytest.mark.parametrize("frames", [QUEUE, REQUESTS, READING], ids=["queue", "requests", "own work"])
def test_a_lone_process_that_serves_or_works_is_no_open_question(frames: str, knowledge) -> None:
    assert not derive_records(spy(70100, frames))
    assert diagnose_log(spy(70100, frames), knowledge).verdict != "unknown"


def test_a_lone_wait_before_further_steps_is_none() -> None:
    assert not derive_records(spy(70100, ALL_REDUCE) + "step 41 loss 2.1\n")


def test_the_state_of_the_main_thread_is_kept() -> None:
    records = stacks(spy(70100, READING, "idle") + spy(70101, READING, "active+gil"))
    assert [(e.fields.get("idle"), e.fields.get("gil")) for e in records] == [("yes", None), (None, "yes")]


def test_a_library_that_py_spy_names_without_its_folder_is_no_own_frame() -> None:
    frames = "    match (re/__init__.py:166)\n    backward (torch/_tensor.py:3)\n    clean (fit/text.py:34)\n"
    assert stacks(spy(70100, frames))[0].fields["own_frame"] == "text.py:34 in clean"
