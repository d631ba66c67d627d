r"""Slurm: srun, slurmstepd, sbatch, salloc, the daemons' logs, sacct, scontrol, sinfo.

Kinds and their fields (``ranks`` are Slurm task ids: the global rank only where one task is one rank; ``hosts`` and
``ranks`` are expanded, at most 4096; ``step`` is a job or step id as printed):

- ``slurm.cancelled`` what (JOB | STEP), step, reason (time limit | preemption | node failure | requeue | signal | oom
  | task failure | none | other); ``none`` also when srun ended the step after a task failed; the host printed it, it
  is not blamed
- ``slurm.task_exit`` hosts, ranks, host (if one), how, exit_code | signal | reason ``oom``
- ``slurm.oom`` step, count: memory limit of the step; ``slurm.memory_limit`` step: older wordings
- ``slurm.terminating`` step, message: what srun prints while it ends the other tasks; ``slurm.stopped`` step, message:
  it cuts the step short; ``slurm.interrupted`` message: salloc got a signal
- ``slurm.launch_error`` message, hosts, step; ``slurm.refused`` message: job or step not accepted;
  ``slurm.option`` message: a bad option or script;
  ``slurm.expired``: the job is over; ``slurm.exec_failed`` file, message, errno; ``slurm.pmi`` message;
  ``slurm.comm`` message, hosts: talk between daemons failed
- ``slurm.node`` hosts, message; ``slurm.node_state`` hosts, reason: a row of sinfo -R or scontrol; ``slurm.sinfo``
  hosts, partition, state: nodes of a partition that take no jobs
- ``slurm.job_state`` step, state, reason, exit_code, signal: sacct, scontrol show job, mails
- ``slurm.signal`` signal, step: a signal was delivered to the job; ``slurm.time_limit`` step
- ``slurm.chdir`` file: working directory missing; ``slurm.waiting`` message; ``slurm.note`` message
- ``slurm.warning``, ``slurm.fatal``, ``slurm.error`` program, message: the rest
- facts: ``slurm.job`` step, hosts, nranks; ``slurm.version`` version

Sources: Slurm 19.05 to 24.11 (srun, slurmstepd, slurmctld, sacct).
"""

from __future__ import annotations

from logdoctor.logs.multiline.slurm_lines import read_cancelled, read_hosts, read_node, read_state, read_task_exit
from logdoctor.logs.record_pattern import LifecycleSigns, RecordPattern

_PROGRAM = (
    r"\b(?P<program>srun|slurmstepd|sbatch|salloc|slurmd|slurmctld|slurmrestd|slurmdbd|sattach|sbcast|squeue|"
    r"scontrol|scancel|sinfo)(?:-(?P<by_host>[\w.-]+)|\[\d+\])?: "
)
_ERROR = _PROGRAM + r"error: "
_ANY = _PROGRAM + r"(?:error: |fatal: )"
_LIST = r"(?P<hosts>\w[\w.,\[\]-]*)"

