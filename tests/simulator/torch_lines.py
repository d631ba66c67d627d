"""Lines as PyTorch 2.1 to 2.9 prints them.

They come from ProcessGroupNCCL, tracebacks, and torchrun's agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from simulator.cluster import Cluster, Rank
from simulator.groups import Group

TIMEOUT_MS = 600000
PLACES = {"2.1": 474, "2.4": 607, "2.6": 629, "2.7": 632, "2.9": 683}
SIGNALS = {6: "SIGABRT", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM", 7: "SIGBUS"}


@dataclass(frozen=True)
class Work:
    """A collective, send or receive of a process group.

    Without ``group`` it is the default group.
    """

    seq: int
    op: str
    numel: int
    group: Group | None = None

    def place(self, rank: Rank) -> int:
        """Return the number of ``rank`` inside the group."""
        return self.group.place(rank) if self.group else rank.number

    def __str__(self) -> str:
        out = self.numel * 8 if "ALLGATHER" in self.op else self.numel
        return f"WorkNCCL(SeqNum={self.seq}, OpType={self.op}, NumelIn={self.numel}, NumelOut={out}, Timeout(ms)={TIMEOUT_MS})"


def _cpp(cluster: Cluster, time: float, rank: Rank, line: int, text: str, level: str = "E") -> str:
    """Return a line of c10's logger. PyTorch 2.1 prints neither rank nor time."""
    if cluster.torch == "2.1":
        return f"[{level} ProcessGroupNCCL.cpp:{line}] {text}"
    at = cluster.moment(time, rank.host)
    stamp = f"{at.month}{at.day:02} {at:%H:%M:%S}.{(rank.pid * 7919 + int(time * 1000)) % 10**9:09}"
    return f"[rank{rank.number}]:[{level}{stamp} ProcessGroupNCCL.cpp:{line}] {text}"


def _group(cluster: Cluster, rank: Rank, group: Group | None = None) -> str:
    place = group.place(rank) if group else rank.number
    number, key, name = (group.number, group.key, group.name) if group else (0, 0, "default_pg")
    if cluster.torch == "2.1":
        return f"[Rank {place}] "
    if cluster.torch == "2.4":
        return f"[PG {key} ({name}) Rank {place}] "
    return f"[PG ID {number} PG GUID {key}({name}) Rank {place}] "


def timed_out(cluster: Cluster, time: float, rank: Rank, work: Work, enqueued: int) -> tuple[str, ...]:
    """Return the watchdog's lines about a time-out in ``work``.

    They end the process.
    """
    own = f"[Rank {work.place(rank)}] Watchdog caught collective operation timeout: {work} ran for {TIMEOUT_MS + rank.pid % 97} milliseconds before timing out."
    group, place = _group(cluster, rank, work.group), PLACES[cluster.torch]
    lines = [_cpp(cluster, time, rank, place, own)]
    done = work.seq - 1
    if cluster.torch == "2.4":
        lines.append(
            _cpp(
                cluster,
                time,
                rank,
                1664,
                f"{group}Exception (either an error or timeout) detected by watchdog at work: {work.seq}, last enqueued NCCL work: {enqueued}, last completed NCCL work: {done}.",
            )
        )
    elif cluster.torch != "2.1":
        lines.append(
            _cpp(
                cluster,
                time,
                rank,
                2006,
                f"{group} failure detected by watchdog at work sequence id: {work.seq} PG status: last enqueued work: {enqueued}, last completed work: {done}",
            )
        )
    return (*lines, *taken_down(cluster, time, rank, own, work.group))


def dump_signal(
    cluster: Cluster, time: float, rank: Rank, first: Rank, enqueued: int, completed: int
) -> tuple[str, ...]:
    """Return the lines about another rank's time-out. PyTorch 2.1 prints none."""
    if cluster.torch == "2.1":
        return ()
    state = f"Last enqueued NCCL work: {enqueued}, last completed NCCL work: {completed}."
    if cluster.torch == "2.4":
        text = f"Received a global dump signal from rank {first.number}, and will start to dump the debug info. {state}"
    else:
        text = f"Received a dump signal due to a collective timeout from  rank {first.number} and we will try our best to dump the debug info. {state}"
        text += "This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used across ranks, the order of collectives is not same for all ranks or the scheduled collective, for some reason, didn't run. "
    line = _cpp(cluster, time, rank, 1363, f"{_group(cluster, rank)}{text}")
    if cluster.torch == "2.4":
        return (line,)
    return (
        _cpp(
            cluster,
            time,
            rank,
            1682,
            f"{_group(cluster, rank)}Observed flight recorder dump signal from another rank via TCPStore.",
        ),
        line,
    )


def taken_down(cluster: Cluster, time: float, rank: Rank, error: str, group: Group | None = None) -> Iterator[str]:
    """Yield the lines that follow an error that the watchdog found."""
    place = group.place(rank) if group else rank.number
    yield _cpp(
        cluster,
        time,
        rank,
        681,
        f"[Rank {place}] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.",
    )
    yield _cpp(
        cluster,
        time,
        rank,
        695,
        f"[Rank {place}] To avoid data inconsistency, we are taking the entire process down.",
    )
    name = "NCCL" if cluster.torch == "2.1" else "Process group"
    text = f"{_group(cluster, rank, group)}{name} watchdog thread terminated with exception: {error}"
    yield _cpp(cluster, time, rank, 1895, text)
    kind = "std::runtime_error" if cluster.torch == "2.1" else "c10::DistBackendError"
    yield f"terminate called after throwing an instance of '{kind}'"
    yield f"  what():  {_group(cluster, rank, group)}{name} watchdog thread terminated with exception: {error}"


