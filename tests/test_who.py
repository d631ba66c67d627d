"""Those to blame: the ground on which somebody is named, how many they are, and who only follows from it."""

from __future__ import annotations

import io
import signal as signals
from collections.abc import Iterator
from pathlib import Path

import pytest
from failing_job import TIMEOUT, diagnose_log
from handmade_records import make_record
from msgspec.structs import replace
from rule_texts import BOOK

from logdoctor import diagnose, model
from logdoctor.model import Line, Source
from logdoctor.pipeline.knowledge import Knowledge
from logdoctor.reasoning.findings import who
from logdoctor.reasoning.findings.symptoms import Match
from logdoctor.reasoning.findings.who import Failure, Naming, Speakers, is_everybody, is_on_one_host, of_class, widen
from logdoctor.reasoning.job_state import JobState

KINDS = {rule.id: rule for rule in BOOK.rules}
OWN, SEEN, HOST = KINDS["cuda.oom"], KINDS["net.socket-refused"], KINDS["host.filesystem-lustre"]
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


# ── ranks and hosts that the first cause names (who.tsv) ─────────────────────────────────────────────────────────


def cases() -> Iterator[tuple[str, str]]:
    """Yield the expected ranks and hosts, and the log."""
    for line in Path(__file__).with_name("who.tsv").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            named, _, log = line.partition("\t")
            yield named, log.replace("\\n", "\n")


@pytest.mark.parametrize(("named", "log"), list(cases()))
def test_first_cause_names_this_rank_and_host(named: str, log: str, knowledge: Knowledge) -> None:
    diagnosis = diagnose(io.BytesIO(log.encode() + b"\n"), knowledge=knowledge)
    culprit = diagnosis.causes[0].culprit
    assert culprit is not None
    parts = [",".join(map(str, culprit.ranks)) or "-", ",".join(culprit.hosts) or "-"]
    assert " ".join(parts) == named


# ── grounds, in cases of the corpus (grounds.tsv) ───────────────────────────────────────────────────────────────────


def told_of(culprit, victims: int) -> list[str]:
    """Return the columns of ``grounds.tsv`` behind the case."""
    first = culprit.first
    parts = (culprit.reporters.ranks, culprit.local_ranks, culprit.pids)
    return [
        culprit.scope,
        culprit.why or "-",
        "probably" if culprit.probably else "-",
        f"{first.by}:{'-' if first.rank is None else first.rank}" if first else "-",
        *(",".join(map(str, part)) or "-" for part in parts),
        str(victims),
    ]


GROUNDED = [
    row.split("\t")
    for row in Path(__file__).with_name("grounds.tsv").read_text(encoding="utf-8").splitlines()
    if not row.startswith("#")
]


@pytest.mark.parametrize("row", GROUNDED, ids=lambda row: row[0])
def test_culprit_of_a_case_stands_on_this_ground(row, knowledge):
    folder = Path(__file__).parent.parent / "corpus" / row[0]
    logs = sorted(str(path) for path in folder.rglob("*") if path.suffix in {".log", ".txt", ".out", ".err"})
    cause = diagnose(logs, knowledge=knowledge).causes[0]
    assert told_of(cause.culprit, cause.victims) == row[1:]


# ── a failure that several ranks show is told of all of them, or of nobody, never of the first one heard ──────────────

START = "W0611 09:14:02.117000 88121 torch/distributed/run.py:792] master"
TRACE = """\
Traceback (most recent call last):
  File "/srv/exp/fit.py", line 40, in <module>
    main()
  File "/srv/exp/fit.py", line 31, in main
    width = table["model"]["width"]
KeyError: 'width'"""
REPORT = """\
E0611 09:20:43.102000 88121 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) \
local_rank: 0 (pid: 4411) of binary: /usr/bin/python3
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
fit.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2024-05-06_10:11:12
  host      : node07
  rank      : 1 (local_rank: 1)
  exitcode  : -15 (pid: 4412)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 4412
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2024-05-06_10:11:12
  host      : node07
  rank      : 0 (local_rank: 0)
  exitcode  : 1 (pid: 4411)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================"""
