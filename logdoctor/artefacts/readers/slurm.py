"""Reports of Slurm: ``sacct --json``, ``scontrol show job|node --json``, ``squeue --json``.

A number is plain, or ``{"set": true, "infinite": false, "number": 1}``. A state is a word, or a list of words.

Sources: Slurm 21.08 to 25.11, src/plugins/data_parser and openapi; slurm.schedmd.com, rest_api.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from logdoctor.artefacts.document import Document, Fact
from logdoctor.artefacts.json_pieces import members
from logdoctor.model import Source, Value

KIND = "slurm"
# Strings, compiled at first use, because the readers are imported for each log.
_START = rb"\s*\{\s*\"(?:meta|jobs|nodes|errors|warnings|last_update|last_backfill)\":"
_KEYS = rb"\"(?:allocation_nodes|derived_exit_code|accrue_time|burst_buffer|burstbuffer_network_address|job_state)\":"
_META = rb"\"name\":\s*\"Slurm|\"data_parser\":|\"[Ss]lurm\":\s*\{"
_FINE = frozenset(
    "COMPLETED RUNNING PENDING COMPLETING CONFIGURING SUSPENDED RESIZING REQUEUED STAGE_OUT SIGNALING".split()
)
_REASONS = {
    "TIMEOUT": "time limit",
    "NODE_FAIL": "node failure",
    "BOOT_FAIL": "node failure",
    "PREEMPTED": "preemption",
}
_OUT = frozenset("DOWN FAIL ERROR NOT_RESPONDING POWERING_UP DRAINED".split())
MEMORY_SIGNAL = 125
"""Slurm's own number for a step that reached its limit of memory."""


def sniff(head: bytes) -> bool:
    return re.match(_START, head) is not None and re.search(_KEYS + rb"|" + _META, head) is not None


def read(document: Document) -> Iterator[Fact]:
    for where, value, line in members(document):
        if not isinstance(value, Mapping):
            continue
        if where.startswith("jobs["):
            yield from _job(where, value, line)
        elif where.startswith("nodes["):
            yield from _node(where, value, line)


def _job(where: str, job: Mapping[str, Any], line: int) -> Iterator[Fact]:
    key = "state" if "state" in job else "job_state"
    state = job.get(key)
    path = f"{where}.{key}"
    if isinstance(state, Mapping):
        state, path = state.get("current"), f"{path}.current"
    nodes = str(job.get("failed_node") or job.get("nodes") or "")
    words = _words(state)
    if not words:
        return
    number = _number(job.get("job_id"))
    killer = str(job.get("kill_request_user") or "")
    code = _exit(job.get("exit_code"))
    told = f"JobId={number} " + " ".join(words) + (f" by {killer}" if killer and "CANCELLED" in words else "")
    if words[0] not in _FINE and code:
        told += f" ExitCode={code.get('exit_code', 0)}:{code.get('signal', 0)}"
    if nodes and words[0] not in _FINE:
        told += f" on {nodes}"
    yield _state(told, words, job, str(number), nodes, path, line)
    for at, step in enumerate(job.get("steps") or ()):
        words = _words(step.get("state")) if isinstance(step, Mapping) else []
        if not words or words[0] in _FINE:
            continue
        name = step.get("step")
        step_id = str(name.get("id", "")) if isinstance(name, Mapping) else ""
        hosts = step.get("nodes")
        held = str(hosts.get("range") or "") if isinstance(hosts, Mapping) else str(hosts or "")
        yield _state(f"StepId={step_id} {words[0]}", words, step, step_id, held, f"{where}.steps[{at}].state", line)


def _state(text: str, words: list[str], told: Mapping[str, Any], step: str, hosts: str, where: str, line: int) -> Fact:
    state = words[0]
    fields: dict[str, Value] = {"state": state, "step": step, **_exit(told.get("exit_code"))}
    reason = _reason(told)
    if "OUT_OF_MEMORY" in words or fields.get("signal") == MEMORY_SIGNAL:
        fields["reason"] = "oom"
    elif state in _REASONS:
        fields["reason"] = _REASONS[state]
    elif reason:
        fields["reason"] = reason
    if hosts and hosts != "None assigned":
        fields["hosts"] = hosts
    return Fact("slurm.job_state", text, fields, line, where, "info" if state in _FINE else "error", Source())


_REASONS = {
    "TIMEOUT": "time limit",
    "NODE_FAIL": "node failure",
    "BOOT_FAIL": "node failure",
    "PREEMPTED": "preemption",
}


def _reason(told: Mapping[str, Any]) -> str:
    state = told.get("state")
    reason = state.get("reason") if isinstance(state, Mapping) else told.get("state_reason")
    return str(reason) if reason and reason != "None" else ""


def _node(where: str, node: Mapping[str, Any], line: int) -> Iterator[Fact]:
    """Yield the state of a node that runs no jobs. An old reason of a node that works says nothing."""
    words = [*_words(node.get("state")), *_words(node.get("state_flags"))]
    name = str(node.get("name") or "")
    if not name or not _OUT.intersection(words):
        return
    reason = str(node.get("reason") or "")
    fields: dict[str, Value] = {"hosts": name, "host": name, "state": "+".join(words)}
    text = (f"Reason={reason} " if reason else "") + f"NodeName={name} State={'+'.join(words)}"
    if reason:
        fields["reason"] = reason
    yield Fact("slurm.node_state", text, fields, line, f"{where}.state", "warning", Source())


def _words(state: Any) -> list[str]:
    parts = state if isinstance(state, list) else [state]
    return [word.upper() for part in parts if isinstance(part, str) for word in part.split("+") if word]


def _number(value: Any) -> int | None:
    """Return a number, None if it is not set."""
    if isinstance(value, Mapping):
        value = value.get("number") if value.get("set") else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _exit(code: Any) -> dict[str, Value]:
    if not isinstance(code, Mapping):
        number = _number(code)
        return {} if number is None else {"exit_code": number}
    signal = code.get("signal")
    found = _number(signal.get("id", signal.get("signal_id"))) if isinstance(signal, Mapping) else None
    number = _number(code.get("return_code"))
    return {
        **({} if number is None else {"exit_code": number}),
        **({"signal": found} if found else {}),
    }
