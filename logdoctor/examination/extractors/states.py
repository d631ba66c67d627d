"""States of pods, workloads, jobs, nodes and containers, with the time that stands beside them."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.examination.extractors import Found, extracts
from logdoctor.pack.regexes import later

_STATE = (
    r"(?:Pending|Running|Succeeded|Failed|Evicted|Preempted|Admitted|QuotaReserved|Suspended|Resumed|Requeued"
    r"|Terminating|Terminated|Completed"
    r"|OOMKilled|CrashLoopBackOff|ImagePullBackOff|ErrImagePull|ContainerCreating|NotReady|Ready|Unschedulable"
    r"|FailedScheduling|Scheduled|Queued"
    r"|Finished|Dead|Alive|Restarting|Created"
    r"|PENDING|RUNNING|COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL|OUT_OF_MEMORY|PREEMPTED|REQUEUED|REQUEUE_HOLD"
    r"|SUSPENDED|COMPLETING"
    r"|CONFIGURING|BOOT_FAIL|DEADLINE|DOWN|DRAINED|DRAINING|DRAIN|IDLE|ALLOCATED|NOT_RESPONDING)"
)
_VERB = (
    r"(?:evicted|preempted|admitted|suspended|resumed|requeued|restarted|rescheduled|scheduled"
    r"|terminated|cancelled|deleted|recreated|drained|rebooted)"
)
_THING = (
    r"(?P<thing>(?i:pod|job|workload|node|container|pytorchjob|mpijob|raycluster|rayjob|jobset|statefulset"
    r"|deployment|executor|actor|allocation"
    r"|replica|instance|step)s?(?:Id|Name)?(?:[/=: \"'`]{1,3}(?!is\b|was\b|has\b|in\b|state\b"
    r"|status\b)[\w./:-]{1,120})?)"
)
_STATES = tuple(
    later(rf"(?x){pattern}")
    for pattern in (
        (
            rf"\b{_THING}[\"'`]?(?:[ ](?:is|was|has[ ]been|are|has|changed|moved|went|entered|transitioned|now"
            rf"|state|status|in|to|back|again|phase|the|from[ ]{_STATE}))"
            rf"{{0,6}}[:=]?[ ][\"']?(?P<state>{_STATE}|{_VERB})\b"
        ),
        rf"\b(?P<thing>JobId=\d+)\b[^\n]{{0,200}}?\bJobState=(?P<state>{_STATE})\b",
        (
            rf"\b(?:JobState|NodeState|State|STATE|state|phase|Phase|status|Status|reason|Reason)[=:][ ]"
            rf"?[\"']?(?P<state>{_STATE})\b"
        ),
        rf"^(?P<thing>[a-z0-9][\w.-]{{1,80}})[ ]+\d{{1,4}}/\d{{1,4}}[ ]+(?P<state>{_STATE})\b",
        (
            rf"\b(?:Warning|Normal)[ ]+(?P<state>{_STATE})\b[^\n]{{0,60}}?(?P<thing>(?:pod|job|workload"
            rf"|node)/[\w.-]{{1,80}})"
        ),
        r"\b(?P<state>Evicted|Admitted|Preempted|QuotaReserved|Requeued)\b[ ](?:by|due[ ]to|because)\b",
    )
)
_TIME = later(
    r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?|\b\d\d:\d\d:\d\d\b|(?<=\bat "
    r")\d\d:\d\d\b"
)
SAMPLES = {
    "2025-11-04T12:03:10Z pod trainer-0 was evicted": (
        "state.state=evicted (pod trainer-0)",
        "state.time=2025-11-04T12:03:10Z (pod trainer-0)",
    ),
    "Workload team/train is Admitted at 12:05": (
        "state.state=Admitted (Workload team/train)",
        "state.time=12:05 (Workload team/train)",
    ),
    "JobId=812 JobName=x UserId=u JobState=PENDING Reason=Resources": ("state.state=PENDING (JobId=812)",),
    "trainer-1   0/1   Evicted   0   5m": ("state.state=Evicted (trainer-1)",),
    "Warning  FailedScheduling  4m  scheduler  pod/trainer-2 0/8 nodes are available": (
        "state.state=FailedScheduling (pod/trainer-2)",
    ),
    "    Reason: OOMKilled": ("state.state=OOMKilled",),
    "slurmctld: job 812 requeued": ("state.state=requeued (job 812)",),
    "node gpu-07 state changed to DOWN": ("state.state=DOWN (node gpu-07)",),
    "Running the job on 4 nodes": (),
    "step 4 finished; job done": (),
    "Failed to open the file": (),
    "reading container format v2": (),
}


@extracts(
    "state",
    "pod pods job jobs workload node nodes container pytorchjob mpijob raycluster rayjob jobset statefulset "
    "deployment executor actor allocation"
    " jobid jobstate nodestate state status phase reason evicted admitted preempted quotareserved requeued warning "
    "normal pending running"
    " terminating",
)
def extract(text: str) -> Iterator[Found]:
    """Yield the state of a thing, and the time if the line prints one."""
    for pattern in _STATES:
        found = pattern.search(text)
        if found:
            thing = (found.groupdict().get("thing") or "").strip()
            yield Found("state", found["state"], of=thing, said=found[0].strip())
            time = _TIME.search(text)
            if time:
                yield Found("time", time[0], of=thing, said=time[0])
            return
