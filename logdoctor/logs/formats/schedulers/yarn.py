r"""Hadoop YARN and Spark: containers and executors of a job.

- ``yarn.memory`` host, message: a container used more memory than it had asked for, and YARN killed it
- ``yarn.preempted`` host, message; ``yarn.node`` host, message: the node of a container is gone
- ``yarn.exit`` host, exit_code: how a container ended
- ``spark.executor`` host, message: Spark lost an executor, for a reason that the message tells

Sources: Hadoop 2.7-3.4 (ContainersMonitorImpl, ContainerExitStatus: -100 aborted, -102 preempted, -103 virtual and -104
physical memory), Spark 2.3-3.5 (YarnAllocator, ExecutorLossReason, TaskSchedulerImpl,
ExecutorPodsLifecycleManager).
"""

from __future__ import annotations

from logdoctor.logs.record_pattern import LifecycleSigns, RecordPattern

_HOST = r"(?P<host>\d{1,3}(?:\.\d{1,3}){3}(?![\w.-])|[\w-]+)[\w.-]*"
_LOST = (
    rf"(?:\bLost executor \S{{1,20}} on {_HOST}: |\((?:TID \d+, )?{_HOST},? executor \S{{1,20}}\): ExecutorLostFailure "
    r"\(.{1,100}?\) Reason: )?"
)
_CONTAINER = rf"\bcontainer_\w{{10,60}}(?: on host: {_HOST})?"
RECORDS = (
    RecordPattern("yarn.memory", _LOST + r"(?P<message>Container killed by YARN for exceeding (?:physical |virtual )?"
           r"memory limits\..{0,80}|Container \[pid=\d+,containerID=\w+\] is running (?:beyond (?:physical|virtual) "
           r"memory limits|\d+B beyond the '(?:PHYSICAL|VIRTUAL)' memory limit).{0,120})", "fatal",
           note="YARN killed a container that used more memory than it had asked for.",
           scan=r"exceeding (?:physical |virtual )?memory limits|is running beyond (?:physical|virtual) memory limits|"
           r"beyond the '(?:PHYSICAL|VIRTUAL)' memory limit"),
    RecordPattern("yarn.memory", rf"(?P<message>{_CONTAINER} \(state: \w+, exit status: -10[34]\))", "fatal",
           note="YARN killed a container that used more memory than it had asked for.",
           scan=r"exit status: -10[34]\)"),
    RecordPattern("yarn.preempted", rf"(?P<message>{_CONTAINER} was preempted|{_CONTAINER} \(state: \w+, exit status: -102\)|"
           r"Container preempted by scheduler)", "fatal", note="YARN took a container away for another job.",
           scan=r"container_\w{10,60}[^\n]{0,80} was preempted|exit status: -102\)|Container preempted by scheduler"),
    RecordPattern("yarn.node", rf"{_CONTAINER}\. Exit status: -100\. Diagnostics: (?P<message>Container released on a "
           r"\*lost\* node)", "fatal", note="YARN lost the node of a container."),
    RecordPattern("yarn.exit", rf"{_CONTAINER}\. Exit status: (?P<exit_code>[1-9]\d{{0,2}})\b|Container exited with a "
           r"non-zero exit code (?P<exit_code>\d+)", "error", note="YARN says how a container ended.", priority=-1,
           scan=r"Exit status: [1-9]|Container exited with a non-zero exit code"),
    RecordPattern("yarn.exit", _LOST + r"(?P<message>(?:Command exited with code|The executor with id \S{1,20} exited with "
           r"exit code) (?P<exit_code>[1-9]\d{0,2})\b.{0,100})", "error",
           note="Spark says how an executor ended.", priority=1,
           scan=r"Command exited with code [1-9]|The executor with id \S{1,20} exited with exit code [1-9]"),
    RecordPattern("spark.executor", rf"\bLost executor \S{{1,20}} on {_HOST}: (?P<message>.{{1,200}})|\bExecutorLostFailure "
           r"\(executor \S{1,20} exited [a-z ]{5,60}\) Reason: (?P<message>.{1,200})", "error",
           note="Spark lost an executor.", priority=-1),
)  # fmt: skip

SIGNS: LifecycleSigns = {
    "spark.executor": ("last words",),
    "yarn.exit": ("last words",),
    "yarn.memory": ("why ended", "last words"),
    "yarn.node": ("why ended", "last words"),
    "yarn.preempted": ("why ended", "last words"),
}