ENDS = (
    RecordPattern("slurm.cancelled",
           r"\*\*\* (?P<what>JOB|STEP|JOB STEP|EXTERN STEP) (?P<step>[\w.+]+) (?:ON (?P<by_host>\S+) )?"
           r"(?:STEPD TERMINATED ON \S+ AT|CANCELLED AT|FAILED)(?: (?P<by_time>\d{4}-\S+)|"
           r" \S+)?(?: [Dd][Uu][Ee] [Tt][Oo] (?P<due>[^*]{1,200}?[^*\s])(?: on (?P<by_host>[\w.-]+))?(?= *(?:\*|$)))?"
           r"(?: \*\*\* on (?P<by_host>[\w.-]+))?", "fatal", read_cancelled, "Slurm ended the job or step.", 5),
    RecordPattern("slurm.cancelled",
           r"slurmd(?:\[\d+\])?: .*Job (?P<step>\d+) (?:was )?(?:killed|cancelled) due to (?P<due>.+)", "fatal",
           read_cancelled, "Slurm ended the job.", 4),
    RecordPattern("slurm.task_exit", _ERROR + _LIST + r": tasks? (?P<ranks>[\d,-]+): (?P<how>\S.*)", "error", read_task_exit,
           "srun says how these tasks ended.", 5),
    RecordPattern("slurm.task_exit", r"^(?:s?r?u?n: )?error: " + _LIST + r": tasks? (?P<ranks>[\d,-]+): (?P<how>\S.*)",
           "error", read_task_exit, "srun says how these tasks ended.", 4),
    RecordPattern("slurm.task_exit", r"\bsrun: error: tasks? (?P<ranks>[\d,-]+): (?P<how>(?!running|unknown)\S.*)", "error",
           read_task_exit, "srun says how these tasks ended, but not where.", 5, scan=r"srun: error: tasks? \d"),
    RecordPattern("slurm.oom", r"(?:\bslurmstepd-(?P<by_host>[\w.-]+): error: )?"
           r"Detected (?P<count>\d+) oom[-_]kill events?(?:\(s\))? in (?:step |StepId=|"
           r"JobId=)?(?P<step>[\w+]+(?:\.[\w+]+)?)", "fatal",
           note="The kernel killed processes of this step because it reached its memory limit.", priority=5),
    RecordPattern("slurm.memory_limit", r"(?P<message>(?:[Ss]tep|[Jj]ob|StepId=|JobId=)[ \w.=]{0,40}(?:exceeded memory limit|"
           r"exceeded virtual memory limit)|Exceeded (?:step|job) memory limit)(?: \(\d+ > \d+\))?", "fatal",
           note="Slurm saw the step above its memory limit and ends it.", priority=5),
    RecordPattern("slurm.memory_limit",
           r"(?P<message>[Ss]tep(?:Id=)? ?(?P<step>[\w.+]+) hit memory(?:\+swap)? limit at least once|Exceeded (?:step|"
           r"job) memory limit at some point)", "warning",
           note="The step touched its memory limit: the page cache does that too, and nothing need be killed.",
           priority=6),
    RecordPattern("slurm.time_limit",
           r"(?P<message>(?:Job|JobId=|StepId=)[ =]?(?P<step>[\d.]+)? ?(?:has )?exceeded (?:its )?time limit|"
           r"Time limit exhausted for JobId=(?P<job>\d+)|reached (?:its )?time limit).*", "fatal",
           note="The job reached its time limit.", priority=3),
    RecordPattern("slurm.signal", _PROGRAM +
           r"(?:Sending signal|Sent signal|Signal) (?P<signal>\d+) to (?:StepId=|JobId=)?(?P<step>[\d.]+).*", "info",
           note="Slurm sent a signal to the step.", priority=2),
    RecordPattern("slurm.signal", _PROGRAM +
           r"(?:error: )?(?:forcing (?:job )?termination|got SIG\w+|interrupt.*one more|sending Ctrl-C to .*|"
           r"(?:error: )?Force Terminated .*)", "info", note="srun was asked to end the step, or passes a signal on.",
           priority=4),
    RecordPattern("slurm.terminating", _PROGRAM +
           r"(?:error: )?(?P<message>(?:launch/slurm: \w+: )?(?:Terminating (?:job step |StepId=|"
           r"JobId=)?(?P<step>[\w.]+)|Job step aborted.*|First task exited (?P<seconds>\d+)s ago|"
           r"tasks? [\d,:\s-]+ ?(?:running|exited(?! without)|exited abnormally|unknown).*|StepId=\S+ (?:aborted|"
           r"task .*(?:running|exited)).*|step:\S+ tasks? \S+: .*|Step(?:Id=\S+)? .*(?:cancelled|aborted).*|"
           r".*Cancelled pending.*))", "info", note="srun ends the remaining tasks.", priority=4,
           scan=r"(?:srun: |srun\[|slurmstepd: |slurmstepd\[|slurmstepd-|salloc: |sbatch: )"),
    RecordPattern("slurm.terminating", _ERROR +
           r"(?P<message>(?:Failed to send MESSAGE_TASK_EXIT.*|.*MESSAGE_TASK_EXIT.*|Step created|_exit_cb.*|"
           r"Ignoring job_complete for .*))", "warning", note="Fallout of the end of the step.", priority=4),
    RecordPattern("slurm.stopped", _PROGRAM +
           r"(?:error: )?(?P<message>(?:launch/slurm: \w+: )?(?:Job step aborted\b.*|Force Terminated .*|"
           r"First task exited (?P<seconds>\d+)s ago|step:\S+ tasks? [\d,-]+: exited abnormally|"
           r"Timed out waiting for job step to complete|Terminating (?:job step |StepId=|JobId=)(?P<step>[\w.]+)))",
           "error", note="srun ends the step before all of its tasks are done: one of them failed, or it was told to.",
           priority=5),
    RecordPattern("slurm.interrupted", r"\bsalloc: (?:error: )?(?P<message>Job aborted due to signal|Interrupted by "
           r"signal\. .*)",
           "error", note="salloc was stopped by a signal (Ctrl-C, a closed terminal, kill).", priority=5),
    RecordPattern("slurm.task_exit", r"_task_finish: Received task exit notification .{0,80}\(status=0x(?!0000)"
           r"(?P<status>[0-9a-f]{4})\)", "error", note="A task ended with this wait status (exit code times 256, or "
           "a signal).", priority=5),
)  # fmt: skip