USING = "{0}:4410:4410 [0] NCCL INFO Bootstrap : Using eth0:{1}<0>"
NO_ANSWER = (
    "{0}: {1}:44{0}0:4533 [{0}] transport/net_ib.cc:1303 NCCL WARN NET/IB : Got completion from peer 10.61.0.4<462{0}3> "
    "with status=12 opcode=0 len=0 vendor err 129 (Send) hca mlx5_{0}"
)
RETRY = (
    "{0}: nodea:44{0}0:4533 [{0}] NCCL INFO socketPollConnect: connect to 10.44.7.12<40311> returned No route to host, "
    "retrying ({1}/35) after sleep for {1}00 msec"
)
GAVE_UP = (
    "{0}: nodea:44{0}0:4533 [{0}] misc/socket.cc:591 NCCL WARN socketPollConnect: connect to 10.44.7.12<40311> returned "
    "No route to host, exceeded error retry count (35)"
)


def test_exception_that_both_ranks_raise_is_of_all(cause_of):
    cause = cause_of(START, TRACE, TRACE, REPORT)
    assert (cause.culprit.scope, cause.culprit.ranks, cause.culprit.hosts) == ("all", (), ())
    assert cause.title == "The program raised KeyError: 'width'"


@pytest.mark.parametrize("signal", [4, 6, 8, 9, 11, 15])
@pytest.mark.parametrize("first", [0, 1])
def test_launcher_names_one_of_two_that_ended_alike(cause_of, signal, first):
    name = signals.Signals(signal).name
    report = REPORT.replace("rank      : 0 ", "rank      : x ").replace("rank      : 1 ", f"rank      : {1 - first} ")
    report = report.replace("rank      : x ", f"rank      : {first} ").replace(
        "exitcode  : -15", f"exitcode  : -{signal}"
    )
    report = report.replace("exitcode  : 1 ", f"exitcode  : -{signal} ").replace("15 (SIGTERM)", f"{signal} ({name})")
    trace = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
    report = report.replace(trace, f"Signal {signal} ({name}) received by PID 4411")
    culprit = cause_of(START, report).culprit
    assert (culprit.scope == "all") == (signal in who.CRASHES)


@pytest.mark.parametrize("raised", [(0,), (0, 1), (0, 1, 2), (1, 2), (2,)])
def test_rank_that_the_launcher_names_raised_it_with_all_who_raised_the_same(cause_of, raised):
    steps = [f"[rank{rank}]: step 410/900 loss 2.113" for rank in range(3)]
    told = REPORT.replace("rank      : 0 ", f"rank      : {raised[0]} ").replace(
        "local_rank: 0", f"local_rank: {raised[0]}"
    )
    traces = ["\n".join(f"[rank{rank}]: {line}" for line in TRACE.splitlines()) for rank in raised]
    culprit = cause_of(START, *steps, *traces, told).culprit
    assert sorted(culprit.ranks) == [*raised]
    assert (culprit.scope == "all") == (len(raised) == 3)


def test_place_of_an_order_from_outside_is_nobodys_fault(cause_of):
    cause = cause_of("slurmstepd: error: *** JOB 51 ON nid07 CANCELLED AT 2026-03-01T10:00:00 DUE TO TIME LIMIT ***")
    assert (cause.culprit.scope, cause.culprit.hosts, cause.place.hosts) == ("nobody", (), ("nid07",))


def test_ranks_that_wait_are_the_place_and_not_the_culprit(cause_of):
    cause = cause_of(*(TIMEOUT.format(rank=rank) for rank in (3, 5)))
    assert (cause.culprit.ranks, sorted(cause.place.ranks)) == ((), [3, 5])


def test_two_exceptions_that_differ_are_not_of_all(cause_of):
    assert cause_of(START, TRACE, TRACE.replace("'width'", "'depth'"), REPORT).culprit.scope != "all"


