r"""MPI libraries that are still met in old set-ups, and the daemons of PALS: whose end they tell, and who is gone.

Kinds are those of `mpich`: ``mpich.rank_died`` rank, host, signal | exit_code; ``mpich.peer_gone`` message, and the
rank and host that are gone where the line says so; ``mpich.daemon_lost`` host: the node that PALS hears no
more, or that ALPS lost.

Sources: MPICH 1.2 (p4 device), MPICH2 1.4 for Windows (smpd), Intel MPI 4 and 5 over DAPL, PALS 1.3, ALPS 5
and 6 (aprun).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.multiline.mpi_blocks import read_nid
from logdoctor.logs.multiline.msmpi_blocks import exit_fields
from logdoctor.logs.record_pattern import Message, Multiline, RecordPattern
from logdoctor.model import Value


def read_windows_end(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the exit code or signal from a code of smpd.

    On Windows a signal is coded in the exit code.
    """
    del below
    return Multiline(head.text, exit_fields(str(fields["code"])))


P4 = (
    RecordPattern("mpich.rank_died", r"^p(?P<rank>\d+)_\d+: +p4_error: interrupt SIG\w{1,8}: (?P<signal>(?!13\b)\d+)", "fatal",
           note="MPICH 1 names the rank that a signal ended.", scan=r"p4_error: interrupt SIG"),
    RecordPattern("mpich.peer_gone", r"^(?:p|rm_\w{1,20}_|bm_list_)\d[\d_]{0,20}:.{0,40}?"
           r"(?P<message>probable EOF on socket|interrupt SIGx: 13|net_(?:send|recv)\b.*|wakeup_slave: unable.*)",
           "error", note="The link to another process closed: that one probably died.", priority=-1,
           scan=r"p4_error: |net_send: could not|wakeup_slave: unable"),
)  # fmt: skip

WINDOWS = (
    RecordPattern("mpich.rank_died", r"(?:^|: )(?P<host>[\w.-]{1,64}): (?P<code>-?\d{1,10}): process (?P<rank>\d+) exited "
           r"without calling (?:finalize|init)\b", "fatal", read_windows_end,
           "The launcher names the rank that ended and how.",
           scan=r": process \d+ exited without calling "),
)  # fmt: skip

DAPL = (
    RecordPattern("mpich.peer_gone", r"^\[\d+:[\w.-]{1,255}\](?:\[[^\]]{1,200}\])? (?P<message>unexpected disconnect "
           r"completion event) from \[(?P<rank>\d+):(?P<host>[\w.-]{1,255})\]", "error",
           note="The link to this rank closed: it probably died.", scan="unexpected disconnect completion event from"),
)  # fmt: skip

PALS = (
    RecordPattern("mpich.daemon_lost", r"^ping (?:failed on \S{1,255}: (?:Couldn't forward RPC ping\(\S{1,60}\) to child |"
           r"No reply from )|RPC timeout from )(?P<by_host>[\w.-]{1,255}?):? (?P<message>\S.*)|"
           r"^ping failed on (?P<by_host>[\w.-]{1,255}): (?P<message>Application \S{1,60} not found)", "error",
           note="The launcher hears no more of this node.", scan=r"^ping (?:failed on|RPC timeout)"),
)  # fmt: skip

ALPS = (
    RecordPattern("mpich.daemon_lost", r"(?P<message>Apid \d+:? killed\. Received node (?:event \w*(?:fail|halt|unavail)\w*|"
           r"failed or halted event) for nid (?P<nid>\d+))", "fatal", read_nid, "ALPS lost this node.",
           scan=r"killed\. Received node (?:event|failed)"),
    RecordPattern("mpich.exec_failed", r"\[NID (?P<nid>\d+)\] .{0,60}?(?P<message>Exec (?P<file>\S{1,300}) failed: .{1,200}|"
           r"cannot execute: .{1,200})", "fatal", read_nid, "This node could not start the program.", 1,
           scan=r"\[NID \d+\] .{0,60}?(?:Exec \S{1,300} failed: |cannot execute: )"),
)  # fmt: skip

RECORDS: tuple[RecordPattern, ...] = (*P4, *WINDOWS, *DAPL, *PALS, *ALPS)