LAUNCH = (
    RecordPattern("slurm.refused", _ANY + r"(?P<message>(?:Batch job submission failed|Unable to allocate resources|"
           r"Unable to create (?:step for job(?: \S+)?|job step)|Unable to confirm allocation for job \S+|"
           r"Job submit/allocate failed|"
           r"Invalid (?:job id|partition|account|qos|directive|node|numeric|--\S+|generic|feature|argument|"
           r"time limit|constraint|dependency|Trackable).*?|invalid (?:partition|account|number|argument|"
           r"\S+ specification).*?|"
           r"Requested (?:node configuration|partition configuration|time limit|nodes?|topology).*?|"
           r"More processors requested than permitted|Memory (?:required|specification).*?|"
           r"Node count specification invalid|"
           r"Job (?:violates|rejected).*?|CPU count.*?|"
           r"Allocation failure.*?|Only allocated \d+ nodes asked for \d+|"
           r"(?:You must|Must) (?:specify|request).*?|\S+ (?:option|specification) (?:is )?(?:invalid|not valid).*?|"
           r"Unable to open file .*?|This does not look like a batch script)(?:[:.,].*)?)$", "fatal",
           note="Slurm did not accept the job or step.", priority=3),
    RecordPattern("slurm.option",
           r"\b(?:srun|sbatch|salloc): (?:(?:error|fatal): )?(?P<message>unrecognized option '.{1,120}|"
           r"invalid option -- .*|option '.{1,80} requires an argument.*|ambiguous option.*|option '.{1,80} is "
           r"ambiguous.*)",
           "fatal", note="A command of Slurm refused an option.", priority=5),
    RecordPattern("slurm.option", r"\b(?:srun|sbatch|salloc): (?:error|fatal): (?P<message>(?:[Ii]nvalid (?:partition "
           r"specified: |"
           r"number of |numeric value |--\S+ specification|GRES specification|--bbf|--nice|het-group|node list|"
           r"directive found|task count|core count)|Batch script (?:is empty|contains|is)|This does not look like a "
           r"batch|"
           r"line must start with #!|Unable to open (?:configuration )?file |Cannot stat |No command given to execute|"
           r"(?:Line \d+ of configuration|Configuration) file |Script (?:arguments not|file|\S+ is too)|"
           r"Minimum node count > |Failed to validate job spec|--\S+ (?:and|is only|option invalid|requires|must|"
           r"not allowed)|[Cc](?:an ?not|an't) specify|Cannot specify|Must specify|must specify|Hostlist is empty|"
           r"Too few NodeNames|Invalid hostfile|ntasks-per-node is 0|[A-Z][A-Za-z]+(?:Limit|PerUser|PerAccount|PerJob|"
           r"PerNode|PerPartition)\b|Unable to (?:exec|find) command |No partition|No job id).*)", "fatal",
           note="A command of Slurm refused its options, its script or what was asked for.", priority=4),
    RecordPattern("slurm.option", r"\bsalloc: error: (?:\w+: )?(?P<message>Unable to (?:exec|find) command "
           r"\"(?P<file>[^\"]+)\".*)",
           "fatal", note="salloc did not find the program that it was to run.", priority=5),
    RecordPattern("slurm.waiting", _PROGRAM +
           r"(?:[Ww]arning: |error: )?(?P<message>(?!.{0,80} failed: |Unable to ).{0,300}?(?:[Ss]tep creation "
           r"(?:temporarily disabled|still disabled)|"
           r"queued and waiting for resources|Required node not available|still waiting|Requested nodes are busy|"
           r"Pending job allocation|Waiting for resource).*)", "info", note="The job or step waits for resources.",
           priority=4),
    RecordPattern("slurm.exec_failed", _ANY +
           r"(?:.*?(?:task_exec|_child_proc\w*|exec_task): )?(?P<message>execve?\((?P<script>[^)]{0,300})\): "
           r"(?:(?:bad interpreter\()?(?P<file>[^:]{1,400}?)\)?: )?"
           r"(?P<error>.+))", "fatal", note="A node could not start the program.", priority=4),
    RecordPattern("slurm.exec_failed", _ANY +
           r"(?P<message>(?:task_g_pre_launch|Unable to find|couldn't find|[Ff]ailed to (?:exec|find)|"
           r".*[Cc]ommand not found).*)", "error", note="A node could not start the program.", priority=2),
    RecordPattern("slurm.chdir", _ERROR + r"(?P<message>[Cc]ould ?n.t chdir to [`'](?P<file>[^']{1,400})': .*)", "warning",
           note="The working directory does not exist on this node.", priority=4),
    RecordPattern("slurm.launch_error", _ANY +
           r"(?P<message>Task launch for (?:StepId=)?(?P<step>[\w.+]+) failed on node (?P<hosts>[\w.,\[\]-]+): .+)",
           "error", read_hosts, "A node did not start its tasks.", 4),
    RecordPattern("slurm.launch_error", _ANY +
           r"(?P<message>Prolog (?:failure|failed|hung|error) on node (?P<hosts>[\w.,\[\]-]+).*)", "error", read_hosts,
           "The prolog of a node kept the job from starting.", 4),
    RecordPattern("slurm.launch_error", _ANY +
           r"(?P<message>(?:Application launch failed|[Tt]ask launch .*failed|[Tt]ask prolog|"
           r"Unable to (?:create job step|launch|start|set up|contact)|Aborting.*launch|[Jj]ob step (?:launch|"
           r"creation) .*fail|Prolog (?:error|hung|failed)|"
           r"[Ff]ailed to (?:launch|create|start) .*|Launch of .*|slurm_step_launch\w*.*|fork\(\).*|Unable to init|"
           r".*spank.*(?:failed|error|required plugin).*|Failed to invoke (?:task plugins|spank).*|"
           r"task_g_\w+.*|.*_fork_all_tasks.*|IO setup failed|IO error|Unable to (?:open|create).*(?:stdout|stderr|"
           r"stdin).*|Could not open std(?:out|err|in) file.*|.*exited without (?:calling )?\w+init.*).*)", "error",
           note="The tasks could not be started on a node.", priority=2),
    RecordPattern("slurm.pmi", _PROGRAM + r"(?:error: |fatal: )?(?P<message>.{0,300}?(?:mpi/pmi\w*|pmixp?_\w+|PMI[2Xx]? .*|"
           r"Couldn't find the specified plugin name for mpi\S*|MPI plugin|cannot create mpi context|"
           r"invalid MPI type).*"
           r"(?:[Ee]rror|ERROR|[Ff]ail|[Cc]ould ?n.t|[Cc]annot|[Ii]nvalid|not found|[Tt]imeout).*)", "error",
           note="The process management (PMI) of Slurm reports a failure.", priority=3,
           scan=r": (?:error: |fatal: )?.{0,300}?(?:mpi/pmi|pmixp_|pmix_|PMI[2Xx] |PMI (?:lib|serv|plug|conn|fail|"
           r"err|init|FAIL|ERR|2|Serv|Conn|Plug)|Couldn't find the specified plugin "
           r"name for mpi|MPI plugin|cannot create mpi context|invalid MPI type)"),
    RecordPattern("slurm.pmi", _ERROR +
           r"(?P<message>(?:Couldn't find the specified plugin name for mpi|cannot find mpi plugin|"
           r"MPI: Cannot create context|Invalid MPI type|.*\[_errhandler\]|mpi/pmix).*)", "error",
           note="The process management (PMI) of Slurm reports a failure.", priority=3),
    RecordPattern("slurm.pmi", r"(?:^\s*|error: +)mpi/pmix\w*: +\w+: (?P<by_host>[\w.-]{1,255}) \[\d+\]: "
           r"(?P<message>pmixp_\w+\.[ch]:\d+: \S.*)", "error",
           note="Slurm's PMIx server on this host reports a failure.", priority=4),
    RecordPattern("slurm.pmi", r"error: +(?P<by_host>[\w.-]{1,255}) \[\d+\] (?P<message>pmixp_\w+\.[ch]:\d+ \[\w+\] "
           r"mpi/pmix: ERROR: \S.*)", "error", note="Slurm's PMIx server on this host reports a failure.", priority=4),
    RecordPattern("slurm.comm", _ANY + r"(?P<message>.{0,300}?(?:slurm_(?:receive|send|msg|unpack|connect|open|persist)\w*|"
           r"Zero Bytes were transmitted|"
           r"Socket timed out on send/recv|Unable to contact slurm|Connection refused|Connection timed out|"
           r"Unable to resolve|Communication connection failure|Message receive failure|Header lengths are longer|"
           r"Protocol authentication error|Insane message|Invalid (?:Protocol|credential)|[Mm]unge).*)", "error",
           note="Slurm's programs could not talk to each other.", priority=1),
)  # fmt: skip