def test_exception_that_is_raised_once_is_of_the_rank_that_the_launcher_names(cause_of):
    assert cause_of(START, TRACE, REPORT).culprit.ranks == (0,)


def test_proof_is_no_line_about_another_process(cause_of):
    texts = [evidence.line.text for evidence in cause_of(START, TRACE, REPORT).evidence]
    assert not any("SIGTERM" in text for text in texts)


def test_exception_and_its_terminate_are_of_one_process(cause_of):
    error = "CUDA error: device-side assert triggered"
    crash = (
        f"RuntimeError: {error}",
        "terminate called after throwing an instance of 'c10::Error'",
        f"  what():  {error}",
    )
    dead = "E0611 09:20:43.102000 88121 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: -6) "
    assert cause_of(*crash, f"{dead}local_rank: 1 (pid: 74) of binary: /usr/bin/python3").culprit.ranks == (1,)


def test_senders_that_fail_towards_one_peer_are_all_told(cause_of):
    using = (USING.format("gx01", "10.61.0.4"), USING.format("gx02", "10.61.0.5"), USING.format("gx03", "10.61.0.6"))
    cause = cause_of(*using, NO_ANSWER.format(1, "gx02"), NO_ANSWER.format(2, "gx03"))
    assert cause.title == "RDMA transfer of gx02, gx03 to 10.61.0.4 failed: status 12"
    assert "10.61.0.4 (gx01)" in cause.summary


def test_ranks_that_still_retry_show_what_the_first_to_give_up_shows(cause_of):
    using = (USING.format("nodea", "10.44.7.11"), USING.format("nodeb", "10.44.7.12"))
    retries = [RETRY.format(rank, attempt) for rank in (0, 1, 2) for attempt in (1, 20)]
    cause = cause_of(*using, *retries, GAVE_UP.format(2))
    assert (cause.culprit.ranks, cause.culprit.hosts, cause.culprit.reporters.ranks) == ((), ("nodea",), (0, 1, 2))
    assert cause.summary.startswith("Ranks 0-2 on nodea could not connect to 10.44.7.12:40311 (nodeb)")


def test_pid_of_one_rank_does_not_stand_beside_several(cause_of):
    oom = "[rank{}]: RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"
    dead = "E0611 09:20:43.102000 88121 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) "
    culprit = cause_of(
        oom.format(0), oom.format(1), f"{dead}local_rank: 1 (pid: 74) of binary: /usr/bin/python3"
    ).culprit
    assert (sorted(culprit.ranks), culprit.pids) == ([0, 1], ())


def test_program_and_rank_before_its_own_error_name_the_rank(cause_of):
    full = "stencil: rank {0}: writing out/field.{0}.bin failed: No space left on device"
    assert cause_of("step 20", full.format(0), full.format(3)).culprit.ranks == (0, 3)


def test_process_that_names_itself_in_a_mismatch_is_not_accused(cause_of):
    warn = "nodeb:51{0}0:5120 [{0}] init.cu:11 NCCL WARN Mismatched collective detected, please check your collective calls at and around rank {0}."
    assert cause_of(warn.format(5), warn.format(6)).culprit.ranks == ()


def test_two_versions_that_differ_accuse_neither_rank(cause_of):
    line = "nodeq:31:35 [0] init.cc:10 NCCL WARN Mismatched NCCL version detected : rank 0 version 22105 rank 9 version 22304"
    cause = cause_of(line)
    assert (cause.title, cause.culprit.ranks) == ("Rank 0 uses NCCL 22105, rank 9 uses 22304", ())


def test_receiver_that_was_not_ready_is_blamed_and_not_the_sender(cause_of):
    sent = NO_ANSWER.format(1, "gx02").replace("status=12", "status=13")
    assert cause_of(USING.format("gx01", "10.61.0.4"), USING.format("gx02", "10.61.0.5"), sent).culprit.hosts == (
        "gx01",
    )


