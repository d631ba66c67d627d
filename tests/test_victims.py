"""Victims: ranks that report a consequence themselves, and neither are culprits nor show the failure itself."""

from __future__ import annotations

import pytest
from failing_job import TIMEOUT

OOM = "[rank{0}]: RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"
CLOSED = (
    "nodea:4410:45{0} [{0}] misc/socket.cc:50 NCCL WARN socketProgress: Connection closed by remote peer nodeb<39112>"
)
STARTED = (
    "nodea:4410:45{0} [{0}] NCCL INFO comm 0x7f21 rank {0} nranks 4 cudaDev {0} busId 9000 commId 0x8f3a - Init START"
)


@pytest.fixture
def victims_of(cause_of):
    return lambda *lines: cause_of(*lines).victims


def test_ranks_that_wait_for_the_culprit_are_victims(victims_of):
    assert victims_of(OOM.format(3), *(TIMEOUT.format(rank=rank) for rank in (0, 1, 2))) == 3


def test_tasks_that_slurm_ended_report_nothing(victims_of):
    ended = ("srun: error: gx03: task 2: Segmentation fault", "srun: error: gx04: tasks 0-1: Terminated")
    assert victims_of("2: [gx03:17209:0:17209] Caught signal 11 (Segmentation fault: invalid address)", *ended) == 0


def test_abort_of_the_rank_that_tells_the_failure_is_no_further_rank(victims_of):
    launcher = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:"
    dead = "E0611 09:20:43.102000 88121 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: -6) "
    assert victims_of(OOM.format(1), f"{dead}local_rank: 1 (pid: 74) of binary: /usr/bin/python3", launcher) == 0


def test_ranks_that_report_the_same_failure_follow_from_nothing(victims_of):
    waits = [TIMEOUT.format(rank=rank) for rank in range(4)]
    traces = [
        f"[rank{rank}]: torch.distributed.DistBackendError: Watchdog caught collective operation timeout"
        for rank in range(4)
    ]
    assert victims_of(*waits, *traces) == 0
