"""Newest states of pods, workloads, jobs, nodes and links: only the newest state of an object is an alarm.

Example: ``Preempted`` 31 minutes ago, ``Admitted`` 12 minutes ago: the workload goes on.
"""

from __future__ import annotations

from collections import deque

from logdoctor.model import Record
from logdoctor.model.times import seconds_of_age
from logdoctor.pack.regexes import later
from logdoctor.reasoning.lifecycle.clocks import elapsed

MAX_STATES = 256
GOES_ON, DESCRIBED = "states.went_on", "states.described"
PASSING = frozenset(
    {
        *(f"kubernetes.{what}" for what in ("evicted", "preempted", "unschedulable", "gang", "node", "pod_state")),
        *(f"slurm.{what}" for what in ("cancelled", "node", "node_state", "job_state")),
        *("batch.killed", "kernel.other", GOES_ON),
    }
)
"""Kinds of states that a newer state ends."""
OF_ITSELF = ("kubernetes.pod_state", "slurm.job_state")
ENDED_BY_OTHERS = frozenset(
    "Evicted Preempting Pending NodeLost NodeAffinity Shutdown Terminated Unknown Deleted UnexpectedAdmissionError "
    "NODE_FAIL PREEMPTED BOOT_FAIL TIMEOUT CANCELLED".split()
)
"""States of a pod or a job that it did not bring about. All others come back, because it failed by itself."""
_EVENT = later(
    r"\b(?:Normal|Warning) +(?P<reason>\w+) +(?P<age>(?:\d{1,6}[smhdy]){1,3})\b"
    r"|^\s*(?P<seen>(?:\d{1,6}[smhdy]){1,3}) .{0,40}?\b(?:Normal|Warning) +(?P<what>\w+)"
)
_ENDED = later(
    r"(?i)\b(?:evicted|preempted|preemption|pending|suspended|terminated|drained|NotReady|NODE FAILURE"
    r"|JOB REQUEUE|re-?queu(?:e|ed|ing)|TIME LIMIT|failure of node|unschedulable|not responding|down)\b"
)
AROUND_NAMES = ".,:;()[]'\""
_JOB = later(r"(?i)\b(?:job|step)(?:id)?[ =:]{1,2}(?:StepId=)?(\d+)")


class ObjectStates:
    """The records that say that an object goes on."""

    READS = (GOES_ON, DESCRIBED, "kubernetes.node_of_pod", "kernel.other")

    def __init__(self) -> None:
        self._good: deque[Record] = deque(maxlen=MAX_STATES)
        self._described: deque[Record] = deque(maxlen=MAX_STATES)
        """The beginnings of the descriptions of objects."""

    def observe(self, record: Record) -> None:
        if str(record.fields.get("state", "down")).casefold() != "down" or "pod" in record.fields:
            self._good.append(record.without_lines())
        elif "thing" in record.fields:
            self._described.append(record.without_lines())

    def newer(self, alarm: Record) -> Record | None:
        """Return the newest record that says that the object of ``alarm`` went on after it."""
        if not self._good or alarm.kind not in PASSING:
            return None
        if alarm.kind in OF_ITSELF and alarm.fields.get("state") not in ENDED_BY_OTHERS:
            return None
        if alarm.kind == GOES_ON and not _ENDED.search(str(alarm.fields.get("state"))):
            return None
        newest = alarm
        for good in self._good:
            if _is_of_one(good, alarm) and self._in_one_description(good, alarm) and _is_newer(good, newest):
                newest = good
        return newest if newest is not alarm else None

    def _in_one_description(self, good: Record, alarm: Record) -> bool:
        return not any(
            head.line.file == alarm.line.file and (alarm.order < head.order) != (good.order < head.order)
            for head in self._described
        )


def name_of(good: Record) -> str:
    """Return the name of the object, without the kind and the namespace in front, or ""."""
    fields = good.fields
    return str(fields.get("thing") or fields.get("pod") or fields.get("interface") or "").rpartition("/")[2]


def state_of(alarm: Record) -> str:
    """Return the state that an alarm tells: the reason of an event, a word of the line, or a field."""
    event = _EVENT.search(alarm.line.text)
    told = (event["reason"] or event["what"]) if event else None
    word = _ENDED.search(alarm.line.text)
    return str(told or (word[0] if word else alarm.fields.get("state") or alarm.fields.get("reason")) or "an error")


def _is_of_one(good: Record, alarm: Record) -> bool:
    """Return whether both are of one object.

    A name must stand in the alarm. Without a name, both are events of one list or words of one scheduler about one job.
    """
    name, text = name_of(good), alarm.line.text
    if name.isdecimal():
        return name in _JOB.findall(text) or text.lstrip().startswith(f"{name} ")
    if name:
        return name in (word.strip(AROUND_NAMES).rpartition("/")[2] for word in text.split())
    if good.line.file != alarm.line.file:
        return False
    if _EVENT.search(good.line.text):
        return _EVENT.search(text) is not None and "/" not in str(alarm.fields.get("pod", ""))
    return alarm.format == "slurm"


def _is_newer(good: Record, alarm: Record) -> bool:
    ages = age_of(good), age_of(alarm)
    if ages[0] is not None and ages[1] is not None:
        return good.line.file == alarm.line.file and ages[0] < ages[1]
    if ages != (None, None):
        return False
    seconds = elapsed(alarm, good)
    if seconds:
        return seconds > 0
    return good.line.file == alarm.line.file and good.line.number > alarm.line.number


def age_of(record: Record) -> int | None:
    """Return the age of an event in seconds."""
    event = _EVENT.search(record.line.text)
    age = (event["age"] or event["seen"]) if event else None
    return seconds_of_age(age) if age else None
