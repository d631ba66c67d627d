"""Scope, first mover and reporters of a culprit."""

from __future__ import annotations

import io

import pytest
from failing_job import TIMEOUT, diagnose_log

from logdoctor import diagnose

OOM = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"


@pytest.fixture
def culprit_of(cause_of):
    return lambda *lines: cause_of(*lines).culprit


def test_failure_of_all_ranks_sets_none_apart(culprit_of):
    culprit = culprit_of(*(f"[rank{rank}]: {OOM}" for rank in (1, 0, 2)))
    assert (culprit.scope, culprit.why, sorted(culprit.ranks)) == ("all", "all-alike", [0, 1, 2])


def test_failure_of_one_rank_stands_in_its_own_mouth(culprit_of):
    culprit = culprit_of("[rank0]: started", "[rank2]: started", f"[rank1]: {OOM}")
    assert (culprit.scope, culprit.why, culprit.ranks) == ("one", "own-mouth", (1,))


def test_first_in_one_file_is_told_by_order(culprit_of):
    culprit = culprit_of(f"[rank1]: {OOM}", f"[rank0]: {OOM}")
    assert culprit.first is not None
    assert (culprit.first.rank, culprit.first.by) == (1, "order")


def test_who_gave_up_waiting_first_is_not_the_first_mover(culprit_of):
    culprit = culprit_of(*(TIMEOUT.format(rank=rank) for rank in (3, 5)))
    assert culprit.first is not None
    assert (culprit.first.rank, culprit.first.by) == (None, "not-told")


def hung_in(rank, seq, op="ALLREDUCE"):
    """Return the lines of a rank of the default group that gave up in a call."""
    state = (
        "[rank{0}]:[E311 08:14:0{0}.218911023 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank {0}]  failure "
        "detected by watchdog at work sequence id: {1} PG status: last enqueued work: {1}, last completed work: 1"
    )
    return TIMEOUT.format(rank=rank).replace("1841, OpType=ALLREDUCE", f"{seq}, OpType={op}"), state.format(rank, seq)


def test_rank_that_is_behind_is_the_first_mover_by_number(culprit_of):
    culprit = culprit_of(*hung_in(0, 40), *hung_in(1, 40), *hung_in(2, 39))
    assert (culprit.ranks, culprit.why) == ((2,), "odd-one-out")
    assert culprit.first is not None
    assert (culprit.first.rank, culprit.first.by) == (2, "number")


def test_of_two_ranks_in_two_calls_the_lower_number_moved_first_and_neither_is_blamed(culprit_of):
    culprit = culprit_of(*hung_in(0, 44, "_ALLGATHER_BASE"), *hung_in(1, 40))
    assert (culprit.ranks, culprit.scope) == ((), "not-told")
    assert culprit.first is not None
    assert (culprit.first.rank, culprit.first.by) == (1, "number")


def test_call_of_one_rank_is_not_told_of_all(knowledge):
    log = "\n".join([*hung_in(0, 40), *hung_in(1, 39, "BROADCAST")]) + "\n"
    cause = diagnose_log(log, knowledge).causes[0]
    assert cause.title == "A collective timed out on ranks 0-1"
    assert "BROADCAST" not in cause.summary


def test_ranks_that_wait_only_report(culprit_of):
    culprit = culprit_of(*(TIMEOUT.format(rank=rank) for rank in (3, 5)))
    assert (culprit.scope, culprit.ranks, culprit.reporters.ranks) == ("not-told", (), (3, 5))


def test_list_of_ranks_has_no_cap_of_sixteen(culprit_of):
    culprit = culprit_of(*(f"[rank{rank}]: {OOM}" for rank in range(40)))
    assert len(culprit.ranks) == 40


def test_order_from_outside_is_nobodys(culprit_of):
    culprit = culprit_of(
        "slurmstepd: error: *** STEP 77120.0 ON trn03 CANCELLED AT 2025-03-04T11:50:15 DUE TO TIME LIMIT ***"
    )
    assert (culprit.scope, culprit.why, culprit.hosts) == ("nobody", "ordered", ())


