r"""Grid Engine's own logs: the messages of qmaster and execd, and why ``qstat -j`` shows a job in state E.

A line of ``$SGE_CELL/spool/.../messages`` is ``MM/DD/YYYY HH:MM:SS|thread|host of the daemon|level|text``.  The
host in the prefix is the daemon's own: of an execd it is where the job ran, of the qmaster it is not.

- ``batch.start`` error, host: the job could not be started there
- ``batch.host`` host: where the job ran, as qacct tells
- ``batch.exit`` signal | exit_code, host: how it ended; ``batch.error`` message, host
- ``batch.refused`` message: the commands of Grid Engine find no qmaster

Sources: Son of Grid Engine 8.1 and its forks: daemons/common/msg_daemons_common.h, daemons/execd/msg_execd.h,
daemons/qmaster/msg_qmaster.h (job ... failed on host), libs/gdi/msg_gdilib.h, daemons/shepherd (error file).
"""

from __future__ import annotations

from logdoctor.logs.multiline.batch_ends import read_end
from logdoctor.logs.record_pattern import RecordPattern

_SAID = r"^(?:\d\d/\d\d/\d{4} \d\d:\d\d:\d\d\|)? *[\w-]{1,20}\|%s\|[WECI]\|"
_MASTER = _SAID % r"[\w.-]{1,255}"
_EXECD = _SAID % r"(?P<host>[\w-]{1,100})[\w.]*"
"""Prefix of the daemons' messages. The time stamp may be missing."""
_FAILED = r"job \d+(?:\.\d+)? failed on host (?P<host>[\w-]{1,100})[\w.]* "
_SHEPHERD = r"(?:\d\d/\d\d/\d{4} \d\d:\d\d:\d\d \[\d+:\d+\]: )?(?:error: )?"
"""The shepherd's stamp: time, then user and process."""

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern("batch.exit", _MASTER + _FAILED + r"(?:general )?assumedly after job because: job \S{1,40} died through "
           r"signal (?P<signal_name>\w{1,12}) \((?P<signal>\d+)\)", "error", read_end,
           "Grid Engine says how the job ended.", 3),
    RecordPattern("batch.start", _MASTER + _FAILED + r"(?P<stage>.{1,80}?)because: " + _SHEPHERD + r"(?P<error>.+)", "fatal",
           note="Grid Engine could not run the job on its host.", priority=2),
    RecordPattern("batch.error", _MASTER + r"(?P<message>tightly integrated parallel task \S+ task "
           r"\d+\.(?P<host>[\w-]{1,100})\S* failed.*)", "error", priority=2,
           note="A task of a parallel job failed on this host, so Grid Engine ends the job."),
    RecordPattern("batch.error", _EXECD + r"(?P<message>(?:shepherd of job \S{1,40} (?:exited with exit status = [1-9]|"
           r"died through signal)|abnormal termination of shepherd for job|can't start job|"
           r"unable to start shepherd process).*)",
           "error", note="The process of Grid Engine that looks after the job on this host failed.", priority=2),
    RecordPattern("batch.start", r"^\s*error reason +\d{1,7}: +" + _SHEPHERD + r"(?P<error>.+)", "fatal",
           note="Grid Engine could not start the job; it stays in the queue in the state of an error."),
    RecordPattern("batch.host", r"^hostname {2,}(?P<host>[A-Za-z][\w-]{0,99})[\w.]*\s*$", "info",
           note="qacct names the host that Grid Engine ran the job on."),
    RecordPattern("batch.refused", r"^(?P<message>(?:Unable to initialize environment because of error|unable to initialize "
           r"environment because of error): .+|(?:error: )?unable to (?:contact|send message to) qmaster using port "
           r".+)", "fatal", note="A command of Grid Engine does not reach the qmaster."),
)  # fmt: skip
