"""Lines in which a batch system reports the end of a job.

The end is a signal in words, an exit code, or a list of tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.host_lists import expand_numbers
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.logs.signals import signal_number
from logdoctor.model import Value
from logdoctor.model.numbers import number
from logdoctor.pack.regexes import later


def read_end(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline | None:
    """Add ``signal`` and ``ranks`` to a line about a job's end.

    The signal comes from the field ``signal_text``, and ``ranks`` from the list in ``tasks`` (``0-3`` is 0, 1, 2, 3).
    PBS prints 256 + signal as exit code, so 265 is signal 9.
    """
    extra: dict[str, Value] = {}
    if number := signal_number(str(fields.get("signal_text", ""))):
        extra["signal"] = number
    code = fields.get("exit_code")
    if isinstance(code, int) and 256 < code < 320:
        extra["signal"] = code - 256
    if "tasks" in fields and (ranks := expand_numbers(str(fields["tasks"]))):
        extra["ranks"] = ranks
    return Multiline(head.text, extra)


SUMMARY_LINES = 12

LIMIT_MET = (
    r"Job exceeded (?:its |a )?(?:walltime|(?:memory )?resource \w+)(?: .*|(?=$))|"
    r"job preempted \(node failure\)|"
    r"job \S{1,60} exceeded (?:WALLTIME|WALLCLOCK|JOBMEM|MEM|SWAP|DISK|PROC) usage (?:hard|soft) limit.*"
)
"""Torque's words for a limit that the job met, and Moab's."""

_MAILED = later(rf"^(?P<message>{LIMIT_MET})")

_NOT_RUN = later(r"^(?P<error>(?P<pbs>Job cannot be executed))\b")

_WALLTIME = later(r"Walltime requested: +(?P<limit>\d+:\d\d:\d\d) +Walltime Used: +(?P<used>\d+:\d\d:\d\d)")

_REASON_WORDS = (
    ("node failure", ("(node failure)",)),
    (
        "time limit",
        ("walltime", "RUNLIMIT", "h_rt", "s_rt", "wallclock", "run time limit", "TERM_DEADLINE", "max runtime", "WALL"),
    ),
    ("memory", ("mem", "MEM", "TERM_SWAP", "SWAP usage", "h_vmem", "s_vmem")),
    ("disk", ("jobfs", "DISK usage", "over disk limit", "disk usage")),
    ("cpu", ("cput", "ncpus", "cpupercent", "CPULIMIT", "h_cpu", "PROC usage")),
    ("processes", ("PROCESSLIMIT", "THREADLIMIT", "FILELIMIT")),
    ("preemption", ("PREEMPT", "preempt", "was evicted", "EVICTED", "JobEvicted")),
    ("owner", ("TERM_OWNER", "TERM_FORCE_OWNER", "by user", "qdel")),
    ("admin", ("TERM_ADMIN", "TERM_FORCE_ADMIN", "TERM_BUCKET_KILL", "TERM_CHKPNT")),
    ("requeue", ("TERM_REQUEUE", "TERM_RC_RECLAIM", "requeue")),
    ("node failure", ("node", "SISTER", "TERM_CONTROL_PID")),
)


def read_reason(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline | None:
    """Return the reason why a batch system ended a job. The words of the message decide on the field ``reason``."""
    words = str(fields.get("message", head.text))
    reason = next((name for name, tokens in _REASON_WORDS if any(token in words for token in tokens)), "other")
    return Multiline(head.text, {"reason": reason})


def read_mail(_head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the lines below the host in a mail of Torque.

    They name the limit that the job met, or say that it could not start.
    """
    for message in islice(below, SUMMARY_LINES):
        if match := _NOT_RUN.search(message.text):
            values = {**fields, **match.groupdict()}
            return Multiline(message.text, values, (message.below,), message.below, "error", "batch.start")
        if match := _MAILED.search(message.text):
            why = read_reason(message, match.groupdict(), iter(()))
            more = dict(why.fields) if why else {}
            return Multiline(
                message.text, {**fields, **more, "message": match["message"]}, (message.below,), message.below
            )
    return None


def read_summary(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the exit status in NCI's summary of a job.

    The lines below give the time limit and the time used. If the job used all its time, the reason is the time limit.
    """
    end = read_end(head, fields, iter(()))
    more: dict[str, Value] = {**(end.fields if end else {}), "report": 1}
    for message in islice(below, SUMMARY_LINES):
        times = _WALLTIME.search(message.text)
        if times and _seconds(times["used"]) >= _seconds(times["limit"]) > 0:
            return Multiline(
                head.text, {**more, "reason": "time limit", "used": times["used"], "limit": times["limit"]}
            )
    return Multiline(head.text, more)


def _seconds(clock: str) -> int:
    hours, minutes, seconds = (number(part) or 0 for part in clock.split(":"))
    return (hours * 60 + minutes) * 60 + seconds
