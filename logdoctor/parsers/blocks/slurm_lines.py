"""Readers that turn Slurm's words into fields: lists of hosts and tasks, how tasks ended, why a step was cancelled.

Sources: Slurm 19.05 to 24.11, src/srun/libsrun/launch.c (task ends), src/slurmd/slurmstepd/req.c (cancellations),
src/common/slurm_protocol_defs.c (states).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

import regex

from logdoctor.catalogues import catalogue
from logdoctor.model import Level, Value
from logdoctor.parsers.host_lists import expand_hosts, expand_numbers
from logdoctor.parsers.record import Bare, Block
from logdoctor.parsers.signals import signal_number
from logdoctor.regexes import later

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
"""More than scontrol prints of a node."""
_OOM_SIGNALS = (253, 125)
"""Slurm marks an out-of-memory end as signal 253, which is cut to 125 in an exit code."""


def read_task_exit(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """``HOSTS: tasks LIST: HOW`` -> hosts, ranks (Slurm task ids), exit_code, signal, reason ``oom``."""
    del below
    how = str(fields.get("how", "")).strip()
    more: dict[str, Value] = {}
    hosts = expand_hosts(str(fields.get("hosts", "")))
    ranks = expand_numbers(str(fields.get("ranks", "")))
    if hosts:
        more["hosts"] = hosts
    if len(hosts) == 1:
        more["host"] = hosts[0]
    if ranks:
        more["ranks"] = ranks
    level: Level = "error"
    if exited := _EXIT.search(how):
        more["exit_code"] = int(exited["exit_code"])
    elif how.startswith("Out Of Memory"):
        more["reason"] = "oom"
    elif number := signal_number(how.removesuffix("(core dumped)")):
        more["signal"] = number
    return Block(head.text, more, level=level)


def read_node(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """What ``scontrol show node`` prints of a node that its state takes out of service: hosts, state, reason."""
    del head
    name, state, reason = str(fields.get("hosts", "")), "", ""
    taken, proof = list[int](), 0
    for line in islice(below, _NODE_LINES):
        if line.text.lstrip().startswith("NodeName="):
            break
        taken.append(line.below)
        if found := _STATE.search(line.text):
            state, proof = found["state"], line.below
        if found := _REASON.search(line.text):
            reason, proof = found["reason"].strip(), line.below
            break
    if not _OUT_OF_SERVICE.search(state):
        return None
    said = (f"Reason={reason} " if reason else "") + f"NodeName={name} State={state}"
    more: dict[str, Value] = {"host": name, "hosts": (name,), "state": state}
    return Block(said, {**more, "reason": reason} if reason else more, tuple(taken), proof)


def read_cancelled(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """Why a job or step was cancelled: ``reason``, ``none`` where the line names none (scancel, or a task failed)."""
    del below
    return Block(head.text, {"reason": reason_of(str(fields.get("due", "")))})


def reason_of(words: str) -> str:
    """Slurm's reason in one word of `_REASONS`, ``none`` or ``other``."""
    if not words.strip():
        return "none"
    return next((name for name, pattern in _REASONS if pattern.search(words)), "other")


def read_hosts(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """A line about nodes: ``hosts`` expanded, ``host`` where it is one."""
    del below
    hosts = expand_hosts(str(fields.get("hosts", "")))
    more: dict[str, Value] = {"hosts": hosts} if hosts else {}
    if len(hosts) == 1:
        more["host"] = hosts[0]
    return Block(head.text, more)


def read_state(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """A row of sacct, scontrol or a mail: state in full and its reason; healthy states are only information."""
    del below
    state = _full_state(str(fields.get("state", "")).upper())
    more: dict[str, Value] = {"state": state}
    reason = "oom" if fields.get("signal") in _OOM_SIGNALS else reason_of(state)
    if "reason" not in fields and reason not in {"none", "other"}:
        more["reason"] = reason
    if isinstance(fields.get("hosts"), str):
        more["hosts"] = expand_hosts(str(fields["hosts"]))
    return Block(head.text, more, level="info" if _is_good(state) else "error")


def _is_good(state: str) -> bool:
    """Whether nothing has to be done about a job in this state."""
    known = catalogue("slurm-state").find(state)
    return known is not None and known.decision == "none"


def _full_state(state: str) -> str:
    """What sacct cuts a state with ``+``; ``CANCELLED by 1000`` is one state."""
    if state.endswith("+"):
        return next((e.code for e in catalogue("slurm-state").entries if e.code.startswith(state[:-1])), state)
    return state.split(" ", 1)[0]
