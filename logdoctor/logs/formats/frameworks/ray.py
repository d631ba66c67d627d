r"""Ray: processes, nodes and memory.

Versions 1.x to 2.4x, with raylet, GCS, autoscaler and drivers.

Sources: `python/ray/exceptions.py`, `src/ray/raylet/node_manager.cc`, `src/ray/raylet/worker_killing_policy*.cc`,
`src/ray/gcs`, `python/ray/autoscaler/_private/autoscaler.py`.  In tracebacks the same texts stand inside
``python.traceback``; the kinds here are for lines that stand alone.

Kinds and fields:

``ray.actor_died``    class_name, actor_id, pid, host (its address), exit_type, exit_detail; if it died with its
    owner: host, exit_type and exit_detail of that one
``ray.worker_died``   pid, host, exit_type, exit_detail: a worker process ended; planned ends have level info
``ray.oom``           count, host, used, total, threshold: Ray killed workers because the node's memory ran low
``ray.node_died``     node, host: a node stopped answering;  ``ray.raylet_died`` host, exit_code: its daemon ended
``ray.gcs``           peer: the head's store (GCS) cannot be reached
``ray.placement``     demand: the cluster has not what was asked for
``ray.disk`` percent; ``ray.object_store``  the store of objects is full
``ray.task_failed``   error, message: a task or an actor's creation that is not tried again
``ray.cluster``       peer: where the head is (a fact)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.record_pattern import LifecycleSigns, Message, Multiline, RecordPattern
from logdoctor.model import Level, Value
from logdoctor.pack.regexes import later

MAX_LINES = 24
_PART = later(
    r"class_name: (?P<class_name>\S{1,200})|actor_id: (?P<actor_id>[0-9a-f]{8,80})"
    r"|(?:^ *|(?<![\w ]))pid: (?P<pid>\d{1,9})|Worker PID: (?P<worker_pid>\d{1,9})"
    r"|(?:^ *|(?<![\w ]))ip: \[?(?P<ip>[\w.:-]{3,80})"
    r"|Worker IP address: (?P<host>[\w.:-]{3,80})|exit type: (?P<exit_type>[A-Z_]{4,60})"
    r"|exit detail: (?P<exit_detail>.{1,300})|its owner has died.{0,120}? Owner Ip address: (?P<owner>[\w.:-]{3,80})"
)
_MORE = later(
    r"^\s*(?:class_name|actor_id|pid|namespace|ip|name|repr|Worker|Node|Task|job|actor|Worker ID)\b.*: |^\t"
    r"|^The actor (?:is dead|never ran|died)|^Worker exit"
)
_NAMES = {"worker_pid": "pid", "ip": "host"}


def read_death(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the fields of a dead worker or actor.

    They stand in the head or on the lines below.
    """
    lines = [head.text]
    taken: list[int] = []
    for message in below:
        if len(taken) >= MAX_LINES or not _MORE.match(message.text):
            break
        lines.append(message.text)
        taken.append(message.below)
    fields: dict[str, Value] = {}
    for line in lines:
        for match in _PART.finditer(line):
            for name, value in match.groupdict().items():
                if value:
                    fields.setdefault(_NAMES.get(name, name), int(value) if name.endswith("pid") else value)
    if owner := fields.pop("owner", ""):  # it is the owner that ended; Ray then ended the actor, whose pid is told
        fields.pop("pid", None)
        fields["host"] = owner
    planned = str(fields.get("exit_type", "")).startswith("INTENDED")
    level: Level | None = "info" if planned else None
    return Multiline("\n".join(lines)[:4_000], fields, tuple(taken), 0, level)


RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "ray.actor_died",
        r"The actor (?:died unexpectedly before finishing this task|is dead because"
        r"|died because of an error raised in its creation task)|Actor .{0,120}? (?:died|is dead) because ",
        "error",
        read_death,
        "An actor of Ray (a process with a state) ended while others needed it.",
        2,
        scan=r"The actor died unexpectedly before|The actor is dead because|error raised in its creation task"
        r"|Actor .{0,120}(?:died|is dead) because ",
    ),
    RecordPattern(
        "ray.worker_died",
        r"A worker died or was killed while executing a task by an unexpected system error"
        r"|[Ww]orker exit type: (?P<exit_type>[A-Z_]{4,60})|The worker died unexpectedly while executing this task",
        "error",
        read_death,
        "A worker process of Ray ended while it ran a task.",
        1,
        scan=r"A worker died or was killed while executing|orker exit type: |The worker died unexpectedly while "
        r"executing",
    ),
    RecordPattern(
        "ray.oom",
        r"(?P<count>\d{1,9}) Workers \(tasks / actors\) killed due to memory pressure \(OOM\).{0,160}? at node \(ID: "
        r"\w*,? ?IP: (?P<host>[\w.:-]+)\)",
        "error",
        note="Ray killed worker processes because the memory of this node ran low.",
        priority=6,
        scan=r"killed due to memory pressure \(OOM\)",
    ),
    RecordPattern(
        "ray.oom",
        r"Memory on the node \(IP: (?P<host>[\w.:-]+)(?:, ID: \w+)?\) (?:where the .{1,400}? was running )?was "
        r"(?P<used>[\d.]+\w+) / (?P<total>[\d.]+\w+)(?: .{0,80}?threshold of (?P<threshold>[\d.]*\d))?",
        "error",
        note="The memory of this node was above Ray's threshold, so Ray killed a worker.",
        priority=6,
        scan=r"Memory on the node \(IP: ",
    ),
    RecordPattern(
        "ray.oom",
        r"(?:Task was|Actor was|[Ww]orker(?:s|\(s\))? (?:was|were)) killed due to the node running low on memory"
        r"|(?:(?P<count>\d{1,9}) Workers \(tasks / actors\) )?killed due to memory pressure \(OOM\)",
        "error",
        note="Ray killed a worker because the memory of its node ran low.",
        priority=5,
        scan=r"killed due to the node running low on memory|killed due to memory pressure \(OOM\)",
    ),
    RecordPattern(
        "ray.oom_node",
        r"\bIP: (?P<by_host>[\w.:-]+)\) over the last time period",
        "info",
        note="The node on which Ray killed workers, where the line before was broken.",
        scan=r"\) over the last time period",
    ),
    RecordPattern(
        "ray.node_died",
        r"[Tt]he node with (?:node id|client ID|id):? (?P<node>\w+)(?: and (?:address|ip): (?P<host>[\w.:-]+))?"
        r".{0,200}? has been marked dead",
        "error",
        note="A node stopped answering and Ray gave it up.",
        priority=3,
        scan=r"has been marked dead",
    ),
    RecordPattern(
        "ray.node_died",
        r"(?:Its|The task's|The actor's) node (?:\w+ )?(?:has )?died|NodeDiedError|node \(?\S+\)? (?:was"
        r"|is) (?:preempted|terminated unexpectedly)",
        "error",
        note="A node of the Ray cluster was lost.",
        scan=r"(?:Its|task's|actor's) node (?:\w+ )?(?:has )?died|NodeDiedError|terminated unexpectedly|is preempted",
    ),
    RecordPattern(
        "ray.node_died",
        r"node it was running on is dead or unavailable\. Node IP: (?P<host>[\w.:-]{3,80}?), node ID: (?P<node>\w+)",
        "error",
        note="The node of a task was lost, so the task failed.",
        priority=4,
        scan=r"node it was running on is dead or unavailable",
    ),
    RecordPattern(
        "ray.node_died",
        r"This node has bee[mn] marked as dead|(?:node manager|raylet) has mistakenly (?:been )?marked (?:as )?dead",
        "fatal",
        note="The head of the Ray cluster had given this node up, so its daemon ended.",
        priority=4,
        scan=r"This node has bee[mn] marked as dead|has mistakenly (?:been )?marked (?:as )?dead",
    ),
    RecordPattern(
        "ray.raylet_died",
        r"Raylet is terminated(?:\.|: ip=(?P<host>[\w.:-]{3,80}), id=\w+\.)(?! Termination is graceful)"
        r"|raylet (?:died with exit code |\[exit code=)(?P<exit_code>-?\d{1,3})"
        r"|The raylet exited immediately because (?:the|one) Ray agent failed|local raylet (?:died|failed)"
        r"|[Rr]aylet (?:died|exited|crashed) unexpectedly|The raylet (?:has )?died"
        r"|(?:Failed to connect to|lost connection to|[Uu]nable to reach) (?:the )?(?:local )?raylet",
        "fatal",
        note="Ray's daemon on this node ended.",
        priority=3,
        scan=r"Raylet is terminated|aylet (?:died|exited|crashed) unexpectedly|The raylet |raylet died with exit code"
        r"|raylet \[exit code=|local raylet (?:died|failed)|onnect(?:ion)? to (?:the "
        r")?(?:local )?raylet",
    ),
    RecordPattern(
        "ray.gcs",
        r"^(?!.{0,160}\bExport metrics to agent failed: ).*?(?:[Ff]ailed to connect to GCS|Unable to connect to GCS"
        r"|Failed to get .{0,40}from GCS"
        r"|GCS (?:server )?(?:at )?.{0,60}?(?:is unavailable|may have been killed|has been killed|died)"
        r"|[Ll]ost (?:reconnection|connection) to GCS|Failed to register .{0,40}GCS"
        r"|[Rr]econnect(?:ing)? to (?:the )?GCS|Could not (?:find|connect to) .{0,40}[Rr]ay (?:instance|cluster)"
        r"|[Ff]ailed to connect to gcs|GrpcUnavailable: ).*?(?P<peer>\d{1,3}(?:\.\d{1,3}){3}:\d{1,5})?$",
        "error",
        note="The head of the Ray cluster could not be reached.",
        priority=2,
        scan=r"to GCS|from GCS|GrpcUnavailable: |GCS (?:server|at |is unav|may have|has been|died)|to the GCS|to gcs"
        r"|Could not (?:find|connect to) .{0,40}[Rr]ay (?:instance|cluster)",
    ),
    RecordPattern(
        "ray.placement",
        r"(?:cannot be scheduled right now|No available node types can fulfill resource request"
        r"|[Cc]annot provide a placement group|[Pp]lacement group .{0,60}(?:cannot be|is not) (?:created|scheduled)"
        r"|The (?:following )?resource request cannot be scheduled"
        r"|autoscaler could not find a node type to satisfy the request: "
        r"|\bscheduling_state: '?(?:NO_RESOURCES|INFEASIBLE))(?P<demand>.{0,200})",
        "warning",
        note="The cluster does not have, or not yet, the resources that were asked for.",
        scan=r"cannot be scheduled right now|No available node types can fulfill|annot provide a placement|lacement "
        r"group .{0,60}(?:cannot be|is not) (?:created|scheduled)|resource request cannot be"
        r"|could not find a node type to|scheduling_state: ",
    ),
    RecordPattern(
        "ray.placement",
        r"Waiting for creating a placement group of specs(?P<demand>.{0,200})",
        "info",
        note="Ray waits for the resources that were asked for.",
        priority=1,
    ),
    RecordPattern(
        "ray.task_failed",
        r"\bTask failed: (?P<error>[A-Z]\w{2,60}): (?P<message>.{0,200}?): Type=",
        "error",
        note="Ray gave up a task, or the start of an actor.",
        scan=r"Task failed: [A-Z]\w+: ",
    ),
    RecordPattern(
        "ray.disk",
        r"(?<=\S )is over (?P<percent>\d{1,3})% full",
        "warning",
        note="The disk that Ray writes to is nearly full.",
        scan=r"is over \d+% full",
    ),
    RecordPattern(
        "ray.object_store",
        r"ObjectStoreFullError|[Tt]he object store is full|object_store_memory .{0,60}exceeds|Local disk is full",
        "error",
        note="The store for Ray's shared objects is full.",
        scan=r"ObjectStoreFullError|he object store is full|object_store_memory .{0,60}exceeds|Local disk is full",
    ),
    RecordPattern(
        "ray.cluster",
        r"(?:Connecting to existing Ray cluster at address:|Connected to Ray cluster"
        r"|Started a local Ray instance)(?:.{0,40}?(?P<peer>\d{1,3}(?:\.\d{1,3}){3}:\d{1,5}))?",
        "info",
        note="The program joined a Ray cluster.",
        scan=r"Connecting to existing Ray cluster|Connected to Ray cluster|Started a local Ray instance",
    ),
    RecordPattern(
        "progress.done",
        r"^(?:SUCC )?(?:-- )?Job '[\w.-]{3,120}' succeeded\s*$",
        "info",
        note="Ray says that the submitted job ended well.",
        scan=r"Job '[\w.-]{3,120}' succeeded",
    ),
)

SIGNS: LifecycleSigns = {
    "ray.actor_died": ("end told",),
    "ray.worker_died": ("end told",),
}
