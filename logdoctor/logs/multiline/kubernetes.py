"""Ended containers, events and probes of Kubernetes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import dropwhile, islice, takewhile

from logdoctor.logs.multiline.lines_below import matching, numbers_of
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Level, Value
from logdoctor.model.numbers import number, number_or_text
from logdoctor.model.times import seconds_of_age
from logdoctor.pack.regexes import later

_STATE_LINE = later(r"\s+(?P<name>Reason|Message|Exit Code|Signal|Started|Finished): +(?P<value>\S.*?)\s*$")
_RESOURCE = later(
    r"low on resource: (?P<low>[\w-]+)|(?P<eph>ephemeral[- ]storage|disk pressure|DiskPressure|"
    r"MemoryPressure|PIDPressure)|Insufficient (?P<lack>[\w./-]*\w)"
)
_GOOD = ("Completed",)
_LOST = "ContainerStatusUnknown"
"""The kubelet found the container no more, and its exit code 137 is made up (pkg/kubelet/status/status_manager.go)."""
_EVENTS_BELOW = 16
_LIMIT_BELOW = 20
_OFTEN_IN_VAIN = 30
"""The kubelet asks every ten seconds where nothing else is said: five minutes."""
_PASSING = {
    "FailedScheduling": "Scheduled",
    "FailedMount": "Started",
    "FailedAttachVolume": "Started",
    "FailedCreatePodSandBox": "Started",
    "pull image": "Pulled",
    "pulling image": "Pulled",
    "ErrImagePull": "Pulled",
    "ImagePullBackOff": "Pulled",
}
"""Words of a warning, and the event after which it is over."""
_WENT_ON = later(r"^\s*Normal +(?P<reason>Scheduled|Pulled|Started) +(?P<age>\S+)(?: \(x\d+ over \w+\))? +\S+ +\S")
_AGE = later(r"(?<=\s)(?P<age>(?:\d{1,6}[smhdy]){1,3})(?= )")
_NEXT_POD = later(r"^(?:Name: |\S+ +\d+/\d+ )")


def read_terminated(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read ``State: Terminated`` and the lines below it. The fields are those of ``kubernetes.terminated``."""
    state, values = [*matching(below, _STATE_LINE, 8)], dict[str, Value]()
    for _, part in state:
        name, value = part["name"].lower().replace(" ", "_"), part["value"]
        if name in {"reason", "message", "exit_code", "signal"}:
            values[name] = number_or_text(value)
        elif name == "finished" and (when := _moment(value)):
            values["when"] = when
    level: Level = (
        "info" if values.get("reason") in _GOOD or (not values.get("exit_code") and "reason" not in values) else "error"
    )
    if values.get("reason") in {"OOMKilled", "Evicted", "DeadlineExceeded"}:
        level = "fatal"
    if values.get("reason") == _LOST:
        values.pop("exit_code", None)
    if values.get("reason") == "OOMKilled" and (limit := _memory_limit(below)):
        values["limit"] = limit
    text = "\n".join([head.text.strip(), *(" ".join(line.text.split()) for line, _ in state)])
    return Multiline(text, values, numbers_of(line for line, _ in state), level=level)


def _memory_limit(below: Iterator[Message]) -> str:
    """Return the limit of memory in the description of the container, "" if it has none."""
    limits = dropwhile(lambda words: words != ["Limits:"], (line.text.split() for line in islice(below, _LIMIT_BELOW)))
    found = takewhile(lambda words: words != ["Requests:"], limits)
    return next((words[1] for words in found if len(words) == 2 and words[0] == "memory:"), "")


def _moment(text: str) -> str:
    """Return ``2024-01-01T00:00:00+00:00`` for ``Mon, 01 Jan 2024 00:00:00 +0000``, "" for all else."""
    from email.utils import parsedate_to_datetime  # late, because few logs tell of containers

    try:
        return parsedate_to_datetime(text).isoformat()
    except ValueError:
        return ""


def with_resource(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Add the resource that ran short, if the line names it.

    If the pod was started later, the record is ``kubernetes.passed``. For an evicted pod ``host`` is the node in the
    line.
    """
    enough = next((event for words, event in _PASSING.items() if words in head.text), "")
    if enough and _went_on(head, below, enough):
        return Multiline(head.text, level="info", kind="kubernetes.passed")
    match = _RESOURCE.search(head.text)
    short: dict[str, Value] = {"resource": match["low"] or match["eph"] or match["lack"]} if match else {}
    gave_up = fields.get("node") if fields.get("reason") == "Evicted" else None
    return Multiline(head.text, {**short, "host": gave_up} if gave_up else short)


def read_probe(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline | None:
    """Set level error if a probe failed often.

    A service that starts fails a few probes, so that few failures are a warning.
    """
    return Multiline(
        head.text, level="error" if (number(str(fields.get("times", 0))) or 0) >= _OFTEN_IN_VAIN else "warning"
    )


def _went_on(head: Message, below: Iterator[Message], enough: str) -> bool:
    """Return True if a newer event below says that the pod reached ``enough``.

    ``kubectl describe`` mostly sorts the events by time, but it is their ages that decide.
    """
    age = _age(head.text)
    for line in islice(below, _EVENTS_BELOW):
        if _NEXT_POD.match(line.text):
            return False
        if (match := _WENT_ON.match(line.text)) and match["reason"] in (enough, "Started"):
            later_age = _age(f" {match['age']} ")
            if age is None or later_age is None or later_age <= age:
                return True
    return False


def _age(text: str) -> int | None:
    """Return the seconds of the first age in an event, such as ``5m12s``."""
    match = _AGE.search(text)
    return seconds_of_age(match["age"]) if match else None
