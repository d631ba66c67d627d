"""Ended containers, events and probes of Kubernetes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Level, Value
from logdoctor.model.numbers import number, number_or_text
from logdoctor.pack.regexes import later

_STATE_LINE = later(r"\s+(?P<name>Reason|Message|Exit Code|Signal|Started|Finished): +(?P<value>\S.*?)\s*")
_RESOURCE = later(
    r"low on resource: (?P<low>[\w-]+)|(?P<eph>ephemeral[- ]storage|disk pressure|DiskPressure|"
    r"MemoryPressure|PIDPressure)|Insufficient (?P<lack>[\w./-]*\w)"
)
_GOOD = ("Completed",)
_EVENTS_BELOW = 16
_OFTEN_IN_VAIN = 30
"""The kubelet asks every ten seconds where nothing else is said: five minutes."""
_PASSING = ("FailedScheduling", "FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox")
_WENT_ON = later(r"^\s*Normal +(?P<reason>Scheduled|Started) +\S+(?: \(x\d+ over \w+\))? +\S+ +\S")
_NEXT_POD = later(r"^(?:Name: |\S+ +\d+/\d+ )")


def read_terminated(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read ``State: Terminated`` and the lines below it.

    The fields are reason, exit_code, signal and message.
    """
    del fields
    lines, taken, values = [head.text.strip()], list[int](), dict[str, Value]()
    for line in islice(below, 8):
        part = _STATE_LINE.fullmatch(line.text)
        if part is None:
            break
        taken.append(line.below)
        lines.append(" ".join(line.text.split()))
        name, value = part["name"].lower().replace(" ", "_"), part["value"]
        if name in {"reason", "message", "exit_code", "signal"}:
            values[name] = number_or_text(value)
    level: Level = (
        "info" if values.get("reason") in _GOOD or (not values.get("exit_code") and "reason" not in values) else "error"
    )
    if values.get("reason") in {"OOMKilled", "Evicted", "DeadlineExceeded"}:
        level = "fatal"
    return Multiline("\n".join(lines), values, tuple(taken), level=level)


def with_resource(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Add the resource that ran short, if the line names it.

    If the pod was started later, the record is ``kubernetes.passed``. For an evicted pod ``host`` is the node in the
    line.
    """
    reason = next((word for word in _PASSING if word in head.text), "")
    if reason and _went_on(below, enough="Scheduled" if reason == "FailedScheduling" else "Started"):
        return Multiline(head.text, level="info", kind="kubernetes.passed")
    match = _RESOURCE.search(head.text)
    short: dict[str, Value] = {"resource": match["low"] or match["eph"] or match["lack"]} if match else {}
    gave_up = fields.get("node") if fields.get("reason") == "Evicted" else None
    return Multiline(head.text, {**short, "host": gave_up} if gave_up else short)


def read_probe(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Set level error if a probe failed often.

    A service that starts fails a few probes, so that few failures are a warning.
    """
    del below
    return Multiline(
        head.text, level="error" if (number(str(fields.get("times", 0))) or 0) >= _OFTEN_IN_VAIN else "warning"
    )


def _went_on(below: Iterator[Message], enough: str) -> bool:
    """Return True if an event below says that the pod reached ``enough``.

    ``kubectl describe`` sorts the events by time.
    """
    for line in islice(below, _EVENTS_BELOW):
        if _NEXT_POD.match(line.text):
            return False
        if (match := _WENT_ON.match(line.text)) and match["reason"] in (enough, "Started"):
            return True
    return False
