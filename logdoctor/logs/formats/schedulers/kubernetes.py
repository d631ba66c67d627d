r"""Kubernetes: what kubectl shows, the reasons of the kubelet, and the operators of training jobs.

Kinds and their fields:

- ``kubernetes.oom_killed`` pod, container, exit_code; ``kubernetes.evicted`` message, resource, pod
- ``kubernetes.terminated`` reason, exit_code, signal: the state block of ``kubectl describe pod``; reason Completed
  is info
- ``kubernetes.pod_state`` pod, state, restarts: a bad row of ``kubectl get pods``; how DLRover's master saw a pod end
- ``kubernetes.image`` image, message; ``kubernetes.unschedulable`` message, resource; ``kubernetes.mount`` message;
  ``kubernetes.sandbox`` message; ``kubernetes.create`` message: the container could not be made or started
- ``kubernetes.back_off`` message, pod; ``kubernetes.probe`` message; ``kubernetes.killing`` message
- ``kubernetes.preempted`` message; ``kubernetes.node`` message, host; ``kubernetes.deadline`` message
- ``kubernetes.job_failed`` message, pod: a Job, PyTorchJob, MPIJob, JobSet, Volcano or Kueue workload failed
- ``kubernetes.gang`` message: not all pods of the group could start; ``kubernetes.waiting`` message: an init
  container or kubectl waits
- ``kubernetes.note`` message: a slip of the kubelet
- ``kubernetes.passed``: the pod could not be scheduled or started at first; it was, later
- ``kubernetes.refused`` message: the API server refused or did not answer; ``kubernetes.event`` reason, message: any
  other Warning event
- fact: ``kubernetes.node_of_pod`` pod, host

Sources: Kubernetes 1.22 to 1.31 (kubelet events.go and eviction, kubectl describe), training-operator 1.5-1.8, MPI
operator 0.4-0.6, JobSet 0.5, Volcano 1.8, Kueue 0.8, DLRover 0.4-0.5 (`training_event/reporter.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.record_pattern import LifecycleSigns, Message, Multiline, RecordPattern
from logdoctor.model import Level, Value
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
            values[name] = int(value) if value.isdecimal() else value
    level: Level = (
        "info" if values.get("reason") in _GOOD or (not values.get("exit_code") and "reason" not in values) else "error"
    )
    if values.get("reason") in {"OOMKilled", "Evicted", "DeadlineExceeded"}:
        level = "fatal"
    return Multiline("\n".join(lines), values, tuple(taken), level=level)


def with_resource(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Add the resource that ran short, if the line names it.

    If the pod was started later, the record is ``kubernetes.passed``. For an evicted pod ``host`` is the node in the line.
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
    return Multiline(head.text, level="error" if int(str(fields.get("times", 0))) >= _OFTEN_IN_VAIN else "warning")


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


_EVENT = r"\bWarning +"
_AGE = (
    r" +(?:<unknown>|<invalid>|\d+[smhdy][\dsmhdy]*|\d{1,3})(?: \(x\d+ over \w+\))? +(?:from )?"
    r"(?P<source>[\w/.@-]+(?:,[\w/.@-]+)?)(?:, (?P<node>[\w.-]{1,253}))? +"
)
_POD = r"(?:(?:pod|Pod)s?[/ ]\"?(?P<pod>[\w./-]+)\"?)?"
_BAD_STATES = (
    r"OOMKilled|Evicted|Error|CrashLoopBackOff|ImagePullBackOff|ErrImagePull|ErrImageNeverPull|"
    r"InvalidImageName|CreateContainerConfigError|CreateContainerError|RunContainerError|"
    r"ContainerCannotRun|ContainerStatusUnknown|DeadlineExceeded|StartError|NodeLost|NodeAffinity|"
    r"OutOf[a-z]\w*|UnexpectedAdmissionError|Preempting|Shutdown|Terminated|Unknown|"
    r"Init:(?:Error|CrashLoopBackOff|OOMKilled|ErrImagePull|ImagePullBackOff)|PostStartHookError"
)

PODS = (
    RecordPattern("kubernetes.terminated", r"^\s*(?:Last )?State: +Terminated\b", "error", read_terminated,
           "How a container ended.", 3),
    RecordPattern("kubernetes.terminated",
           r"\"?reason\"?: ?\"?(?P<reason>OOMKilled|ContainerCannotRun|StartError|DeadlineExceeded|Evicted|NodeLost|"
           r"NodeShutdown|Preempted|TerminationByKubelet|PreemptionByScheduler)\b\"?.*?(?:\"?exitCode\"?: ?"
           r"(?P<exit_code>\d+))?", "fatal", note="How a container or pod ended.", priority=2),
    RecordPattern("kubernetes.oom_killed", r"^\s*(?:Status|Reason): +(?P<reason>OOMKilled)\b|(?:[Cc]ontainer|"
           r"[Pp]od) (?P<pod>[\w./-]+) .{0,80}OOM ?[Kk]illed|\bOOMKilling\b.{0,200}", "fatal",
           note="A container was killed because it reached its memory limit.", priority=3),
    RecordPattern("kubernetes.evicted", r"^\s*(?:Status|Reason): +(?P<message>Evicted)\b", "fatal",
           note="The pod was evicted from its node.", priority=1),
    RecordPattern("kubernetes.evicted",
           r"(?:\bEvicted +(?P<host>[a-z0-9][\w.-]{0,252}) +Pod )?"
           r"(?P<message>The node was low on resource: [\w-]+.*|Pod ephemeral local storage usage exceeds.*|"
           r"Container \S+ exceeded its local ephemeral storage limit.*|"
           r"Usage of EmptyDir volume \S+ exceeds the limit.*|"
           r"The node had condition: \[\w+\].*|TaintManagerEviction.*|Pod was rejected: .*)", "fatal", with_resource,
           "The node gave the pod up.", 3),
    RecordPattern("kubernetes.pod_state",
           rf"^(?:[\w-]+ +)?(?P<pod>[a-z0-9][\w.-]*) +\d+/\d+ +(?P<state>{_BAD_STATES}) +(?P<restarts>\d+)\b", "error",
           note="The state of a pod.", priority=4),
    RecordPattern("kubernetes.pod_state",
           r"\[(?P<pod>[a-z0-9][\w.-]{0,252})\]\[status_update\]\[\w{1,20} to Failed\]\[.{0,400}?"
           r"\"exit reason\": \"(?P<state>(?!OOMKilled|Succeeded)\w{2,40})\"", "error",
           note="The state of a pod.", scan=r"\]\[status_update\]\[\w+ to Failed\]"),
    RecordPattern("kubernetes.pod_state", r"Status: +(?P<state>Failed)\s*$", "error", note="The state of a pod."),
    RecordPattern("kubernetes.node", r"^(?P<host>[a-z0-9][\w.-]{1,200}) +(?P<message>NotReady)(?:,\w+)* +\S+ +\d\w* +v\d",
           "error", note="A node of the cluster does not answer."),
    RecordPattern("kubernetes.node_of_pod", r"Successfully assigned (?P<pod>[\w./-]+) to (?P<host>[\w.-]+)", "info",
           note="Which node a pod is on."),
)  # fmt: skip


def _event(kind: str, reasons: str, note: str, level: Level = "error", priority: int = 5) -> RecordPattern:
    """Build the record of a Warning event with one of these reasons.

    ``kubectl describe`` and ``kubectl get events`` print it.
    """
    return RecordPattern(
        kind,
        rf"{_EVENT}(?P<reason>{reasons})\b(?:{_AGE})?(?P<message>.*)",
        level,
        with_resource,
        note,
        priority,
    )


EVENTS = (
    _event("kubernetes.evicted", "Evicted|EvictionThresholdMet|TaintManagerEviction|ExceededGracePeriod",
           "The node gave the pod up.", "fatal"),
    _event("kubernetes.oom_killed", "OOMKilling|SystemOOM", "The kernel killed a process for lack of memory.", "fatal"),
    _event("kubernetes.image", "ErrImagePull|ImagePullBackOff|InspectFailed|ErrImageNeverPull|InvalidImageName|"
           "FailedToRetrieveImagePullSecret", "The image could not be fetched."),
    _event("kubernetes.gang", "EvictedDueToPodsReadyTimeout", "The pods of the group were not ready in time."),
    _event("kubernetes.unschedulable", "FailedScheduling|NotTriggerScaleUp|Unschedulable", "No node can take the pod."),
    _event("kubernetes.mount",
           r"Failed(?:Mount|AttachVolume|MapVolume|Binding|DetachVolume)|ProvisioningFailed|VolumeResizeFailed|"
           r"FailedUnMount", "A volume could not be mounted."),
    _event("kubernetes.sandbox",
           "FailedCreatePodSandBox|FailedPodSandBoxStatus|SandboxChanged|NetworkNotReady|FailedKillPod",
           "The pod's network or sandbox could not be made."),
    _event("kubernetes.back_off", "BackOff|CrashLoopBackOff", "A container keeps ending soon after its start.",
           "error"),
    _event("kubernetes.probe", "Unhealthy|ProbeWarning|ProbeError", "A health check of the container failed.",
           "warning"),
    RecordPattern("kubernetes.probe",
           rf"{_EVENT}(?P<reason>Unhealthy) +\S+ \(x(?P<times>\d{{1,6}}) over \w+\) +\S+ +"
           r"(?P<message>(?:Readiness|Startup) probe .*)", "warning", read_probe,
           "A health check of the container failed.", 6),
    _event("kubernetes.preempted", "Preempted|Preempting|PreemptionByScheduler",
           "The pod had to make room for another.", "fatal"),
    _event("kubernetes.node",
           r"Node(?:NotReady|HasDiskPressure|HasInsufficientMemory|NotSchedulable|Shutdown|AllocatableEnforced|"
           r"StatusUnknown)|Rebooted|Shutdown|KubeletNotReady|ContainerGCFailed|ImageGCFailed|FreeDiskSpaceFailed|"
           r"HostPortConflict|PodFitsHostPorts|XIDError|GPU\w+|Draining\w*|TerminateScheduled|KernelOops|TaskHung|"
           r"KernelDeadlock|FilesystemIsReadOnly", "A node has a problem."),
    _event("kubernetes.note", "InvalidDiskCapacity", "The kubelet has just started and has measured nothing yet.",
           "info"),
    _event("kubernetes.deadline", "DeadlineExceeded", "The job ran longer than allowed.", "fatal"),
    _event("kubernetes.job_failed",
           r"BackoffLimitExceeded|PodFailurePolicy|\w*Job(?:Failed|Evicted|Suspended)|(?:Trial|Experiment)Failed|FailedJobs?|"
           r"ReachedMaxRestarts|FailureTarget|PodGroup\w*|FailedCreate|FailedDelete\w*", "A job could not go on."),
    _event("kubernetes.create",
           r"Failed(?:Sync|PostStartHook|PreStopHook|ValidateContainer)?|CreateContainerConfigError|"
           r"CreateContainerError|RunContainerError|ContainerCannotRun|UnexpectedAdmissionError|OutOf\w+|"
           r"FailedCreatePodContainer", "A container could not be made or started.", "error", 4),
    _event("kubernetes.event",
           r"[A-Z][A-Za-z]{3,40}(?= +\S+ +(?:from )?(?:kubelet|\S*-(?:scheduler|controller|plugin|operator|"
           r"manager)))", "Kubernetes warns about an object of the job.", "warning", 1),
)  # fmt: skip

MESSAGES = (
    RecordPattern("kubernetes.image", r"(?P<message>(?:Failed to pull image|Back-off pulling image|"
           r"Error response from daemon: pull access denied|rpc error: code = \w+ desc = (?:failed to pull|"
           r"Error response from daemon: manifest)) ?\"?(?P<image>[\w./:@-]+)?.*)", "error",
           note="The image could not be fetched.", priority=6),
    RecordPattern("kubernetes.image", r"\b(?P<message>ErrImagePull|ImagePullBackOff|ErrImageNeverPull|InvalidImageName)\b",
           "error", note="The image could not be fetched.", priority=-1),
    RecordPattern("kubernetes.unschedulable", r"(?P<message>\d+/\d+ nodes are available: .*)", "error", with_resource,
           "No node can take the pod.", 6),
    RecordPattern("kubernetes.back_off",
           r"(?P<message>[Bb]ack-off (?:\w+ )?restarting failed container.*|\bCrashLoopBackOff\b)", "error",
           note="A container keeps ending soon after its start."),
    RecordPattern("kubernetes.note",
           r"(?P<message>MountVolume\.SetUp failed for volume .{1,200}: object \"[^\"]+\"/\"[^\"]+\" not registered)",
           "info", note="The kubelet looks after a pod that it no longer, or not yet, has on its list.", priority=7,
           scan="not registered"),
    RecordPattern("kubernetes.mount",
           r"(?P<message>MountVolume\.\w+ failed for volume.*|Unable to attach or mount volumes: .*|"
           r"AttachVolume\.\w+ failed.*)", "error", with_resource, "A volume could not be mounted.", 6),
    RecordPattern("kubernetes.sandbox",
           r"(?P<message>Failed to create pod sandbox: .*|network: .*failed to (?:set up|allocate).*)", "error",
           with_resource, "The pod's network or sandbox could not be made.", 6),
    RecordPattern("kubernetes.create", r"(?P<message>failed to (?:create|start) container(?:d task)?\b.*|Error: (?:configmap|"
           r"secret) \"[^\"]+\" not found|container has runAsNonRoot .*|Allocate failed due to .*)", "error",
           note="A container could not be made or started."),
    RecordPattern("kubernetes.deadline",
           r"(?P<message>(?:Job|Pod|Workflow) was active (?:on the node )?longer than (?:the )?specified deadline)",
           "fatal", note="The job ran longer than allowed.", priority=3),
    RecordPattern("kubernetes.job_failed",
           r"(?P<message>Job has reached the specified backoff limit|(?P<job_kind>PyTorchJob|TFJob|MPIJob|"
           r"XGBoostJob|PaddleJob|MXJob|TrainJob|RayJob|RayCluster|JobSet) \S+ (?:is failed|has failed|is failing|"
           r"failed|is evicted|is restarting) ?.*|"
           r"jobset failed due to .*|Pod group .* failed.*|(?:Launcher|Worker) (?:pod |"
           r"replicas? )?\S* ?(?:has )?failed\b.*)", "fatal", note="A training job could not go on.", priority=3),
    RecordPattern("kubernetes.job_failed", r"^\s*(?:- )?reason: (?P<message>\w*(?:Job|Trial|Experiment)Failed)\s*$", "fatal",
           note="A training job could not go on."),
    RecordPattern("kubernetes.gang", r"(?P<message>pod group is not ready,.*|\d+/\d+ tasks in gang unschedulable.*|"
           r"couldn't assign flavors to pod set.*|The workload has been .*evicted.*|(?:resource in cluster is overused|"
           r"queue resource quota insufficient)\b.*|.{0,80}cannot find enough sibling pods.*|Resources were found for "
           r"\d+ pods while \d+ are required.*|Exceeded the PodsReady timeout.*)", "error", with_resource,
           "Not all pods of the group could start.", 6),
    RecordPattern("kubernetes.preempted",
           r"(?P<message>Preempted (?:by|in order to|to accommodate).*|Preempting to accommodate.*|"
           r".*preempted by pod.*|Pod .*due to preemption|.{0,60}: preempting to accommodate a higher priority pod.*|"
           r"\d+/\d+ workers are evicted|Eviction API: evicting.*|Evicted pod: \w+|deleting pod for node scale down|"
           r"Spot interruption warning was triggered.*)", "fatal", note="The pod had to make room for another.",
           priority=6),
    RecordPattern("kubernetes.node", r"^\s*(?:Message: +|Reason: +)?(?P<message>NodeLost|Node (?P<host>[\w-]+)\S* which was "
           r"running pod \S+ is unresponsive)", "error", note="The node of the pod does not answer.",
           scan=r"Reason: +NodeLost|is unresponsive"),
    RecordPattern("kubernetes.preempted", r"^\s*Reason: +(?P<message>Preempt(?:ing|ed))\s*$", "fatal",
           note="The pod had to make room for another."),
    RecordPattern("kubernetes.node", r"(?P<message>Node (?P<host>[\w.-]+) status is now: NodeNotReady|"
           r"node \"?(?P<named>[\w.-]+)\"? (?:is )?not ready|"
           r"Pod was terminated in response to imminent node shutdown.*|node is not ready\b.*|PodGC: node no longer "
           r"exists|[Tt]aint manager: deleting due to NoExecute taint.*|Imminent node shutdown.*)", "error",
           note="A node has a problem.", priority=2),
    RecordPattern("kubernetes.killing",
           r"(?P<message>Stopping container (?P<container>[\w.-]+)\s*$|Killing container with .*|"
           r"Container \S+ failed (?:liveness|startup) probe, will be restarted)", "info",
           note="Kubernetes ends a container.", priority=2),
    RecordPattern("kubernetes.probe", r"(?P<message>Container \S+ failed (?:liveness|startup) probe, will be restarted)",
           "error", note="A health check failed, and the container is restarted.", priority=7),
    RecordPattern("kubernetes.oom_killed", r"(?P<message>\"Got sys oom event\".*|System OOM encountered, victim process: .*)",
           "fatal", note="The kernel of a node ran out of memory and killed a process.", priority=6),
    RecordPattern("kubernetes.eviction_manager", r"(?P<message>\"?Eviction manager: (?:must evict pod\(s\)|pod failed to "
           r"evict|unable to evict|failed to).*)", "error", note="A node runs short of a resource and throws pods out.",
           priority=6),
    RecordPattern("kubernetes.node", r"(?P<message>TaintManagerEviction .{0,120}Marking for deletion Pod (?P<pod>\S+))",
           "error", note="The pod is deleted because its node is not ready or unreachable.", priority=7),
    RecordPattern("kubernetes.note", r"(?P<message>TaintManagerEviction .{0,120}Cancelling deletion of Pod \S+)", "info",
           note="The node came back before the pod was deleted.", priority=7),
    RecordPattern("kubernetes.preempted", r"(?P<message>The workload has been \w*[Ee]victed: Preempted.*|Evicted: "
           r"Preempted to accommodate.*)",
           "fatal", note="The pods had to make room for others.", priority=7),
    RecordPattern("kubernetes.refused", r"^(?P<message>The connection to the server \S+ was refused - did you specify the "
           r"right.*)",
           "error", note="The API server refused or did not answer."),
    RecordPattern("kubernetes.refused",
           r"^(?P<message>Error from server(?: \((?P<code>\w+)\))?: .*|Unable to connect to the server: .*|"
           r"error: (?:timed out waiting for the condition|unable to upgrade connection|You must be logged in|"
           r"the server doesn't have a resource).*)", "error", note="The API server refused or did not answer."),
    RecordPattern("kubernetes.refused", r"(?P<message>command terminated with exit code (?P<exit_code>[1-9]\d*))", "error",
           note="A command that ran in a pod failed."),
    RecordPattern("kubernetes.waiting",
           r"^(?P<message>waiting for master\b.*|Waiting for (?:hostfile|workers?|launcher|.{1,60} to be (?:ready|"
           r"resolvable|running)).*|container \"[^\"]+\" in pod \"(?P<pod>[^\"]+)\" is waiting to start: "
           r"(?P<reason>.*))", "info", note="A pod waits for another one."),
    RecordPattern("kubernetes.terminated",
           r"container (?P<container>[\w.-]+)(?: in pod [\w./-]+)? (?:is )?terminated(?: with exit code "
           r"(?P<exit_code>[1-9]\d*))(?:.*?\((?P<reason>\w+)\))?", "error", note="How a container ended."),
)  # fmt: skip

RECORDS: tuple[RecordPattern, ...] = (*PODS, *EVENTS, *MESSAGES)

SIGNS: LifecycleSigns = {
    "kubernetes.deadline": ("why ended",),
}
