"""A launcher's word about the first death goes before what the survivors say, whoever it was and however it is told."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from logdoctor import diagnose
from logdoctor.model import Diagnosis

Launcher = Callable[[int, int, int], list[str]]
NAMES = {4: "Illegal instruction", 6: "Aborted", 9: "Killed", 11: "Segmentation fault"}
NODE = "ice-07"


def by_torchrun(size: int, dead: int, code: int, host: str = NODE, at: str = "07:08:08") -> list[str]:
    told = (
        f"Signal {-code} (SIGANY) received by PID {5200 + dead}" if code < 0 else "To enable traceback see: the manual"
    )
    ended = [f"W0506 {at} 5100 api.py:897] Sending process {5200 + r} closing signal SIGTERM" for r in range(size)]
    return [
        *(line for rank, line in enumerate(ended) if rank != dead),
        f"E0506 {at}.000000 5100 api.py:869] failed (exitcode: {code}) local_rank: {dead} (pid: {5200 + dead})",
        "=" * 60,
        "mesh.py FAILED",
        "-" * 60,
        "Failures:",
        "[1]:",
        "  time      : 2031-05-06_07:08:09",
        f"  host      : {host}",
        f"  rank      : {(dead + 1) % size} (local_rank: {(dead + 1) % size})",
        f"  exitcode  : -15 (pid: {5200 + (dead + 1) % size})  (SIGTERM)",
        "  error_file: <N/A>",
        f"  traceback : Signal 15 (SIGTERM) received by PID {5200 + (dead + 1) % size}",
        "-" * 60,
        "Root Cause (first observed failure):",
        "[0]:",
        f"  time      : 2031-05-06_{at}",
        f"  host      : {host}",
        f"  rank      : {dead} (local_rank: {dead})",
        f"  exitcode  : {code} (pid: {5200 + dead})",
        "  error_file: <N/A>",
        f"  traceback : {told}",
        "=" * 60,
    ]


def by_srun(size: int, dead: int, code: int) -> list[str]:
    how = NAMES[-code] if code < 0 else f"Exited with exit code {code}"
    ended = [f"srun: error: {NODE}: task {rank}: Terminated" for rank in range(size) if rank != dead]
    return [f"srun: error: {NODE}: task {dead}: {how}", "srun: Terminating StepId=811.0", *ended]


def by_mpirun(_: int, dead: int, code: int) -> list[str]:
    if code < 0:
        return [f"mpirun noticed that process rank {dead} with PID 5200 on node {NODE} exited on signal {-code} (any)."]
    return [
        "-" * 74,
        "prterun detected that one or more processes exited with non-zero status, thus causing",
        "the job to be terminated. The first process to do so was:",
        "",
        f"   Process name: [prterun-{NODE}-811@1,{dead}]",
        f"   Exit code:    {code}",
        "-" * 74,
    ]


def by_hydra(_: int, dead: int, code: int) -> list[str]:
    end = f"EXIT STATUS: {code}" if code > 0 else f"KILLED BY SIGNAL: {-code} ({NAMES[-code]})"
    return [
        "=" * 83,
        "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
        f"=   RANK {dead} PID {5200 + dead} RUNNING AT {NODE}",
        f"=   {end}",
        "=" * 83,
    ]


def says_closed(rank: int) -> list[str]:
    return raises(
        rank, f"RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.2.0.4]:{4400 + rank}"
    )


def says_remote(rank: int) -> list[str]:
    return raises(
        rank, "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1691, remote process exited"
    )


def says_timeout(rank: int) -> list[str]:
    call = "WorkNCCL(SeqNum=90, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000)"
    ran = f"Watchdog caught collective operation timeout: {call} ran for 60003{rank} milliseconds before timing out."
    return [f"[rank{rank}]:[E506 07:08:0{rank}.118230411 ProcessGroupNCCL.cpp:629] [Rank {rank}] {ran}"]


def says_store(rank: int) -> list[str]:
    return raises(rank, "torch.distributed.DistNetworkError: Connection reset by peer")


def says_btl(rank: int) -> list[str]:
    return [
        f"[{NODE}][[2211,1],{rank}][btl_tcp_frag.c:241:mca_btl_tcp_frag_recv] readv failed: Connection reset by peer (104)"
    ]


def says_mpich(rank: int) -> list[str]:
    return [
        f"Abort(2139535) on node {rank} (rank {rank} in comm 0): Fatal error in PMPI_Allreduce: Unknown error class, error stack:",
        "MPID_nem_tcp_connpoll(1845): Communication error with rank 7: Connection reset by peer",
    ]


def raises(rank: int, message: str) -> list[str]:
    lines = (
        "Traceback (most recent call last):",
        '  File "/srv/mesh.py", line 40, in step',
        "    exchange(halo)",
        message,
    )
    return [f"[rank{rank}]: {line}" for line in lines]


TORCH = says_closed, says_remote, says_timeout, says_store
PAIRS = [
    *((launcher, says) for launcher in (by_torchrun, by_srun) for says in TORCH),
    *((by_mpirun, says) for says in (says_btl, says_closed, says_remote)),
    (by_hydra, says_mpich),
]


def read(lines: Sequence[str]) -> Diagnosis:
    return diagnose(io.BytesIO("\n".join(lines).encode()))


def job(launcher: Launcher, says: Callable[[int], list[str]], size: int, dead: int, code: int) -> list[str]:
    complaints = [line for rank in range(size) if rank != dead for line in says(rank)]
    return [*complaints, *launcher(size, dead, code)]


@pytest.mark.parametrize(("launcher", "says"), PAIRS)
@pytest.mark.parametrize("code", [1, 3, 77, -6, -9, -11])
def test_silent_rank_that_the_launcher_names_is_the_culprit_of_any_job(
    launcher: Launcher, says: Callable[[int], list[str]], code: int
) -> None:
    for size, dead in ((2, 0), (5, 3), (8, 7)):
        lines = job(launcher, says, size, dead, code)
        answer = read(lines).answer
        assert answer is not None
        assert answer.culprit.ranks == (dead,)


@pytest.mark.parametrize("dead", range(8))
def test_each_rank_of_eight_is_told_with_local_rank_pid_host_and_exit_code(dead: int) -> None:
    answer = read(job(by_torchrun, says_closed, 8, dead, 3)).answer
    assert answer is not None
    told = f"Rank {dead} (local rank {dead}, pid {5200 + dead}) on {NODE} ended first, with exit code 3."
    assert answer.summary.startswith(told)


@pytest.mark.parametrize("launcher", [by_torchrun, by_srun, by_mpirun, by_hydra])
def test_rank_that_complained_itself_is_no_silent_one_of_torch(launcher: Launcher) -> None:
    answer = read([*says_closed(1), *says_closed(2), *launcher(4, 2, 1)]).answer
    assert answer is not None
    assert answer.rule != "collective.rank-died-told"


def test_exception_without_a_rank_may_be_that_of_a_rank_with_exit_code_1() -> None:
    nameless = [line.removeprefix("[rank0]: ") for line in says_closed(0)]
    one, other = (read([*nameless, *by_torchrun(2, 1, code)]).answer for code in (1, 3))
    assert (one and one.rule, other and other.rule) == ("net.peer-closed", "collective.rank-died-told")


@pytest.mark.parametrize("domain", ["", ".cluster.example"])
@pytest.mark.parametrize("host", ["ice-0{}", "ICE-0{}", "c1-ice-0{}"])
@pytest.mark.parametrize("order", [1, -1])
def test_names_of_hosts_and_order_of_files_change_no_culprit(
    tmp_path: Path, host: str, domain: str, order: int
) -> None:
    for dead in (0, 1):
        files = []
        for node in (0, 1):
            name = host.format(node) + domain
            lines = (
                by_torchrun(2, 0, 3, name)
                if node == dead
                else [*says_closed(node), *by_torchrun(2, 0, 1, name, "07:08:11")]
            )
            lines = [
                line.replace("rank      : 0", f"rank      : {node}").replace("[rank1]", f"[rank{node}]")
                for line in lines
            ]
            files.append(tmp_path / f"{node}.log")
            files[-1].write_text("\n".join(lines))
        answer = diagnose(files[::order]).answer
        assert answer is not None
        assert answer.culprit.ranks == (dead,)


@pytest.mark.parametrize("launcher", [by_torchrun, by_srun, by_mpirun])
@pytest.mark.parametrize(
    "words",
    [
        ["ERROR: halo width 3 does not divide 8 cells"],
        ["2031-05-06 07:08:08,101 CRITICAL [mesh] halo width 3 does not divide 8 cells"],
        ["[rank2]: ERROR: halo width 3 does not divide 8 cells", "[rank2]: ERROR: leaving"],
        ["open halo width 3 does not divide 8 cells: No such file or directory"],
        [
            'halo width 3 does not divide 8 cells INTERNAL ASSERT FAILED at "pool.cpp":7, please report a bug to PyTorch.'
        ],
    ],
)
def test_last_words_above_what_the_peers_saw_are_the_reason(launcher: Launcher, words: list[str]) -> None:
    says = says_btl if launcher is by_mpirun else says_closed
    diagnosis = read([*words, *job(launcher, says, 4, 2, 3)])
    assert diagnosis.answer is not None
    assert "halo width 3 does not divide 8 cells" in diagnosis.answer.summary
    assert (diagnosis.answer.culprit.ranks, diagnosis.decision.do) == ((2,), "fix-first")


def test_words_of_another_rank_are_not_the_reason() -> None:
    answer = read(["[rank0]: ERROR: halo width 3 does not divide 8 cells", *job(by_srun, says_closed, 4, 2, 3)]).answer
    assert answer is not None
    assert (answer.rule, answer.culprit.ranks) == ("collective.rank-died-told", (2,))


def test_words_with_work_after_them_are_not_the_reason() -> None:
    steps = [f"step {n} loss 2.{n}" for n in range(9)]
    answer = read(["ERROR: halo width 3 is odd", *steps, *job(by_srun, says_closed, 4, 2, 3)]).answer
    assert answer is not None
    assert answer.rule == "collective.rank-died-told"


def test_nothing_is_started_again_as_it_is_beside_a_failed_assertion() -> None:
    steps = [f"step {n} loss 2.{n}" for n in range(9)]
    said = "mesh: src/halo.cc:211: void Halo::pack(): Assertion `n == width' failed."
    diagnosis = read([*steps, said, *job(by_srun, says_closed, 2, 1, -6)])
    assert diagnosis.answer is not None
    assert (diagnosis.answer.culprit.ranks, diagnosis.decision.do) == ((1,), "fix-first")
