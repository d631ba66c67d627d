"""Objects of Kubernetes as facts: pods, nodes, jobs, workloads and events, as ``kubectl get -o json|yaml`` writes them.

- A pod tells how its containers ended (``state``, and of the attempt before ``lastState``), why one waits, why the pod
  was taken away, and that it runs.
- Conditions of all objects tell what failed. Of a node ``Ready: True`` and ``MemoryPressure: False`` are health.
- An event becomes the line that ``kubectl get events`` prints, behind its time, for the formats of logs. Those of one
  object stand together in the order of their times, so that a later one can show that the object got over it.

Sources: Kubernetes 1.22 to 1.34, staging/src/k8s.io/api/core/v1/types.go, batch/v1/types.go, pkg/kubelet/nodeshutdown,
pkg/kubelet/lifecycle/predicate.go; Kueue 0.8 to 0.14, apis/kueue/v1beta1/workload_types.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

from logdoctor.artefacts.document import Fact, Found, Passage
from logdoctor.artefacts.json_pieces import Piece
from logdoctor.model import Level, Source, Value

KEPT = frozenset(
    "kind metadata spec status type reason message note involvedObject regarding source deprecatedSource count "
    "deprecatedCount series firstTimestamp lastTimestamp deprecatedFirstTimestamp deprecatedLastTimestamp "
    "eventTime".split()
)
"""Members of objects that are read."""
MAX_EVENTS, MAX_SAID = 1 << 13, 4096
"""Events that wait until the events of their object are complete, and characters of each."""
_SUBJECTS = {"Pod": "pod", "Node": "host"}
"""Fields that name an object."""
_STATUSES = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_STARTING = frozenset(("ContainerCreating", "PodInitializing", ""))
_FATAL = frozenset(("OOMKilled", "Evicted", "DeadlineExceeded"))
_LEVELS: Mapping[str, Level] = {"evicted": "fatal", "preempted": "fatal", "deadline": "fatal"}
"""Levels of kinds that are no errors."""
_LOST = "ContainerStatusUnknown"
"""The kubelet found the container no more, and its exit code 137 is made up."""
_KINDS = {
    **dict.fromkeys(("Evicted", "TerminationByKubelet"), "evicted"),
    **dict.fromkeys(("Preempted", "Preempting", "PreemptionByScheduler", "EvictionByEvictionAPI"), "preempted"),
    **dict.fromkeys(("AdmissionCheck", "ClusterQueueStopped", "LocalQueueStopped", "Deactivated"), "preempted"),
    **dict.fromkeys(("NodeLost", "NodeFailures", "DeletionByTaintManager", "DeletionByPodGC"), "node"),
    **dict.fromkeys(("NodeShutdown", "Terminated", "Shutdown"), "node"),
    **dict.fromkeys(("DeadlineExceeded", "MaximumExecutionTimeExceeded"), "deadline"),
    **dict.fromkeys(("CreateContainerConfigError", "CreateContainerError", "RunContainerError"), "create"),
    "UnexpectedAdmissionError": "create",
    "PodsReadyTimeout": "gang",
    "CrashLoopBackOff": "back_off",
}
"""Reasons of pods, containers and conditions, and the kinds of their facts."""
_CONDITIONS = {
    ("PodScheduled", "False"): "unschedulable",
    ("DisruptionTarget", "True"): "evicted",
    ("Failed", "True"): "job_failed",
    ("Evicted", "True"): "preempted",
    ("QuotaReserved", "False"): "gang",
}
_OF_NODE = {
    ("Ready", "False"): "node",
    ("Ready", "Unknown"): "node",
    ("MemoryPressure", "True"): "other",
    ("DiskPressure", "True"): "other",
    ("PIDPressure", "True"): "other",
    ("NetworkUnavailable", "True"): "other",
}
_SHORT = r"Insufficient (?P<lack>[\w./-]*\w)|low on resource: (?P<low>[\w-]+)"


class Objects:
    """Facts that the objects of one document tell. Events wait for `events`."""

    def __init__(self) -> None:
        self._events: dict[str, list[tuple[float, str, int, str]]] = {}
        """Time, line, line in the document and path of the events of each object."""
        self._hosts: dict[str, str] = {}
        self._count = 0

    def tell(self, piece: Piece) -> Iterator[Found]:
        if not isinstance(piece.value, Mapping):
            return
        kind = str(piece.value.get("kind"))
        if kind == "Event":
            self._wait(piece)
            if self._count >= MAX_EVENTS:
                yield from self.events()
            return
        told = _Object(piece)
        yield from told.pod() if kind == "Pod" else told.conditions(_OF_NODE if kind == "Node" else _CONDITIONS)

    def _wait(self, piece: Piece) -> None:
        event = piece.value
        about = _table(event.get("involvedObject") or event.get("regarding"))
        name = f"{str(about.get('kind')).lower()}/{about.get('name')}"
        host = _table(event.get("source") or event.get("deprecatedSource")).get("host")
        if about.get("kind") == "Node":
            host = about.get("name")
        key = f"{about.get('namespace')} {name}"
        if isinstance(host, str):
            self._hosts[key] = host
        when = _when(event)
        line = " ".join(f"{when} {_often(event, when)} {event.get('type')} {event.get('reason')} {name}".split())
        said = " ".join(str(event.get("message") or event.get("note") or "")[:MAX_SAID].split())
        where = f"{piece.where}.message".lstrip(".")
        self._events.setdefault(key, []).append((_time(when) or 0.0, f"{line} {said}", piece.line, where))
        self._count += 1

    def events(self) -> Iterator[Passage]:
        """Yield the events that wait, those of one object together."""
        for key, events in self._events.items():
            events.sort(key=lambda event: event[0])
            text = "\n".join(line for _, line, _, _ in events)
            places = tuple((number, where) for _, _, number, where in events)
            yield Passage(text, *places[0], Source(host=self._hosts.get(key)), places)
        self._events, self._hosts, self._count = {}, {}, 0


class _Object:
    """An object with a status."""

    def __init__(self, piece: Piece) -> None:
        self.piece = piece
        value, metadata = piece.value, _table(piece.value.get("metadata"))
        self.name, self.spec, self.status = metadata.get("name"), _table(value.get("spec")), _table(value.get("status"))
        self.called = _SUBJECTS.get(str(value.get("kind")), "object")
        host = self.name if self.called == "host" else self.spec.get("nodeName")
        self.host = host if isinstance(host, str) else None

    def fact(
        self, kind: str, text: str, fields: Mapping[str, Any], where: str, level: Level, when: object = None
    ) -> Fact:
        """Return a fact about the object. Fields without a value are left out."""
        told: dict[str, Value] = {
            name: value
            for name, value in {self.called: self.name, **fields}.items()
            if isinstance(value, str | int) and value != ""
        }
        source = Source(host=self.host, time=_time(when))
        path = f"{self.piece.where}.status.{where}".lstrip(".")
        return Fact(f"kubernetes.{kind}", text, told, self.piece.line, path, level, source)

    def reason(self, kind: str, told: Mapping[str, Any], where: str, **fields: Any) -> Fact:
        """Return a fact of the kind that the reason of a state tells, else of ``kind``."""
        reason, message = str(told.get("reason") or ""), str(told.get("message") or "")
        kind = "create" if reason.startswith("OutOf") else _KINDS.get(reason, kind)
        short = re.search(_SHORT, message)
        said = {"reason": reason, "message": message, "resource": short and (short["lack"] or short["low"])}
        text = ": ".join(part for part in (reason, message) if part)
        return self.fact(kind, text, said | fields, where, _LEVELS.get(kind, "error"), told.get("lastTransitionTime"))

    def pod(self) -> Iterator[Found]:
        statuses = [(name, at, status) for name in _STATUSES for at, status in enumerate(_tables(self.status, name))]
        if self.status.get("reason"):
            yield self.reason("pod_state", self.status, "reason", state=self.status["reason"])
        else:
            yield from self.conditions(_CONDITIONS)
        for name, at, status in statuses:
            yield from self._container(status, f"{name}[{at}]")
        running = [
            _table(_table(status.get("state")).get("running")) for name, _, status in statuses if name == _STATUSES[1]
        ]
        if self.status.get("phase") == "Running" and running and all(running):
            since = max(str(state.get("startedAt")) for state in running)
            yield self.fact("running", "phase: Running", {"state": "Running"}, "phase", "info", since)

    def _container(self, status: Mapping[str, Any], where: str) -> Iterator[Found]:
        for state in ("lastState", "state"):
            if ended := _table(_table(status.get(state)).get("terminated")):
                yield from self._ended(ended, status, f"{where}.{state}.terminated")
        waiting = _table(_table(status.get("state")).get("waiting"))
        if (reason := str(waiting.get("reason") or "")) not in _STARTING:
            told = {"state": reason, "container": status.get("name"), "restarts": status.get("restartCount")}
            yield self.reason("pod_state", waiting, f"{where}.state.waiting.reason", **told)

    def _ended(self, ended: Mapping[str, Any], status: Mapping[str, Any], where: str) -> Iterator[Found]:
        reason, code = str(ended.get("reason") or ""), ended.get("exitCode")
        is_good = reason == "Completed" or (not code and not reason)
        level: Level = "info" if is_good else "fatal" if reason in _FATAL else "error"
        told = {"reason": reason, "exitCode": code, "signal": ended.get("signal")}
        text = ", ".join(f"{key}: {value}" for key, value in told.items() if value not in (None, ""))
        name = status.get("name")
        fields = {
            "reason": reason,
            "exit_code": None if reason == _LOST else code,
            "signal": ended.get("signal"),
            "container": name,
            "restarts": status.get("restartCount"),
            "limit": self._memory_limit(name) if reason == "OOMKilled" else None,
        }
        yield self.fact("terminated", text, fields, where, level, ended.get("finishedAt"))
        if not is_good and isinstance(message := ended.get("message"), str):
            source = Source(host=self.host, time=_time(ended.get("finishedAt")), tag=str(self.name))
            path = f"{self.piece.where}.status.{where}.message".lstrip(".")
            yield Passage(message, self.piece.line, path, source)

    def _memory_limit(self, name: object) -> object:
        containers = [*_tables(self.spec, "containers"), *_tables(self.spec, "initContainers")]
        resources = (_table(container.get("resources")) for container in containers if container.get("name") == name)
        return next((_table(found.get("limits")).get("memory") for found in resources), None)

    def conditions(self, kinds: Mapping[tuple[str, str], str]) -> Iterator[Fact]:
        for at, condition in enumerate(_tables(self.status, "conditions")):
            name, status = str(condition.get("type")), str(condition.get("status"))
            kind = kinds.get((name, status))
            if kind and condition.get("reason") != "SchedulingGated":
                yield self.reason(kind, condition, f"conditions[{at}]", condition=name)


def _when(event: Mapping[str, Any]) -> str:
    """Return the time at which an event was seen last, "" if it tells none."""
    times = [event.get("lastTimestamp"), _table(event.get("series")).get("lastObservedTime")]
    times += [event.get(name) for name in ("deprecatedLastTimestamp", "eventTime", "firstTimestamp")]
    return next((str(when) for when in times if _time(when)), "")


def _often(event: Mapping[str, Any], when: str) -> str:
    """Return ``(x4 over 93s)`` for an event that was seen several times, else ""."""
    count = event.get("count") or _table(event.get("series")).get("count") or event.get("deprecatedCount")
    first, last = _time(event.get("firstTimestamp") or event.get("deprecatedFirstTimestamp")), _time(when)
    return f"(x{count} over {last - first:.0f}s)" if first and last and isinstance(count, int) and count > 1 else ""


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _tables(value: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    held = value.get(name)
    return [_table(part) for part in held] if isinstance(held, list) else []


def _time(stamp: object) -> float | None:
    """Return ``2026-03-04T02:11:09Z`` in seconds since 1970, None for all else and for the year 1, which is no time."""
    try:
        moment = datetime.fromisoformat(str(stamp).replace("Z", "+00:00"))
    except ValueError:
        return None
    seconds = moment.replace(tzinfo=moment.tzinfo or timezone.utc).timestamp()
    return seconds if seconds > 0 else None
