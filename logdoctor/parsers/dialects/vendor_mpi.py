r"""MPI libraries of vendors and of old: HPE (SGI) MPT, IBM Platform MPI (HP-MPI), LAM/MPI: how their ranks end.

Kinds are those of `mpich`: ``mpich.rank_died`` rank, host, pid, signal | exit_code; ``mpich.abort`` rank, exit_code;
``mpich.fatal`` rank, function, message; ``mpich.assertion`` file, line, message; ``mpich.warning`` message.

Sources: HPE MPT 2.25 (MPI(1), user guide), IBM Platform MPI 9.1 (user's guide), LAM/MPI 7.1 (share/mpi, tools/mpirun).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.model import Value
from logdoctor.parsers.record import Bare, Block, Record
from logdoctor.regexes import later

_PROCESS = later(r"\s+Process ID: (?P<pid>\d{1,10}), Host: (?P<host>[\w.-]{1,255})")
_LAM_ENDED = later(
    r"PID (?P<pid>\d{1,10}) failed on node n\d{1,6} \((?P<host>[\w.-]{1,255})\) (?:due to signal (?P<signal>\d{1,3})|"
    r"with exit status (?P<exit_code>\d{1,3}))"
)


def read_process(head: Bare, _fields: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """MPT's line about a rank, with pid and host from the indented line under it."""
    for line in islice(below, 1):
        if found := _PROCESS.match(line.text):
            return Block(head.text, {"pid": int(found["pid"]), "host": found["host"]}, (line.below,))
    return Block(head.text)


def read_lam_end(head: Bare, _fields: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """LAM's text about a process that ended: pid, host, signal or exit_code from its last line."""
    taken = list[int]()
    for line in islice(below, 10):
        taken.append(line.below)
        if found := _LAM_ENDED.search(line.text):
            given = {k: int(v) if v.isdecimal() else v for k, v in found.groupdict().items() if v}
            return Block(f"{head.text}\n{line.text.strip()}", given, tuple(taken), line.below)
    return Block(head.text)


RECORDS = (
    Record("mpich.rank_died", r"MPT ERROR: Rank (?P<rank>\d+)\(g:\d+\) received signal \w{3,12}\((?P<signal>\d+)\)",
           "fatal", read_process, "MPT names the rank that a signal ended."),
    Record("mpich.rank_died", r"MP[TI]: On host (?P<host>[\w.-]{1,255}), Program [^,\n]{1,300}, Rank (?P<rank>\d+), "
           r"Process (?P<pid>\d+) received signal SIG\w{2,8}(?:/SIG\w{2,8})?\((?P<signal>\d+)\)", "fatal",
           note="MPT names the rank that a signal ended."),
    Record("mpich.rank_died", r"MP(?:T ERROR|I): MPI_COMM_WORLD rank (?P<rank>\d+) has terminated without calling "
           "MPI_Finalize", "fatal", note="MPT names the rank that ended."),
    Record("mpich.abort", r"MPT ERROR: Rank (?P<rank>\d+)\(g:\d+\) is aborting with error code (?P<exit_code>-?\d+)",
           "fatal", read_process, "A rank called MPI_Abort, which ends the job."),
    Record("mpich.assertion", r"MPT ERROR: Assertion failed at (?P<file>[\w./-]{1,200}):(?P<line>\d+): (?P<message>.+)",
           "fatal", note="A check inside the MPI library failed; it ends the process."),
    Record("mpich.fatal", r"MPT ERROR: rank: ?(?P<rank>\d+), function: ?(?P<function>MPI_\w+), (?P<message>.+)",
           "fatal", note="An MPI call failed and MPI ends the job."),
    Record("mpich.error", r"MPT ERROR: (?P<message>\S.+)", "error", note="MPT reports an error.", priority=-5),
    Record("mpich.warning", r"MPT Warning: (?P<message>.+)", "warning", note="MPT warns."),
    Record("mpich.rank_died", r"MPI Application rank (?P<rank>\d+) (?:exited before MPI_(?:Init|Finalize)\(\) with "
           r"status (?P<exit_code>\d+)|killed before MPI_(?:Init|Finalize)\(\) with signal (?P<signal>\d+))", "fatal",
           note="Platform MPI names the rank that ended and how."),
    Record("mpich.fatal", r"^\S{1,200}: Rank \d+:(?P<rank>\d+): (?P<function>MPI_\w+): (?P<message>\S.+)", "fatal",
           note="An MPI call failed and Platform MPI ends the job.", scan=r": Rank \d+:\d+: MPI_"),
    Record("mpich.rank_died", r"^One of the processes started by mpirun has exited with a nonzero exit", "fatal",
           read_lam_end, "LAM's mpirun saw a process end."),
    Record("mpich.fatal", r"^(?P<function>MPI_\w+): (?P<message>process in local group is dead) "
           r"\(rank (?P<rank>\d+), MPI_COMM_WORLD\)", "fatal", note="LAM's MPI lost another rank."),
)  # fmt: skip