TOOLS = (
    RecordPattern("slurm.comm", r"(?:^|\] )error: (?P<message>(?:Credential signature check: |Invalid job credential from |"
           r"Job credential (?:expired|revoked)).*)", "error",
           note="The node's slurmd does not accept what the controller signed for this job."),
    RecordPattern("slurm.comm", r"^(?P<message>slurm_\w{3,30}(?: error)?: (?:Unable to contact slurm controller|Socket "
           r"timed out|"
           r"Zero Bytes were transmitted|Unexpected message received|Protocol authentication error).*)", "error",
           note="A command of Slurm could not talk to the controller.", priority=2),
    RecordPattern("slurm.comm", r"\b(?P<message>Munge (?:decode|encode) failed: \S.*)", "error",
           note="Slurm's credential was not accepted: clocks, keys or munged differ.", priority=2),
    RecordPattern("slurm.expired", r"\bsrun: (?:error: )?(?P<message>Check SLURM_JOB_ID environment variable\. .*|"
           r"Slurm job \d+ has expired.*)", "error", note="srun was started for a job that has ended.", priority=5),
)  # fmt: skip

_SINFO = (
    r"^(?P<hosts>[A-Za-z][\w.,\[\]-]*) +\d+ +\S+ +(?P<state>(?:%s)[*~#$@^-]?) +\d+ +[\d:]+ .*? "
    r"(?P<reason>(?:%s)[^\n]{0,120}?)\s*$"
)
"""A line of ``sinfo -N -l``: state and reason; one of them must be no everyday word, for the scan finds it by that."""
_OUT = "Not responding|Node unexpectedly|Kill task failed"