def test_chain_of_waits_tells_who_is_waited_for_and_does_not_wait(cause_of):
    wait = "NCCL EP timeout for combine receive, rank {}, local_expert_idx 2, src_rank {}"
    assert (
        "Rank 1 is waited for and does not say that it waits." in cause_of(wait.format(2, 0), wait.format(0, 1)).summary
    )


STORE_LOST = (
    "torch.distributed.DistNetworkError: {}",
    "torch.distributed.DistStoreError: {}",
    "RuntimeError: {}",
)
HOW_LOST = ("Failed to recv, got 0 bytes", "Connection was likely closed", "Connection reset by peer", "Broken pipe")


@pytest.mark.parametrize("how", HOW_LOST)
@pytest.mark.parametrize("raised", STORE_LOST)
@pytest.mark.parametrize("server", ["", "node-a1"])
def test_rank_that_lost_the_store_is_not_blamed_and_neither_is_the_host_of_the_store(cause_of, server, raised, how):
    warned = "[rank5]:[W507 12:42:29.476575918 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=83, "
    warned += f"addr=[node-a2]:50402, remote=[{server}]:29500): failed to recv, got 0 bytes"
    trace = '[rank5]: Traceback (most recent call last):\n[rank5]:   File "/home/kim/fit.py", line 20, in <module>\n'
    cause = cause_of("[rank0]: started", *([warned] if server else []), f"{trace}[rank5]: {raised.format(how)}")
    assert (cause.signature, cause.culprit.ranks, cause.culprit.hosts, cause.culprit.peers) == (
        "rdzv.store-lost",
        (),
        (),
        (),
    )
    assert (cause.place.ranks, cause.place.peers) == ((5,), (f"{server}:29500",) if server else ())


ABORTED = {
    "srun": "srun: error: cn7: task 3: Aborted (core dumped)",
    "srun without a core": "srun: error: cn7: task 3: Aborted",
    "srun by its exit code": "srun: error: cn7: task 3: Exited with exit code 134",
    "torchrun": "E1121 16:23:26.000000 140 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -6) "
    "local_rank: 3 (pid: 5120) of binary: /usr/bin/python3",
}
LOST_PEER = (
    "[rank1]: RuntimeError: [../gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.3]:1234",
    "app.segfault",
    "collective.rank-died",
)


@pytest.mark.parametrize("peers", [(), LOST_PEER[:1]], ids=["alone", "seen by a peer"])
def test_rank_that_aborted_without_a_reason_gets_one_answer_from_all_launchers(cause_of, peers):
    causes = [cause_of(*peers, line) for line in ABORTED.values()]
    assert {(cause.signature, cause.culprit.ranks) for cause in causes} == {(LOST_PEER[1 + len(peers)], (3,))}


SHARED_GPU = "NCCL WARN Duplicate GPU detected : rank {} and rank {} both on CUDA device 4e000"


@pytest.mark.parametrize("pair", [(0, 1), (1, 0), (5, 3), (3, 12)])
@pytest.mark.parametrize("seen_by", ["nodeq1:3310:3502 [0] init.cc:871 {}", "RuntimeError: {}"])
def test_both_ranks_on_one_gpu_are_the_place_and_neither_is_blamed(cause_of, seen_by, pair):
    cause = cause_of(seen_by.format(SHARED_GPU.format(*pair)))
    assert (cause.culprit.ranks, cause.culprit.hosts, cause.culprit.gpus) == ((), (), ())
    assert sorted(cause.place.ranks) == sorted(pair)
    assert cause.place.gpus == ("0000:4e:00",)


# ── victims: ranks that report a consequence themselves and do not show the failure itself ────────────────────────────

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
    assert victims_of(f"[rank3]: {OOM}", *(TIMEOUT.format(rank=rank) for rank in (0, 1, 2))) == 3


def test_tasks_that_slurm_ended_report_nothing(victims_of):
    ended = ("srun: error: gx03: task 2: Segmentation fault", "srun: error: gx04: tasks 0-1: Terminated")
    assert victims_of("2: [gx03:17209:0:17209] Caught signal 11 (Segmentation fault: invalid address)", *ended) == 0


