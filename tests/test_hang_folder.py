"""The folder of Ray Train's hang detector: reports of RAS, stacks of all ranks and states of GPUs are one job.

Source: Ray 2.60 and 2.61, train/v2, callback of the hang detector: names of its folders and files.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from logdoctor.pipeline.diagnosis import diagnose

RANKS, LATE = 4, 2
WAITS = ["    all_reduce (torch/distributed/distributed_c10d.py:2810)", "    sync (train_loop.py:71)"]
WORKS = ["    read (builtins)", "    next_shard (shards.py:31)"]
REPORT = """\
Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      2          2            1          4        4

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2         2         4         4   RUNNING  MISMATCH

Errors
======

Warnings
========

#0-0 (9c01) MISMATCH
  Communicator ranks have different AllReduce operation counts
  3 ranks have launched up to operation 812
  1 ranks have launched up to operation 811
  Rank 2 -- GPU 0 managed by process 7002 on node 10.4.0.12
"""
GPUS = """\
==============NVSMI LOG==============

Timestamp                                 : Wed Sep  2 11:04:31 2026
Driver Version                            : 570.124.06
GPU 00000000:1B:00.0
    Remapped Rows
        Pending                           : No
    ECC Errors
        Volatile
            DRAM Uncorrectable            : 0
"""


def report(minute: int) -> str:
    status = {"init_state": 0, "async_error": 0, "finalize_called": False, "destroy_flag": False, "abort_flag": False}
    members = [
        {
            "rank": rank,
            "host": f"10.4.0.1{rank // 2 + 1}",
            "pid": 7000 + rank,
            "cuda_dev": rank % 2,
            "nvml_dev": rank % 2,
            "status": status,
            "collective_counts": {"Broadcast": 3, "AllReduce": 812 - (rank == LATE)},
        }
        for rank in range(RANKS)
    ]
    counts = {"size": RANKS, "ranks_count": RANKS, "missing_ranks_count": 0}
    head = {"nccl_version": "2.29.2", "timestamp": f"2026-09-02 11:0{minute}:31", "communicators_count": 1}
    return json.dumps({**head, "communicators": [{"hash": "0x9c01", **counts, "ranks": members, "missing_ranks": []}]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {f"nccl_ras/ncclras_2026-09-02-11-0{minute}-31.json": report(minute) for minute in range(3)}
    files["nccl_ras/ncclras_report.txt"] = REPORT
    for rank in range(RANKS):
        stack = WORKS if rank == LATE else WAITS
        head = [f"Process {7000 + rank}: ray::RayTrainWorker.run", "Python v3.11.9 (/opt/ray/bin/python3.11)", ""]
        thread = f'Thread {7000 + rank} (active{"+gil" * (rank == LATE)}): "MainThread"'
        files[f"stack_traces/rank_{rank}.log"] = "\n".join([*head, thread, *stack, "    main (train_loop.py:90)", ""])
    files |= {f"nvidia_smi/node_10.4.0.1{node}.log": GPUS for node in (1, 2)}
    for name, text in files.items():
        path = tmp_path / "hang_detector" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_a_folder_of_the_hang_detector_gives_one_answer(folder, knowledge):
    diagnosis = diagnose(folder, knowledge=knowledge)
    assert diagnosis.verdict == "failed"
    assert [cause.culprit.ranks for cause in diagnosis.causes[:1]] == [(LATE,)]


@pytest.mark.parametrize(("polls", "expected"), [(3, "failed"), (1, "no-end-seen")])
def test_ranks_one_call_apart_stand_still_only_if_several_polls_say_so(polls, expected, folder, knowledge):
    files = sorted((folder / "hang_detector" / "nccl_ras").glob("*.json"))[:polls]
    diagnosis = diagnose([str(path) for path in files], knowledge=knowledge)
    assert diagnosis.verdict == expected
    assert [cause.culprit.ranks for cause in diagnosis.causes] == [(LATE,)] * (expected == "failed")