NODES = (
    RecordPattern("slurm.node", _PROGRAM +
           r"(?:error: |fatal: )?(?P<message>(?:Node failure on|NODE_FAIL on) (?P<hosts>\S+).*)", "fatal", read_hosts,
           "Slurm lost a node of the job.", 4),
    RecordPattern("slurm.node",
           r"(?P<message>\b[Nn]odes? (?P<hosts>[\w.,\[\]-]{2,400}) (?:not responding|(?:is|are) not responding|"
           r"(?:has )?unexpectedly rebooted)\b.*)", "error", read_hosts, "Slurm says that a node is lost.", 3),
    RecordPattern("slurm.node", _ANY + r"(?P<message>.{0,300}?(?:[Nn]ode .* not responding|nodes? .*(?:to|is|are|state|"
        r"set|setting|marked) DOWN|Aborting JobId=\S+|"
           r"Killing .* on failed node|" r"Requeue JobId=\S+ due to failure of node).*)", "fatal",
           note="Slurm lost a node of the job.", priority=2),
    RecordPattern("slurm.node", r"(?P<message>Killing JobId=\S+ on failed node (?P<hosts>\S+)|node (?P<down>\S+) is down, "
           r"killing "
           r"JobId=\S+)", "fatal", read_hosts, "Slurm lost a node of the job.", 4),
    RecordPattern("slurm.node_state", r"\bslurmctld: (?:error: )?(?P<message>.{0,120}?(?:reason set to: (?P<reason>Kill "
           r"task failed|"
           r"Not responding|Prolog error|Epilog error|gres/).*|prolog failure, draining.*|job env setup failure on "
           r"node .*|"
           r"Prolog hung on node .*|gres/\S+ count reported lower.*))",
           "error", note="The controller takes a node out of service for this reason.", priority=3),
    RecordPattern("slurm.node_state", r"\berror: (?P<message>[Nn]ode (?P<hosts>[\w-]+) (?P<reason>has low (?:real_memory|"
           r"RealMemory|tmp_disk|TmpDisk|socket|core|cpu)\w*).*)", "error", read_hosts,
           "The controller takes a node out of service for this reason.", 4),
    RecordPattern("slurm.node_state", r"(?P<message>(?:drain_nodes: node (?P<hosts>[\w.,\[\]-]{1,400}) state set to "
           r"(?P<state>DRAIN)\w*|Setting node (?P<hosts>[\w-]{1,255}) state to (?P<state>DRAIN|INVAL)\w*(?: with "
           r"reason: ?(?P<reason>.{1,200}))?|update_node: node (?P<hosts>[\w-]{1,255}) reason set to: "
           r"(?P<reason>(?:Low |gres/|GPU|Xid|ECC|NHC|IB |Scheduler health check|"
           r"Static node maintenance: unhealthy).*)))",
           "error", read_hosts, "The controller takes a node out of service.", 4,
           scan=r"drain_nodes: node |Setting node |update_node: node "),
    RecordPattern("slurm.node", r"(?P<message>(?:[Rr]equeue|Requeuing|Killing|Batch) (?:job |job_id )?(?:JobId=)?\S+ .{0,60}?"
           r"(?:due to failure of node|missing from (?:batch )?node) (?P<hosts>[\w.,\[\]-]+).*)", "fatal", read_hosts,
           "Slurm lost a node of the job.", 3),
    RecordPattern("slurm.node", _PROGRAM +
           r"(?:error: )?(?P<message>.{0,300}?(?:detected a failure of|lost (?:contact with|"
           r"node)|StepId=\S+ node .*failed).*)", "error", note="Slurm says that a node is lost.", priority=2),
    RecordPattern("slurm.node_state",
           r"^(?P<reason>(?:Not responding|Node unexpectedly re\w*|Kill task failed|Low (?:RealMemory|TmpDisk|"
           r"socket|core)|gres/gpu count|Prolog error|Epilog error|Duplicate jobid|batch job complete f\w*|NHC:|"
           r"[^\n]{0,60}(?:GPU|Xid|ECC|IB |memory))[^\n]{0,80}?) +(?P<user>\w+) +\d{4}-\d\d-\d\dT[\d:]+ +"
           r"(?P<hosts>[\w.,\[\]-]+)\s*$", "error", read_hosts, "A node is out of service for this reason.",
           scan=r"(?:Not responding|Node unexpectedly rebooted|Kill task failed|Low (?:RealMemory|TmpDisk|socket|"
           r"core)|gres/gpu count|Prolog error|Epilog error|Duplicate jobid|batch job complete f|NHC: |root  |"
           r"slurm  ) *"),
    RecordPattern("slurm.node_state",
           _SINFO % (r"drain\w*|drng", _OUT + r"|Low |gres/|Prolog|Epilog|NHC|[^\n]{0,40}(?:GPU|Xid|ECC)") + "|" +
           _SINFO % (r"down|fail\w*|error", _OUT), "error", read_hosts,
           "A node is out of service for this reason.",
           scan=_OUT + "|drain|drng "),
    RecordPattern("slurm.node_state",
           r"\bNodeName=(?P<hosts>\S+) .*?State=(?P<state>(?:DOWN|DRAIN|FAIL|NO_RESPOND|[\w+]+\+(?:DRAIN|"
           r"NOT_RESPONDING))\S*)", "error", read_hosts, "A node is out of service."),
    RecordPattern("slurm.node_state", r"^\s*NodeName=(?P<hosts>[\w-]{1,255})(?: +\w+=\S*){0,3}\s*$", "error", read_node,
           "scontrol shows a node that is out of service."),
    RecordPattern("slurm.node_state", rf"^\s*(?P<reason>(?:{_OUT}|Low (?:RealMemory|TmpDisk)|gres/\w+ count (?:reported|too) "
           r"low|Prolog error|Epilog error)[^\n]{0,80}?) {2,}(?P<hosts>[A-Za-z][\w-]*(?:\[[\d,-]+\])?)\s*$", "error",
           read_hosts, "A node is out of service for this reason."),
    RecordPattern("slurm.sinfo", r"^\s*(?P<partition>[\w-]+\*?) +up +(?:infinite|[\d:-]+) +\d+ +(?P<state>(?:drng|drain\w*)@|"
           r"(?:down|fail)\*)[@$^-]?\*? +(?P<hosts>[A-Za-z][\w.,\[\]-]*)\s*$", "warning", read_hosts,
           "sinfo lists nodes that take no jobs.",
           scan=r" up +(?:infinite|[\d:-]+) +\d+ +(?:drain\w*@|drng@|down\*|fail\*)"),
    RecordPattern("slurm.node_state", r"node-mark-offline: +Marking +(?P<hosts>[\w.-]+) +offline: +(?P<reason>NHC: .{1,200})|"
           r"\bnhc(?:\[\d+\])?: +(?P<reason>Health check failed: .{1,200})", "error", read_hosts,
           "The node's health check failed and takes it out of service.", 4,
           scan=r"node-mark-offline: +Marking |\bnhc.{0,9}: +Health check failed"),
    RecordPattern("slurm.node_state",
           r"^\s*Reason=(?P<reason>(?:Not responding|Node unexpectedly|Kill task failed|Low |gres/|Prolog|Epilog|"
           r"NHC|GPU|Xid)[^\n\[]{1,200})", "error", note="A node is out of service for this reason."),
)  # fmt: skip

