"""Newest states of pods, workloads, jobs, nodes and links: only the newest state of an object is an alarm.

Example: ``Preempted`` 31 minutes ago, ``Admitted`` 12 minutes ago: the workload goes on.
"""

from __future__ import annotations

from collections import deque

from logdoctor.model import Record
from logdoctor.reasoning.lifecycle.clocks import elapsed

MAX_STATES = 256
AROUND_NAMES = ".,:;()[]'\""


class ObjectStates:
    """The records that say that an object goes on."""

    READS = ("tells goes on", "tells object")

    def __init__(self) -> None:
        self._good: deque[Record] = deque(maxlen=MAX_STATES)
        self._described: deque[Record] = deque(maxlen=MAX_STATES)
        """The beginnings of the descriptions of objects."""

    def observe(self, record: Record) -> None:
        (self._described if record.tells("object") else self._good).append(record.without_lines())

    def newer(self, alarm: Record) -> Record | None:
        """Return the newest record that says that the object of ``alarm`` went on after it."""
        if "was" not in alarm.fields:
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


def is_of_machine(alarm: Record) -> bool:
    """Return whether a record tells the state of a host, or of a part of it."""
    return any(sign.of == "host" or sign.reporter == "machine" for sign in alarm.signs)


def _is_of_one(good: Record, alarm: Record) -> bool:
    """Return whether both are of one object.

    A name must stand in the alarm. Without a name, both are events of one list or words of one scheduler about one job.
    """
    name = name_of(good)
    if name.isdecimal():
        jobs = alarm.fields.get("jobs")
        return isinstance(jobs, tuple) and name in jobs
    if name:
        return name in (word.strip(AROUND_NAMES).rpartition("/")[2] for word in alarm.line.text.split())
    if good.line.file != alarm.line.file:
        return False
    if "age_s" in good.fields:
        return "age_s" in alarm.fields and "/" not in str(alarm.fields.get("pod", ""))
    by_machine = any(sign.reporter == "machine" for sign in alarm.signs)
    return not (by_machine or alarm.tells("goes on") or "pod" in alarm.fields)


def _is_newer(good: Record, alarm: Record) -> bool:
    ages = good.fields.get("age_s"), alarm.fields.get("age_s")
    if isinstance(ages[0], int) and isinstance(ages[1], int):
        return good.line.file == alarm.line.file and ages[0] < ages[1]
    if ages != (None, None):
        return False
    seconds = elapsed(alarm, good)
    if seconds:
        return seconds > 0
    return good.line.file == alarm.line.file and good.line.number > alarm.line.number