USAGE = ["usage: fit.py [-h] [--lr LR]", "fit.py: error: unrecognized arguments: --rate 0.1"]


def summary(*entries):
    """Return a failure summary of torchrun with ranks and exit codes, the root cause first."""
    lines = [f"  rank      : {r} (local_rank: {r})\n  exitcode  : {code} (pid: 7{r})" for r, code in entries]
    return [
        "=" * 20,
        "fit.py FAILED",
        "-" * 20,
        "Failures:",
        "[1]:",
        *lines[1:],
        "-" * 20,
        "Root Cause:",
        "[0]:",
        lines[0],
        "=" * 20,
    ]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([*USAGE, *USAGE, *summary((0, 2), (1, 2))], ("all", (0, 1))),
        ([*USAGE, *summary((0, 2), (1, 2))], ("one", (0,))),
        ([*USAGE, *USAGE, *summary((0, 2), (1, -15))], ("one", (0,))),
    ],
    ids=["both raise it", "it is printed once", "the other was ended"],
)
def test_rank_that_the_launcher_names_is_not_set_apart_from_those_that_ended_alike(culprit_of, lines, expected):
    culprit = culprit_of(*lines)
    assert (culprit.scope, culprit.ranks) == expected


def test_title_names_all_ranks_that_reached_a_limit(knowledge):
    log = "".join(f"[rank{rank}]: OSError: [Errno 24] Too many open files\n" for rank in (1, 0))
    title = diagnose_log(log, knowledge).causes[0].title
    assert "ranks 0-1" in title.casefold()


def test_all_members_on_one_gpu_are_told(knowledge):
    line = (
        "gx:3310:3502 [0] init.cc:871 NCCL WARN Duplicate GPU detected : rank {} and rank 0 both on CUDA device f000\n"
    )
    log = "".join(line.format(rank) for rank in (3, 7))
    assert "0,3,7" in diagnose_log(log, knowledge).causes[0].summary


def test_address_on_which_a_process_listens_is_no_peer(culprit_of):
    bind = "[c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use)."
    assert culprit_of(f"[W socket.cpp:426] {bind}", f"RuntimeError: {bind}").peers == ()


def test_host_that_slurm_lost_is_the_one_to_which_others_lost_their_connections(culprit_of):
    culprit = culprit_of(
        "gp-3:100:101 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1a000 - Init COMPLETE",
        "gp-4:200:201 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 1 nranks 2 cudaDev 0 nvmlDev 0 busId 1a000 - Init COMPLETE",
        "gp-3:100:150 [0] misc/socket.cc:550 NCCL WARN socketProgress: Connection closed by remote peer gp-4<43210>",
        "slurmstepd: error: *** JOB 812 ON gp-3 CANCELLED AT 2025-05-19T07:00:12 DUE TO NODE FAILURE ***",
    )
    assert (culprit.scope, culprit.hosts, culprit.why) == ("one", ("gp-4",), "other-side")


def test_the_only_host_is_no_culprit_of_calls_that_differ(knowledge) -> None:
    frames = 'File "/srv/tide.py", line {0}, in run\n[rank{1}]:     dist.{2}(x)\n'
    library = '[rank{1}]:   File "/opt/env/site-packages/torch/distributed/distributed_c10d.py", line 25, in {2}\n'
    told = "[rank{1}]: RuntimeError: Timed out waiting 60000ms for recv operation to complete\n"
    log = "".join(
        f"[rank{rank}]: Traceback (most recent call last):\n[rank{rank}]:   "
        + (frames + library + told).format(40 + rank, rank, call)
        for rank, call in enumerate(("all_reduce", "barrier"))
    )
    cause = diagnose(
        io.BytesIO(f"[rank0]: world size 2, host hx7, torch 2.9\n{log}".encode()), knowledge=knowledge
    ).causes[0]
    assert (cause.signature, cause.culprit.hosts) == ("collective.desync", ())