_BAD = (
    r"OUT_OF_MEMORY|OUT_OF_ME\+?|NODE_FAIL|TIMEOUT|PREEMPTED|CANCELLED(?: by \d+)?|CANCELLED?\+|FAILED|"
    r"BOOT_FAIL|DEADLINE"
)

STATES = (
    RecordPattern("slurm.job_state", rf"^\s*(?P<step>\d+(?:_\d+)?(?:\.[\w+]+)?)[ |].*?[ |](?P<state>{_BAD})[ |]+(?:\S+[ |"
           rf"]+)??(?P<exit_code>\d+):(?:0\b|(?P<signal>\d+))", "error", read_state,
           "The accounting says how the job or step ended."),
    RecordPattern("slurm.job_state", rf"\bJobState=(?P<state>{_BAD})(?: Reason=(?P<reason>\S+))?", "error", read_state,
           "The controller says how the job ended."),
    RecordPattern("slurm.job_state",
           rf"Slurm (?:Array )?(?:Summary )?Job_id=(?P<step>\S+) Name=.{{0,200}}?(?P<state>{_BAD})(?:, ExitCode "
           rf"(?P<exit_code>\d+))?", "error", read_state, "A mail of Slurm says how the job ended."),
    RecordPattern("slurm.job_state", r"^\s*State\s*: (?P<state>" + _BAD + r")(?: \(exit code (?P<exit_code>\d+)\))?", "error",
           read_state, "seff says how the job ended."),
    RecordPattern("slurm.job_state", r"_job_complete: JobId=(?P<step>\S+) (?:WEXITSTATUS (?P<exit_code>[1-9]\d*)|"
           r"WTERMSIG (?P<signal>\d+))", "error", note="The controller says how the job ended.", priority=2),
    RecordPattern("slurm.job_state", r"\bsrun: (?P<message>Job has been cancelled)", "error",
           note="The job was cancelled while srun waited.", priority=5),
    RecordPattern("slurm.job_state", r"\bExitCode=(?P<exit_code>\d+):(?:0\b|(?P<signal>\d+))\b", "info",
           note="How the job ended, as exit code and signal."),
    RecordPattern("slurm.job_state", r"(?:srun|salloc|slurmctld)(?:\[\d+\])?: (?:error: )?(?P<message>.*Job(?:Id=|"
           r" )(?P<step>\d+).*(?P<state>NODE_FAIL|TIMEOUT|PREEMPTED|OUT_OF_MEMORY|BOOT_FAIL)\b.*)", "error",
           read_state, "Slurm says how the job ended.", 1),
)  # fmt: skip