def test_abort_of_the_rank_that_tells_the_failure_is_no_further_rank(victims_of):
    launcher = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:"
    dead = "E0611 09:20:43.102000 88121 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: -6) "
    assert victims_of(f"[rank1]: {OOM}", f"{dead}local_rank: 1 (pid: 74) of binary: /usr/bin/python3", launcher) == 0


def test_ranks_that_report_the_same_failure_follow_from_nothing(victims_of):
    waits = [TIMEOUT.format(rank=rank) for rank in range(4)]
    traces = [
        f"[rank{rank}]: torch.distributed.DistBackendError: Watchdog caught collective operation timeout"
        for rank in range(4)
    ]
    assert victims_of(*waits, *traces) == 0


# ── one, some, all, nobody, or not told ───────────────────────────────────────────────────────────────────────────────


def job(expected=None, ranks=(), hosts=()):
    state = JobState()
    state.processes.expected, state.processes.ranks, state.processes.hosts = expected, {*ranks}, dict.fromkeys(hosts)
    return state


@pytest.mark.parametrize(
    ("count", "expected", "ranks", "everybody"),
    [
        (4, 4, (), True),
        (3, 4, (), False),
        (4, None, range(4), True),
        (3, None, range(4), False),
        (2, None, {3, 1}, False),
        (1, 1, {0}, False),
        (1, None, (), False),
        (5, 4, (), True),
    ],
)
def test_everybody_is_each_rank_that_the_job_can_have(count, expected, ranks, everybody):
    assert is_everybody(Naming(count=count), job(expected, ranks)) is everybody


def test_highest_rank_that_is_named_tells_how_many_there_are_at_least():
    assert not is_everybody(Naming("named", (5, 11)), job())


@pytest.mark.parametrize(
    ("naming", "rule", "scope", "why"),
    [
        (Naming("ordered"), OWN, "nobody", "ordered"),
        (Naming(), OWN, "not-told", ""),
        (Naming(), SEEN, "not-told", "only-reports"),
        (Naming("own-mouth", (2,)), OWN, "one", "own-mouth"),
        (Naming("own-mouth", (1, 2)), OWN, "some", "own-mouth"),
        (Naming("own-mouth", (0, 1, 2, 3)), OWN, "all", "all-alike"),
        (Naming("own-mouth", (0, 1, 2, 3)), SEEN, "some", "own-mouth"),
        (Naming("named", (0, 1, 2, 3)), OWN, "all", "all-alike"),
        (Naming("odd-one-out", (0, 1, 2, 3)), OWN, "all", "all-alike"),
        (Naming("odd-one-out", (0, 1, 2, 3)), KINDS["collective.desync"], "all", "all-alike"),
        (Naming("first-end", (0, 1, 2, 3)), OWN, "all", "all-alike"),
        (Naming("all-alike", count=4), OWN, "all", "all-alike"),
        (Naming("all-alike", count=3), OWN, "not-told", ""),
        (Naming("other-side", peers=("10.0.0.1:40",)), SEEN, "one", "other-side"),
        (Naming("named", gpus=("1b:00",)), OWN, "one", "named"),
        (Naming("named", hosts=("gx1",)), OWN, "one", "named"),
        (Naming("named", hosts=("gx1", "gx2")), OWN, "some", "named"),
        (Naming("own-mouth", (0, 1), ("gx1",)), HOST, "one", "own-mouth"),
    ],
)
def test_scope_of_those_who_are_named_in_a_job_of_four_ranks(naming, rule, scope, why):
    culprit = widen(naming, rule, (3,), job(4))
    assert (culprit.scope, culprit.why) == (scope, why)


