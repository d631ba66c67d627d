"""State of the pod, job, node or link that a line is about, if a newer state may end it.

The fields are ``was`` (the state), ``age_s`` (of an event that has no time) and ``jobs`` (the numbers in the line).
"""

from __future__ import annotations

from collections.abc import Mapping

from logdoctor.model import LifecycleSign, Value
from logdoctor.model.times import seconds_of_age
from logdoctor.pack.regexes import later

ENDED_BY_OTHERS = frozenset(
    "Evicted Preempting Pending NodeLost NodeAffinity Shutdown Terminated Unknown Deleted UnexpectedAdmissionError "
    "NODE_FAIL PREEMPTED BOOT_FAIL TIMEOUT CANCELLED".split()
)
"""States of a pod or a job that it did not bring about. All others come back, because it failed by itself."""
_EVENT = later(
    r"\b(?:Normal|Warning) +(?P<reason>\w+) +(?P<age>(?:\d{1,6}[smhdy]){1,3})\b"
    r"|^\s*(?P<age>(?:\d{1,6}[smhdy]){1,3}) .{0,40}?\b(?:Normal|Warning) +(?P<reason>\w+)"
)
_ENDED = later(
    r"(?i)\b(?:evicted|preempted|preemption|pending|suspended|terminated|drained|NotReady|NODE FAILURE"
    r"|JOB REQUEUE|re-?queu(?:e|ed|ing)|TIME LIMIT|failure of node|unschedulable|not responding|down)\b"
)
_JOB = later(r"(?i)\b(?:job|step)(?:id)?[ =:]{1,2}(?:StepId=)?(?P<job>\d+)|^\s*(?P<job>\d+) ")


def read_state(signs: tuple[LifecycleSign, ...], fields: Mapping[str, Value], printed: str) -> dict[str, Value]:
    """Return the fields of a state, if the record tells one."""
    tells = {what for sign in signs for what in sign.tells}
    if tells.isdisjoint(("passing", "goes on")):
        return {}
    event, found = _EVENT.search(printed), dict[str, Value]()
    if event:
        found["age_s"] = seconds_of_age(event["age"])
    if "passing" not in tells or ("own state" in tells and fields.get("state") not in ENDED_BY_OTHERS):
        return found
    word = _ENDED.search(printed)
    if word is None and "goes on" in tells:  # of the states in which an object goes on, only these words tell an end
        return found
    told = event["reason"] if event else word[0] if word else fields.get("state") or fields.get("reason")
    jobs = tuple(match["job"] for match in _JOB.finditer(printed))
    return {**found, "was": str(told or "an error"), **({"jobs": jobs} if jobs else {})}
