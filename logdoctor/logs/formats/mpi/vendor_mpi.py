r"""MPI of vendors and of old: HPE (SGI) MPT, IBM Platform MPI (HP-MPI), LAM/MPI, Blue Gene/Q, Fujitsu.

Kinds are those of `mpich`: ``mpich.rank_died`` rank, host, pid, signal | exit_code; ``mpich.abort`` rank, exit_code;
``mpich.fatal`` rank, function, message; ``mpich.assertion`` file, line, message; ``mpich.warning`` message;
``mpich.init_failed`` message: the launcher could not start the program.

Sources: HPE MPT 2.25 (MPI(1), user guide), IBM Platform MPI 9.1 (user's guide), LAM/MPI 7.1 (share/mpi,
tools/mpirun), Blue Gene/Q V1R2 (runjob), Fujitsu Technical Computing Suite V4.0 (plexec).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.multiline.crash_stacks import read_signal
from logdoctor.logs.record_pattern import Message, Multiline, RecordPattern
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_PROCESS = later(r"\s+Process ID: (?P<pid>\d{1,10}), Host: (?P<host>[\w.-]{1,255})")
_LAM_ENDED = later(
    r"PID (?P<pid>\d{1,10}) failed on node n\d{1,6} \((?P<host>[\w.-]{1,255})\) (?:due to signal (?P<signal>\d{1,3})|"
    r"with exit status (?P<exit_code>\d{1,3}))"
)


def read_process(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read pid and host from the indented line below MPT's line."""
    for line in islice(below, 1):
        if match := _PROCESS.match(line.text):
            return Multiline(head.text, {"pid": int(match["pid"]), "host": match["host"]}, (line.below,))
    return Multiline(head.text)


def read_lam_end(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read LAM's text about an ended process.

    Its last line gives pid, host, signal or exit code.
    """
    taken = list[int]()
    for line in islice(below, 10):
        taken.append(line.below)
        if match := _LAM_ENDED.search(line.text):
            values = {k: int(v) if v.isdecimal() else v for k, v in match.groupdict().items() if v}
            return Multiline(f"{head.text}\n{line.text.strip()}", values, tuple(taken), line.below)
    return Multiline(head.text)


RECORDS = (
    RecordPattern("mpich.rank_died", r"MPT ERROR: Rank (?P<rank>\d+)\(g:\d+\) received signal \w{3,12}\((?P<signal>\d+)\)",
           "fatal", read_process, "MPT names the rank that a signal ended."),
    RecordPattern("mpich.rank_died", r"MP[TI]: On host (?P<host>[\w.-]{1,255}), Program [^,\n]{1,300}, Rank (?P<rank>\d+), "
           r"Process (?P<pid>\d+) received signal SIG\w{2,8}(?:/SIG\w{2,8})?\((?P<signal>\d+)\)", "fatal",
           note="MPT names the rank that a signal ended."),
    RecordPattern("mpich.rank_died", r"MP(?:T ERROR|I): MPI_COMM_WORLD rank (?P<rank>\d+) has terminated without calling "
           "MPI_Finalize", "fatal", note="MPT names the rank that ended."),
    RecordPattern("mpich.abort", r"MPT ERROR: Rank (?P<rank>\d+)\(g:\d+\) is aborting with error code (?P<exit_code>-?\d+)",
           "fatal", read_process, "A rank called MPI_Abort, which ends the job."),
    RecordPattern("mpich.assertion", r"MPT ERROR: Assertion failed at (?P<file>[\w./-]{1,200}):(?P<line>\d+): (?P<message>.+)",
           "fatal", note="A check inside the MPI library failed; it ends the process."),
    RecordPattern("mpich.fatal", r"MPT ERROR: rank: ?(?P<rank>\d+), function: ?(?P<function>MPI_\w+), (?P<message>.+)",
           "fatal", note="An MPI call failed and MPI ends the job."),
    RecordPattern("mpich.error", r"MPT ERROR: (?P<message>\S.+)", "error", note="MPT reports an error.", priority=-5),
    RecordPattern("mpich.warning", r"MPT Warning: (?P<message>.+)", "warning", note="MPT warns."),
    RecordPattern("mpich.rank_died", r"MPI Application rank (?P<rank>\d+) (?:exited before MPI_(?:Init|Finalize)\(\) with "
           r"status (?P<exit_code>\d+)|killed before MPI_(?:Init|Finalize)\(\) with signal (?P<signal>\d+))", "fatal",
           note="Platform MPI names the rank that ended and how."),
    RecordPattern("mpich.fatal", r"^\S{1,200}: Rank \d+:(?P<rank>\d+): (?P<function>MPI_\w+): (?P<message>\S.+)", "fatal",
           note="An MPI call failed and Platform MPI ends the job.", scan=r": Rank \d+:\d+: MPI_"),
    RecordPattern("mpich.rank_died", r"^One of the processes started by mpirun has exited with a nonzero exit", "fatal",
           read_lam_end, "LAM's mpirun saw a process end."),
    RecordPattern("mpich.fatal", r"^(?P<function>MPI_\w+): (?P<message>process in local group is dead) "
           r"\(rank (?P<rank>\d+), MPI_COMM_WORLD\)", "fatal", note="LAM's MPI lost another rank."),
    RecordPattern("mpich.rank_died", r"^MPI process rank (?P<rank>\d+) \((?:n\d+, )?p(?P<pid>\d+)\) caught a "
           r"(?P<signal_text>SIG[A-Z]{2,6})", "fatal", read_signal, "LAM's MPI caught a signal on this rank."),
    RecordPattern("mpich.rank_died", r"^It seems that \[at least\] one of the processes that was started with", "fatal",
           note="LAM's mpirun saw a process end before MPI_Init."),
    RecordPattern("mpich.rank_died",
           r"\[(?:WARN|ERR\.)\] PLE \d{4} plexec The process terminated abnormally\.\(rank=(?P<rank>\d+)\)"
           r"(?:\(nid=\w+\))?(?:\(exitstatus=(?P<exit_code>\d+)\))?", "fatal", priority=1,
           note="Fujitsu's launcher names the rank that ended and how."),
    RecordPattern("mpich.init_failed", r"\[ERR\.\] PLE \d{4} plexec (?P<message>Cannot execute the program\..*)", "fatal",
           priority=1, note="Fujitsu's launcher could not start the program."),
    RecordPattern("mpich.rank_died", r"ibm\.runjob\.client\.Job: (?:abnormal termination by signal (?P<signal>\d+)|normal "
           r"termination with status (?P<exit_code>[1-9]\d*)) from rank (?P<rank>\d+)", "fatal",
           note="The launcher of Blue Gene/Q names the rank that ended and how."),
    RecordPattern("mpich.init_failed", r"ibm\.runjob\.client\.Job: (?P<message>could not start job: .+|Load failed on .+)",
           "fatal", note="The launcher of Blue Gene/Q could not start the program."),
    RecordPattern("mpich.launcher", r"ibm\.runjob\.client\.Job: (?P<message>terminated by signal \d+|exited with "
           r"status [1-9].*)", "error", note="The launcher of Blue Gene/Q saw the job end badly.", priority=-1),
)  # fmt: skip