@pytest.mark.parametrize(
    ("naming", "rule", "ranks", "reporters"),
    [
        (Naming("own-mouth", (1, 2)), OWN, (1, 2), (0, 3)),
        (Naming("other-side", hosts=("gx1",)), SEEN, (), (0, 1, 3)),
        (Naming("own-mouth", (0, 1), ("gx1",)), HOST, (), (0, 1, 3)),
        (Naming("own-mouth", (0, 1)), HOST, (0, 1), (3,)),
        (Naming("own-mouth", (1,), ("gx1",)), HOST, (1,), (0, 3)),
        (Naming("ordered"), OWN, (), ()),
        (Naming("all-alike", count=4), OWN, (), ()),
    ],
)
def test_those_who_tell_of_it_and_are_not_named_are_reporters(naming, rule, ranks, reporters):
    culprit = widen(naming, rule, (0, 1, 3), job(8))
    assert (culprit.ranks, culprit.reporters.ranks, culprit.reporters.count) == (ranks, reporters, len(reporters))


@pytest.mark.parametrize(
    ("expected", "ranks", "hosts", "sure", "maybe"),
    [
        (8, {0}, ("a",), True, True),
        (9, {0}, ("a",), False, False),
        (16, range(16), ("a",), True, True),
        (None, {0}, ("a",), False, True),
        (8, {0}, ("a", "b"), False, False),
        (8, {0}, (), False, False),
    ],
)
def test_job_is_on_one_host_if_its_ranks_fit_there(expected, ranks, hosts, sure, maybe):
    state = job(expected, ranks, hosts)
    assert (is_on_one_host(state, sure=True), is_on_one_host(state, sure=False)) == (sure, maybe)


def failure(kind, **fields):
    """Return a failure whose only line is of ``kind``."""
    record = make_record(Line("job.log", 1, "died"), kind, "died", Source(rank=1), "error", fields)
    return Failure(OWN, {"shown": [Match(record, {})]}, (), {}, Speakers([record], (1,), ()))


@pytest.mark.parametrize(
    ("kind", "why"),
    [("ledger.first_death", "first-end"), ("ledger.odd_stack", "odd-one-out"), ("cuda.error", "own-mouth")],
)
def test_first_ground_that_names_somebody_counts(kind, why):
    namings = [naming for ground in who.GROUNDS if (naming := ground(failure(kind), job(4)))]
    assert (namings[0].why, namings[0].ranks) == (why, (1,))


@pytest.mark.parametrize(
    ("heard", "hosts", "speakers", "apart"),
    [
        ({0, 1}, (), ((1,), ()), True),
        ({1}, ("a", "b"), ((1,), ("a",)), False),
        ((), ("a", "b"), ((), ("a",)), True),
        ((), ("a",), ((), ("a",)), False),
    ],
)
def test_process_stands_apart_if_others_were_heard_that_do_not_report_it(heard, hosts, speakers, apart):
    told = failure("nccl.warn")
    rule, shown = KINDS["nccl.internal"], replace(told.speakers, ranks=speakers[0], hosts=speakers[1])
    named = of_class(replace(told, rule=rule, speakers=shown), job(4, heard, hosts))
    assert named == (speakers if apart else ((), ()))


@pytest.mark.parametrize(
    ("ranks", "hosts", "text"),
    [((5,), ("node-b",), "rank 5 (node-b)"), ((4, 5), (), "ranks 4-5"), ((), ("a", "b"), "a, b"), ((), (), "")],
)
def test_culprit_that_a_line_blames_is_told_with_rank_and_host(ranks, hosts, text):
    assert who.describe(model.Culprit(ranks, hosts), "en") == text


def test_culprit_that_a_line_blames_has_no_plural_in_chinese():
    assert who.describe(model.Culprit((4, 5)), "zh") == "rank 4-5"


def test_grounds_are_asked_in_the_order_that_the_model_tells():
    assert tuple(ground.__name__.replace("_", "-") for ground in who.GROUNDS) == model.GROUNDS


def test_order_to_end_is_nobodys_in_each_rule():
    ended = [rule for rule in BOOK.rules if rule.failure_class == "told to end" and not who.is_ordered(rule.signature)]
    assert ended
    assert all({*rule.culprit.values()} == {"nobody"} and len(rule.culprit) == 2 for rule in ended)