REST = (
    RecordPattern("slurm.job", r"(?:sbatch: )?Submitted batch job (?P<step>\d+)", "info", note="The job was handed in."),
    RecordPattern("slurm.job",
           r"(?:salloc|srun): (?:Granted job allocation|job) (?P<step>\d+)(?: has been allocated resources)?\s*$",
           "info", note="The job got its nodes."),
    RecordPattern("slurm.job", r"\bSLURM_(?:JOB_NODELIST|NODELIST|STEP_NODELIST)(?:=|: *)[\"']?(?P<hosts>\w[\w.,\[\]-]+)",
           "info", read_hosts, "The nodes of the job."),
    RecordPattern("slurm.job", r"\bSLURM_(?:NTASKS|NPROCS)(?:=|: *)[\"']?(?P<nranks>\d{1,7})\b", "info",
           note="How many tasks the job has."),
    RecordPattern("slurm.job", r"\bSLURM_JOB_?ID(?:=|: *)[\"']?(?P<step>\d+)", "info", note="The job's number."),
    RecordPattern("slurm.version", r"\bslurm(?:-wlm)? (?P<version>\d\d\.\d\d\.\d+\S*)", "info", note="The version of Slurm."),
    RecordPattern("slurm.note", _PROGRAM +
           r"(?P<message>(?:Using (?:default|account|partition)|error: (?:spank: x11|Unable to open .*x11|.*bashrc)|"
           r".*(?:deprecated|is being ignored|Ignoring)|debug\d?: ).*)", "info", note="Slurm notes something.",
           priority=0),
    RecordPattern("slurm.warning", _PROGRAM + r"(?:[Ww]arning|WARNING): (?P<message>.+)", "warning",
           note="Slurm warns about a setting."),
    RecordPattern("slurm.warning", _ERROR +
           r"(?P<message>(?:(?:slurmstepd: )?Can't propagate RLIMIT_\w+ of |Unable to create TMPDIR |Setting TMPDIR "
           r"to |"
           r"TMPDIR \[[^\]]{1,300}\] is not |ConstrainSwapSpace is enabled but|Not monitoring OOM events|"
           r"xcpuinfo_hwloc_topo_load: failed \(load will be required|Could not run slurm task_(?:prolog|epilog) |"
           r"Unable to rmdir\(|--\S+ is ignored|OOM events were not monitored|"
           r"_get_\w*(?:joules|energy)|.*(?:acct_gather|rapl|energy|ipmi|[Hh]yper-?[Tt]hread|"
           r"cpu_freq|x11|lua|job_container/tmpfs|_rpc_\w+: .*already)|Plugin initialization warning).*)", "warning",
           note="Slurm could not do something that the job does not need.", priority=3),
    RecordPattern("slurm.fatal", _PROGRAM + r"fatal: (?P<message>.+)", "fatal", note="A program of Slurm gives up."),
    RecordPattern("slurm.error", _ERROR + r"(?P<message>.+)", "error", note="Slurm reports an error.", priority=-1),
    RecordPattern("slurm.error",
           r"^(?:\[[\w.]+\] )?(?:error|fatal): (?P<message>.{0,300}?(?:[Ss]lurm|[Cc]group|StepId|JobId|[Jj]ob step|"
           r"task_\w+|spank|stepd|pmix).*)", "error", note="A daemon of Slurm logged an error.", priority=-2),
)  # fmt: skip

RECORDS: tuple[RecordPattern, ...] = (*ENDS, *LAUNCH, *TOOLS, *NODES, *STATES, *REST)

SIGNS: LifecycleSigns = {
    "slurm.cancelled": ("job ends", "why ended", "last words"),
    "slurm.job": ("launch",),
    "slurm.job_state": ("why ended",),
    "slurm.stopped": ("job ends",),
    "slurm.task_exit": ("end told",),
    "slurm.terminating": ("job ends",),
    "slurm.time_limit": ("job ends",),
}