def remote_error(cluster: Cluster, time: float, rank: Rank, last: str) -> tuple[str, ...]:
    """Return the watchdog's lines about a peer that is gone."""
    error = f"NCCL error: remote process exited or there was a network error, NCCL version {cluster.nccl}"
    more = (
        "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
        "Last error:",
        last,
    )
    lines = [*taken_down(cluster, time, rank, error)]
    return (*lines[:3], *more, *lines[3:], *more)


def exception(rank: Rank, cluster: Cluster, frames: Iterable[tuple[str, int, str, str]], error: str) -> tuple[str, ...]:
    """Return an uncaught exception. From 2.3 on each line carries the rank."""
    lines = ["Traceback (most recent call last):"]
    for path, number, function, code in frames:
        lines += [f'  File "{path}", line {number}, in {function}', f"    {code}"]
    lines.append(error)
    tag = "" if cluster.torch == "2.1" else f"[rank{rank.number}]: "
    return tuple(tag + line for line in lines)


def _agent(cluster: Cluster, time: float, host: str, level: str, line: int, text: str) -> str:
    at = cluster.moment(time, host)
    if cluster.torch == "2.1":
        name = {"W": "WARNING", "E": "ERROR", "I": "INFO"}[level]
        return f"[{at:%Y-%m-%d %H:%M:%S},{int(time * 1000) % 1000:03}] torch.distributed.elastic.multiprocessing.api: [{name}] {text}"
    stamp = f"{level}{at:%m%d %H:%M:%S}.{int(time * 1000) % 1000:03}000"
    return f"{stamp} {cluster.agent_pid(host)} torch/distributed/elastic/multiprocessing/api.py:{line}] {text}"


def summary(
    cluster: Cluster, time: float, first: Rank, code: int, others: Iterable[tuple[Rank, int]] = ()
) -> Iterator[str]:
    """Yield the agent's lines about the end of ``first``.

    The agent ends the other ranks of its node.
    """
    host = first.host
    ended = {r.number for r, _ in others}
    for rank in cluster.on(host):
        if rank is not first and rank.number not in ended:
            yield _agent(cluster, time, host, "W", 897, f"Sending process {rank.pid} closing signal SIGTERM")
    yield _agent(
        cluster,
        time + 2,
        host,
        "E",
        869,
        f"failed (exitcode: {code}) local_rank: {first.local} (pid: {first.pid}) of binary: /opt/conda/bin/python3.10",
    )
    yield "Traceback (most recent call last):"
    for path, line, function, call in (
        ("/opt/conda/bin/torchrun", 8, "<module>", "sys.exit(main())"),
        (
            "/opt/conda/lib/python3.10/site-packages/torch/distributed/launcher/api.py",
            264,
            "launch_agent",
            "raise ChildFailedError(",
        ),
    ):
        yield f'  File "{path}", line {line}, in {function}'
        yield f"    {call}"
    yield "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "
    yield "=" * 60
    yield "pretrain.py FAILED"
    yield "-" * 60
    yield "Failures:"
    entries = [*others]
    for i, (rank, own) in enumerate(entries, 1):
        yield from _entry(cluster, time, i, rank, own)
    if not entries:
        yield "  <NO_OTHER_FAILURES>"
    yield "-" * 60
    yield "Root Cause (first observed failure):"
    yield from _entry(cluster, time, 0, first, code)
    yield "=" * 60


def _entry(cluster: Cluster, time: float, number: int, rank: Rank, code: int) -> Iterator[str]:
    yield f"[{number}]:"
    yield f"  time      : {cluster.moment(time, rank.host):%Y-%m-%d_%H:%M:%S}"
    yield f"  host      : {rank.host}.cluster.example"
    yield f"  rank      : {rank.number} (local_rank: {rank.local})"
    yield f"  exitcode  : {code} (pid: {rank.pid})"
    yield "  error_file: <N/A>"
    if code < 0:
        yield f"  traceback : Signal {-code} ({SIGNALS[-code]}) received by PID {rank.pid}"
    else:
        yield "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"


def agent_signalled(cluster: Cluster, time: float, host: str) -> Iterator[str]:
    """Yield the lines of an agent that got SIGTERM."""
    yield _agent(cluster, time, host, "W", 861, "Received 15 death signal, shutting down workers")
    for rank in cluster.on(host):
        yield _agent(cluster, time, host, "W", 897, f"Sending process {rank.pid} closing signal SIGTERM")
    yield "Traceback (most recent call last):"
    yield '  File "/opt/conda/lib/python3.10/site-packages/torch/distributed/elastic/multiprocessing/api.py", line 84, in _terminate_process_handler'
    yield '    raise SignalException(f"Process {os.getpid()} got signal: {sigval}", sigval=sigval)'
    yield f"torch.distributed.elastic.multiprocessing.api.SignalException: Process {cluster.agent_pid(host)} got signal: 15"
