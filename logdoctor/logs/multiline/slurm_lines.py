"""Slurm's lines as fields: hosts, tasks, ends, reasons of cancellations.

Sources: Slurm 19.05 to 24.11, src/srun/libsrun/launch.c (task ends), src/slurmd/slurmstepd/req.c (cancellations),
src/common/slurm_protocol_defs.c (states).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

import regex

from logdoctor.codes import catalogue
from logdoctor.logs.host_lists import expand_hosts, expand_numbers
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.logs.signals import signal_number
from logdoctor.model import Level, Value
from logdoctor.model.numbers import number_fields
from logdoctor.pack.regexes import later

_EXIT = later(r"Exited with exit code (?P<exit_code>\d{1,5})")
_REASONS = (
    ("time limit", later(r"TIME ?LIMIT|TIMEOUT", regex.IGNORECASE)),
    ("preemption", later(r"PREEMPT", regex.IGNORECASE)),
    ("node failure", later(r"NODE \S* ?FAIL|NODE_FAIL", regex.IGNORECASE)),
    ("requeue", later(r"REQUEUE", regex.IGNORECASE)),
    ("signal", later(r"SIGNAL", regex.IGNORECASE)),
    ("oom", later(r"OUT.OF.ME", regex.IGNORECASE)),
    ("task failure", later(r"TASK FAIL", regex.IGNORECASE)),
)
_STATE = later(r"^\s*State=(?P<state>\S{2,80})")
_REASON = later(r"^\s*Reason=(?P<reason>[^\[]{2,200})")
_OUT_OF_SERVICE = later(r"DOWN|DRAIN|FAIL|NOT_RESPONDING|INVAL")
_NODE_LINES = 30
"""Lines to read, which is more than scontrol prints of a node."""
_OOM_SIGNALS = (253, 125)
"""Slurm marks an out-of-memory end as signal 253. In an exit code it is cut to 125."""


def read_task_exit(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline | None:
    """Read ``HOSTS: tasks LIST: HOW``.

    Fields: hosts, ranks (Slurm task ids), exit_code, signal, reason ``oom``. ``node[01-02]: tasks 0-1: Killed`` gives
    hosts node01 and node02, ranks 0 and 1, and signal 9.
    """
    how = str(fields.get("how", "")).strip()
    extra: dict[str, Value] = {}
    hosts = expand_hosts(str(fields.get("hosts", "")))
    ranks = expand_numbers(str(fields.get("ranks", "")))
    if hosts:
        extra["hosts"] = hosts
    if len(hosts) == 1:
        extra["host"] = hosts[0]
    if ranks:
        extra["ranks"] = ranks
    level: Level = "error"
    if exit_match := _EXIT.search(how):
        extra |= number_fields(exit_match.groupdict())
    elif how.startswith("Out Of Memory"):
        extra["reason"] = "oom"
    elif number := signal_number(how.removesuffix("(core dumped)")):
        extra["signal"] = number
    return Multiline(head.text, extra, level=level)


def read_node(_head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read ``scontrol show node``: hosts, state, reason.

    Return None if the node's state does not take it out of service.
    """
    name, state, reason = str(fields.get("hosts", "")), "", ""
    taken, evidence = list[int](), 0
    for line in islice(below, _NODE_LINES):
        if line.text.lstrip().startswith("NodeName="):
            break
        taken.append(line.below)
        if match := _STATE.search(line.text):
            state, evidence = match["state"], line.below
        if match := _REASON.search(line.text):
            reason, evidence = match["reason"].strip(), line.below
            break
    if not _OUT_OF_SERVICE.search(state):
        return None
    text = (f"Reason={reason} " if reason else "") + f"NodeName={name} State={state}"
    extra: dict[str, Value] = {"host": name, "hosts": (name,), "state": state}
    return Multiline(text, {**extra, "reason": reason} if reason else extra, tuple(taken), evidence)


def read_cancelled(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline | None:
    """Add the ``reason`` of a cancelled job or step.

    The reason is ``none`` if the line names no reason (scancel, or a task failed).
    """
    return Multiline(head.text, {"reason": cancel_reason(str(fields.get("due", "")))})


def cancel_reason(words: str) -> str:
    """Return Slurm's reason as a word of `_REASONS`, ``none`` or ``other``."""
    if not words.strip():
        return "none"
    return next((name for name, pattern in _REASONS if pattern.search(words)), "other")


def read_hosts(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline | None:
    """Expand the nodes of a line to ``hosts``. ``host`` is added if there is a single node."""
    hosts = expand_hosts(str(fields.get("hosts", "")))
    extra: dict[str, Value] = {"hosts": hosts} if hosts else {}
    if len(hosts) == 1:
        extra["host"] = hosts[0]
    return Multiline(head.text, extra)


def read_state(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline | None:
    """Read a job's state in a row of sacct or scontrol.

    Mails print the same. Fields: state (in full) and reason. A healthy state has level info, any other error. A step
    that was cancelled is info too: srun and Slurm cancel steps in all jobs that end badly, and the job's row says why.
    """
    state = _full_state(str(fields.get("state", "")).upper())
    extra: dict[str, Value] = {"state": state}
    if state == "CANCELLED" and "." in str(fields.get("step", "")):
        return Multiline(head.text, extra, level="info")
    reason = "oom" if fields.get("signal") in _OOM_SIGNALS else cancel_reason(state)
    if "reason" not in fields and reason not in {"none", "other"}:
        extra["reason"] = reason
    if isinstance(fields.get("hosts"), str):
        extra["hosts"] = expand_hosts(str(fields["hosts"]))
    return Multiline(head.text, extra, level="info" if _is_good(state) else "error")


def read_described(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline | None:
    """Return the ``step`` of a job that scontrol describes: ``551_2`` is task 2 of the array 551."""
    has_task = fields.get("task") is not None
    return Multiline(head.text, {"step": f"{fields['array']}_{fields['task']}" if has_task else fields["step"]})


def _is_good(state: str) -> bool:
    """Return True if a job in this state needs no action."""
    entry = catalogue("slurm-state").find(state)
    return entry is not None and entry.decision == "do-nothing"


def _full_state(state: str) -> str:
    """Return the state that sacct cut with ``+``: ``OUT_OF_ME+`` is ``OUT_OF_MEMORY``.

    ``CANCELLED by 1000`` is ``CANCELLED``.
    """
    if state.endswith("+"):
        return next((e.code for e in catalogue("slurm-state").entries if e.code.startswith(state[:-1])), state)
    return state.split(" ", 1)[0]
