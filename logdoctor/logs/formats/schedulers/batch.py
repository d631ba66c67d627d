r"""Other batch systems: PBS and Torque, LSF (with jsrun), Grid Engine, Flux, HTCondor; and submitit.

Kinds and their fields:

- ``batch.killed`` system (pbs | lsf | sge | htcondor), reason (time limit | memory | disk | cpu | owner | admin
  | preemption | node failure | processes | requeue | other), message, used, limit: the batch system ended the job
- ``batch.exit`` system, exit_code | signal, reason (time limit), used, limit: it says how the job ended
- ``batch.done``: the job ended well
- ``batch.host`` host: the one host that LSF ran the job on
- ``batch.report`` job: LSF's report of a job begins; ``batch.reported``: it ends, below what the job printed;
  ``batch.follows``: it ends, above that
- ``batch.refused`` message: the job was not accepted; ``batch.error`` message; ``batch.note`` message
- ``batch.module`` message: the job script could not load its software; ``batch.loaded`` file: it loaded this module
- ``batch.usage`` message, file: jsrun does not understand what to use; ``batch.remote`` message, host: Grid Engine
  could not start a task on another node; ``batch.node_down`` message: PBS says that a node is down
- ``batch.start`` error, message, pbs: Grid Engine, or PBS (pbs), could not start the job
- ``batch.rank_died`` rank, signal | exit_code: jsrun names the first rank that ended
- ``flux.exception`` type, severity, message; ``flux.exit`` exit_code | signal, ranks; ``flux.error`` message, rank
- ``flux.interface`` interface, message: its broker finds no such network
- ``flux.oom`` host, count: tasks that the kernel killed; ``flux.node`` message, host: Flux lost a node, or what ran on
  it; ``flux.start`` error: the shell or the prolog of the job could not start
- ``submitit.signal`` signal, reason; ``submitit.exception`` message; ``submitit.env`` (who is where);
  ``submitit.note``

Sources: OpenPBS 19-23 and Torque 6 (resmom), Spectrum LSF 10.1 (bsub report, TERM_ reasons of bhist), JSM 10.3, Grid
Engine 8 (qacct), flux-core 0.40-0.70, HTCondor 9-23 (user log), submitit 1.4-1.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.multiline.batch_ends import read_end
from logdoctor.logs.record_pattern import LifecycleSigns, Message, Multiline, RecordPattern
from logdoctor.model import Value
from logdoctor.pack.regexes import later

SUMMARY_LINES = 12
_LIMIT_MET = (
    r"Job exceeded (?:its |a )?(?:walltime|(?:memory )?resource \w+)(?: .*|(?=$))|"
    r"job preempted \(node failure\)|"
    r"job \S{1,60} exceeded (?:WALLTIME|WALLCLOCK|JOBMEM|MEM|SWAP|DISK|PROC) usage (?:hard|soft) limit.*"
)
"""Torque's words for a limit that the job met, and Moab's."""
_MAILED = later(rf"^(?P<message>{_LIMIT_MET})")
_NOT_RUN = later(r"^(?P<error>(?P<pbs>Job cannot be executed))\b")
_WALLTIME = later(r"Walltime requested: +(?P<limit>\d+:\d\d:\d\d) +Walltime Used: +(?P<used>\d+:\d\d:\d\d)")

_REASON_WORDS = (
    ("node failure", ("(node failure)",)),
    (
        "time limit",
        ("walltime", "RUNLIMIT", "h_rt", "s_rt", "wallclock", "run time limit", "TERM_DEADLINE", "max runtime", "WALL"),
    ),
    ("memory", ("mem", "MEM", "TERM_SWAP", "SWAP usage", "h_vmem", "s_vmem")),
    ("disk", ("jobfs", "DISK usage", "over disk limit", "disk usage")),
    ("cpu", ("cput", "ncpus", "cpupercent", "CPULIMIT", "h_cpu", "PROC usage")),
    ("processes", ("PROCESSLIMIT", "THREADLIMIT", "FILELIMIT")),
    ("preemption", ("PREEMPT", "preempt", "was evicted", "EVICTED", "JobEvicted")),
    ("owner", ("TERM_OWNER", "TERM_FORCE_OWNER", "by user", "qdel")),
    ("admin", ("TERM_ADMIN", "TERM_FORCE_ADMIN", "TERM_BUCKET_KILL", "TERM_CHKPNT")),
    ("requeue", ("TERM_REQUEUE", "TERM_RC_RECLAIM", "requeue")),
    ("node failure", ("node", "SISTER", "TERM_CONTROL_PID")),
)


def read_reason(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Return the reason why a batch system ended a job.

    The words of the message decide on the field ``reason``.
    """
    del below
    words = str(fields.get("message", head.text))
    reason = next((name for name, tokens in _REASON_WORDS if any(token in words for token in tokens)), "other")
    return Multiline(head.text, {"reason": reason})


def read_mail(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the lines below the host in a mail of Torque.

    They name the limit that the job met, or say that it could not start.
    """
    del head
    for message in islice(below, SUMMARY_LINES):
        if match := _NOT_RUN.search(message.text):
            values = {**fields, **match.groupdict()}
            return Multiline(message.text, values, (message.below,), message.below, "error", "batch.start")
        if match := _MAILED.search(message.text):
            why = read_reason(message, match.groupdict(), iter(()))
            more = dict(why.fields) if why else {}
            return Multiline(
                message.text, {**fields, **more, "message": match["message"]}, (message.below,), message.below
            )
    return None


def read_summary(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the exit status in NCI's summary of a job.

    The lines below give the time limit and the time used. If the job used all its time, the reason is the time limit.
    """
    end = read_end(head, fields, iter(()))
    more: dict[str, Value] = {**(end.fields if end else {}), "report": 1}
    for message in islice(below, SUMMARY_LINES):
        times = _WALLTIME.search(message.text)
        if times and _seconds(times["used"]) >= _seconds(times["limit"]) > 0:
            return Multiline(
                head.text, {**more, "reason": "time limit", "used": times["used"], "limit": times["limit"]}
            )
    return Multiline(head.text, more)


def _seconds(clock: str) -> int:
    hours, minutes, seconds = map(int, clock.split(":"))
    return (hours * 60 + minutes) * 60 + seconds


_TERM = (
    r"RUNLIMIT|MEMLIMIT|CPULIMIT|PROCESSLIMIT|THREADLIMIT|FILELIMIT|SWAP|OWNER|ADMIN|FORCE_OWNER|FORCE_ADMIN|"
    r"PREEMPT|PRE_EXEC_FAIL|REQUEUE_OWNER|"
    r"REQUEUE_ADMIN|REQUEUE_RC|RC_RECLAIM|LOAD|WINDOW|DEADLINE|EXTERNAL_SIGNAL|BUCKET_KILL|CONTROL_PID|"
    r"CWD_NOTEXIST|UNKNOWN|CHKPNT|RMS|SLURM|ORPHAN_SYSTEM|NO_MEMLIMIT|KUBE"
)

PBS = (
    RecordPattern("batch.killed",
           r"=>> (?P<system>PBS): (?P<message>job killed: node \d+ \((?P<host>[\w.-]+)\) requested job .*?)\s*$",
           "fatal", read_reason, "One node of the job asked PBS to end it.", 1),
    RecordPattern("batch.killed",
           r"=>> (?P<system>PBS): (?P<message>(?:job killed: )?.*?(?:(?P<used>\d[\w:.]*) ?(?:\w+ )?exceeded "
           r"(?:job )?limit (?P<limit>\d[\w:.]*))?)\s*$", "fatal", read_reason, "PBS ended the job."),
    RecordPattern("batch.killed",
           rf"(?P<message>PBS: job killed: .*|{_LIMIT_MET}|Cgroup mem(?:ory|sw)? limit exceeded.*)",
           "fatal", read_reason, "PBS ended the job.", -1),
    RecordPattern("batch.killed", r"^Job \S{1,60} (?P<message>killed due to exceeding \w+ quota\. Quota: .{1,60}?)(?:, Host: "
           r"(?P<host>[\w-]+)\S*)?\s*$", "fatal", read_reason, "The batch system ended the job."),
    RecordPattern("batch.killed", r"^Job \S{1,60} (?P<message>has exceeded \w+ allocation on node (?P<host>[\w.-]+))", "fatal",
           read_reason, "The batch system (NCI's PBS) ended the job."),
    RecordPattern("batch.killed", r"^Exec host: +(?P<host>[\w.-]+)/[\d,-]+\s*$", "fatal", read_mail, "PBS ended the job."),
    RecordPattern("batch.exit", r"\bExit_status ?= ?(?P<exit_code>[1-9]\d*)", "error", read_end,
           "PBS says how the job ended."),
    RecordPattern("batch.exit", r"^ *Exit Status: +(?P<exit_code>[1-9]\d{0,3})\b", "error", read_summary,
           "The summary of a job of PBS says how it ended."),
    RecordPattern("batch.done", r"^ *Exit Status: +0\s*$", "info", read_summary,
           "The summary of a job of PBS says that it ended well."),
    RecordPattern("batch.error", r"\b(?P<message>Exit_status ?= ?-\d+)", "error",
           note="PBS ended the job itself (a negative status is one of its own codes, not a signal)."),
    RecordPattern("batch.killed", r"\bpbs_mom;Job;[^;]{1,60};(?P<message>(?:walltime|mem|vmem|pmem|cput|ncpus) \S{1,30} "
           r"exceeded "
           r"limit \S{1,30})", "fatal", read_reason, "PBS ended the job."),
    RecordPattern("batch.note", r"^qsub: (?P<message>(?:waiting for job|job) \S{1,60} (?:to start|ready|completed)\s*)$",
           "info", note="An interactive job waits, starts or is over.", priority=1),
    RecordPattern("batch.error", r"^(?P<message>Aborted by PBS Server.*|"
           r"An error has occurred processing your job, see below.*|Post job file processing error; job .*)", "error",
           note="PBS could not run the job or copy its files."),
    RecordPattern("batch.module", r"^(?P<message>Lmod has detected the following error: .*|"
           r"ModuleCmd_Load\.c\(\d+\):ERROR:\d+: .*|EnvironmentLocationNotFound: .*|CondaEnvException: .*)", "error",
           note="The job script could not load a software module or environment."),
    RecordPattern("batch.loaded", r"^(?:Loaded (?:module|dependency \[[^\]]{1,80}\]): (?P<file>\S{1,80})| +Loading "
           r"requirement: (?P<file>\S.{0,120})|(?P<file>The following modules were not unloaded|Due to MODULEPATH "
           r"changes|Lmod is automatically replacing \S{1,80}))", "info",
           note="The job script loaded its software modules.",
           scan=r"Loaded module: |Loaded dependency \[|Loading requirement: |The following modules were not unloaded|"
           "Due to MODULEPATH changes|Lmod is automatically replacing "),
    RecordPattern("batch.refused", r"^(?P<system>qsub|qrsh|qlogin|bsub): (?P<message>.+)", "fatal",
           note="The batch system did not accept the job."),
    RecordPattern("batch.refused", r"^\[ERR\.\] PJM \d{4} (?P<system>pjsub) (?P<message>.+)", "fatal",
           note="Fujitsu's batch system did not accept the job.", scan=r"\[ERR\.\] PJM"),
    RecordPattern("batch.remote", r"(?P<message>job_start_error(?: -?\d{1,9})? from node (?P<host>[\w.-]{1,255}?)"
           r"(?::\d+)?(?: .{0,300})?)$|[ :;](?P<message>im_eof, .{0,80}from addr .{0,200}|unable to run job, MOM "
           r"rejected/timeout.{0,100}|unable to run job, send to MOM '(?P<host>[\w.-]{1,255})' failed|"
           r"send of job to (?P<host>[\w.-]{1,255}) failed error = .{0,100})$", "error",
           note="A node of PBS did not start its part of the job.",
           scan=r"job_start_error|im_eof, |MOM rejected/timeout|send of job to |send to MOM '"),
    RecordPattern("batch.start", r"(?P<message>pelog_err, prolog/epilog failed, file: \S{1,200}prolog.{0,200}|job not "
           r"started, (?:Failure|Retry) job exec failure.{0,200}|execv of \S{1,200}/mom_priv/prolog\S{0,40} "
           r"failed: .{1,80})",
           "error", note="The daemon of PBS on the first node did not start the job.",
           scan=r"pelog_err, prolog/epilog failed|job exec failure, |execv of \S{1,200}/mom_priv/prolog"),
    RecordPattern("batch.start", r"^(?P<error>(?P<pbs>Job cannot be executed))\b|^(?P<error>(?P<pbs>Job start failed)\. +"
           r"Can't set \"[\w ]{2,30}\" limit: .{1,80})|\b(?P<pbs>REJHOST)=(?P<host>[\w-]{1,100})\S* "
           r"MSG=(?P<error>.{5,300})", "error",
           note="PBS could not start the job, and on which host.",
           scan=r"Job cannot be executed|Job start failed\. +Can't set|\bREJHOST=\S{1,200} MSG="),
    RecordPattern("batch.node_down", r"^\s*(?P<message>comment = node down: .{1,200})$", "error",
           note="PBS says that a node is down.", scan="comment = node down"),
    RecordPattern("batch.error",
           r"^(?:pbs_mom|pbsdsh|pbs_attach|pbs_tmrsh|qdel|qstat|pbsnodes|qnodes|qmgr|"
           r"qrun)(?:\[\d+\]|\d+)?[:;] ?(?P<message>.{0,300}?(?:[Ee]rror|"
           r"[Ff]ail|[Uu]nknown|[Cc]annot|[Uu]nable|killed|is not a node in job).*)", "error",
           note="A program of PBS reports a failure.",
           scan=r"pbs_mom|pbsdsh|pbs_attach|pbs_tmrsh|qdel: |qstat: |pbsnodes: |qnodes: |"
           r"qmgr: |qrun: "),
)  # fmt: skip

_BHIST = r"(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: \d{4})?: )?"
"""The time in front of what bjobs -l and bhist -l tell."""

LSF = (
    RecordPattern("batch.host", r"\bDispatched (?:to|1 Task\(s\) on Host\(s\)) <(?P<host>[\w.-]+)>|"
           r"\bStarted \d{1,6} Task\(s\) on Host\(s\) <(?:\d{1,5}\*)?(?P<host>[\w.-]+)>,", "info",
           note="LSF names the one host that it ran the job on."),
    RecordPattern("batch.host", r"^Job was executed on host\(s\) <(?:\d{1,5}\*)?(?P<host>[\w.-]+)>, in queue", "info",
           note="LSF names the one host that it ran the job on."),
    RecordPattern("batch.report", r"^Subject: Job (?P<job>\d+(?:\[\d+\])?): <.{1,400}> in cluster <", "info",
           note="LSF's report of a job begins."),
    RecordPattern("batch.reported", r"^The output \(if any\) is above this job summary\.", "info",
           note="LSF's report of a job is complete; the job's output stands above it."),
    RecordPattern("batch.follows", r"^The output \(if any\) follows:", "info",
           note="LSF's report of a job is complete; the job's output stands below it."),
    RecordPattern("batch.killed", rf"(?P<message>\bTERM_(?:{_TERM})\b(?:: .*)?)", "fatal", read_reason, "LSF ended the job."),
    RecordPattern("batch.exit", rf"^{_BHIST}(?:Completed <exit>; )?Exited with (?:exit code (?P<exit_code>\d+)|"
           r"signal termination: ?(?P<signal>\d+))\b", "error", read_end, "LSF says how the job ended."),
    RecordPattern("batch.exit",
           rf"^{_BHIST}(?:Completed <exit>; )?Exited with signal termination: ?(?P<signal_text>[A-Z][\w ]{{2,30}})",
           "error", read_end, "LSF says how the job ended."),
    RecordPattern("batch.exit", r"Exited by (?:LSF )?signal (?P<signal>\d+)", "error", note="LSF says how the job ended."),
    RecordPattern("batch.done", r"^Successfully completed\.\s*$", "info", note="LSF says that the job ended well."),
    RecordPattern("batch.done", r"^Launcher: Done\. Job exited without errors", "info",
           note="TACC's launcher ran all of its tasks."),
    RecordPattern("batch.rank_died",
           r"One or more process(?:es)? \(first noticed rank (?P<rank>\d+)\) terminated with (?:signal "
           r"(?P<signal>\d+)|(?:exit (?:code|status)|status) (?P<exit_code>\d+))", "fatal",
           note="jsrun names the first rank that ended."),
    RecordPattern("batch.error",
           r"^(?:[Ee]rror|ERROR): (?P<message>(?:Remote JSM server|It is only possible to use js commands|Resource set|"
           r"(?:jsrun|JSM|JSMD?)\b|error in ptssup_mkcltsock|Unable to (?:launch|allocate) resource|Requested job "
           r"constraints|Not enough resources available to schedule|Not enough \w+ (?:in|on) ).*)", "error",
           note="jsrun reports a failure."),
    RecordPattern("batch.usage", r"^(?:ERF error: (?P<message>.+)|Error when reading resource file (?P<file>\S+)|"
           r"The resource file >>(?P<file2>[^<]{1,200})<< could not be opened\.?)", "fatal",
           note="jsrun does not understand what resources it was told to use."),
    RecordPattern("batch.error", r"^(?P<message>Error initializing RM connection\..*|lsb_launch(?:\(\))?: Failed .*|"
           r"LSF: \S+: host is unreachable.*)", "error", note="LSF or jsrun could not reach its nodes."),
    RecordPattern("batch.refused", r"(?P<message>.{1,200}\. Job not submitted\.|^Error in (?:select|order|rusage|span|same|cu|"
           r"affinity) section: .+)", "fatal", note="LSF did not accept the job."),
)  # fmt: skip

SGE = (
    RecordPattern("batch.start",
           r"^\s*failed:? *(?:\d+ +: )?(?P<error>changing into working directory|opening (?:input/output|std\w+) "
           r"file|searching requested shell|(?:assumedly )?before job|before prolog|in (?:prolog|pestart)|in "
           r"recognizing job|before writing \w+|setting (?:priority|ADMIN USER)|starting shepherd|no shell)\b:?"
           r"(?P<message>.*)",
           "fatal", note="Grid Engine could not start the job on its host.", priority=1),
    RecordPattern("batch.killed",
           r"^\s*failed:? +(?P<code>\d+) +: (?P<message>(?:qmaster enforced|execd enforced|rescheduling|assumedly|"
           r".*limit).*)", "fatal", read_reason, "Grid Engine ended the job."),
    RecordPattern("batch.error", r"^\s*failed:? +(?P<code>[1-9]\d*) +: (?P<message>.+)", "error",
           note="Grid Engine says that the job failed.", priority=-1),
    RecordPattern("batch.killed", r"(?P<message>job [\d.]+ exceed(?:s|ed) job (?:hard|soft) limit .*|exceeded (?:hard|"
           r"soft) wallclock time.*)", "fatal", read_reason, "Grid Engine ended the job."),
    RecordPattern("batch.error",
           r"(?P<message>execution daemon on host \"?(?P<host>[\w-]{1,100})[\w.]*\"? didn't accept task)", "fatal",
           note="Grid Engine did not let the job start a process on this host."),
    RecordPattern("batch.remote",
           r"^(?:error: ){1,2}(?P<message>executing task of job \d+ failed: .*?execd@(?P<host>[\w.-]+).*|"
           r"commlib error: .*?\(closing \"(?P<host>[\w.-]+)/shepherd_.*|commlib error: .+|"
           r"ending connection before all data received)", "error",
           note="Grid Engine could not start a task of the job on another node.", priority=1),
    RecordPattern("batch.refused", r"^Unable to run job: (?P<message>.+)", "fatal",
           note="Grid Engine did not accept the job."),
    RecordPattern("batch.exit", r"^\s*exit_status:? +(?P<exit_code>[1-9]\d{0,3})\b", "error", read_end,
           "Grid Engine says how the job ended."),
)  # fmt: skip

_FLUX_SAYS = (
    r"(?:\bflux-shell\[\d+\]: +(?:FATAL|ERROR): (?:[\w-]+: )?|"
    r"\bjob\.exception (?:.* )?type=[\w-]+ severity=\d+ ?(?:note=)?\"?)"
)
"""Source of the reason that a Flux job could not go on: its shell, or the exception of the job."""

FLUX = (
    RecordPattern("flux.exception",
           r"\bjob\.exception (?:.* )?type=(?P<type>[\w-]+) severity=(?P<severity>0) ?(?:note=)?(?P<message>.*)",
           "fatal", note="Flux raised an exception that ends the job."),
    RecordPattern("flux.exception",
           r"\bjob\.exception (?:.* )?type=(?P<type>[\w-]+) severity=(?P<severity>[1-7]) ?(?:note=)?(?P<message>.*)",
           "warning", note="Flux raised an exception that the job lives on with."),
    RecordPattern("flux.exit",
           r"flux-job: (?:\S+ )?task\(s\) (?:exited with exit code (?P<exit_code>\d+)|(?P<signal_text>[A-Z][\w ]+))",
           "error", read_end, "Flux says how the tasks ended."),
    RecordPattern("flux.exit",
           r"(?:flux-shell\[\d+\]: +(?:\w+: )?(?:doom|exception|task-exit): +|\bjob\.exception (?:.* )?type=exec "
           r"severity=0 (?:note=)?\"?)(?:[\w./+-]{1,120}: )?(?:task )?(?:rank|task) (?P<rank>\d+)(?: on host "
           r"(?P<host>[\w.-]+))? (?:failed|exited)(?: \((?:Exit (?P<exit_code>\d+)|(?P<signal_text>[A-Z][\w ]+))\))? "
           r".*", "error", read_end, "Flux names the first task that ended.", 1),
    RecordPattern("flux.exit",
           r"\bflux-shell\[\d+\]: +\w+: exception: shell rank (?P<shell_rank>\d+) \(on (?P<host>[\w.-]+)\): "
           r"(?P<signal_text>[A-Z][\w ]+)", "warning", read_end, "Flux saw the part of the job on this host end."),
    RecordPattern("flux.oom",
           r"\bflux-shell\[(?P<shell_rank>\d+)\]: +ERROR: oom: Memory cgroup out of memory: killed (?P<count>\d+) "
           r"tasks?(?: on (?P<host>[\w.-]*\w))?", "fatal", note="The kernel killed tasks of the job for its memory.",
           priority=1),
    RecordPattern("flux.node",
           rf"{_FLUX_SAYS}(?P<message>(?:node failure on|lost contact with job shell on broker|shell exited with "
           r"unkillable processes on) (?P<host>[\w.-]+) \((?:shell )?rank \d+\))", "fatal",
           note="Flux lost a node, or what ran on it.", priority=1),
    RecordPattern("flux.node", rf"{_FLUX_SAYS}(?P<message>rank \d+ \((?P<host>[\w.-]+)\): lost contact with job shell)",
           "fatal", note="Flux lost a node, or what ran on it.", priority=1),
    RecordPattern("flux.start",
           rf"{_FLUX_SAYS}(?P<error>plugin '[^']{{1,60}}': shell\.\w+ failed|shell_init$|loading rc file .*|"
           r"(?:block )?taskmap[ =].*|failed to map tasks .*|.{1,200} \(ranks? [\d,-]+\) terminated before first "
           r"barrier|job shell exec error(?: on broker (?P<host>[\w.-]+))?.*|"
           r"failed to initialize .*|.{1,80} service is not loaded on .*|prolog "
           r"(?:exited with|killed by|timed out|canceled).*|job prolog failed.*)", "fatal",
           note="The shell or the prolog of the job could not start.", priority=1),
    RecordPattern("flux.exit", r"^(?:[\d.]+s: |\[[^\]]{1,40}\] )job\.finish status=(?P<status>[1-9]\d*)", "error",
           note="Flux says how the job ended (a wait status: exit code times 256, or a signal)."),
    RecordPattern("flux.exit", r"^flux-start: (?P<shell_rank>\d+) \(pid (?P<pid>\d+)\) (?:exited with rc=(?P<exit_code>\d+)|"
           r"(?P<signal_text>[A-Z][\w ]+))", "error", read_end, "A broker of Flux ended."),
    RecordPattern("flux.interface",
           r"^flux-broker: (?P<message>could not find address associated with (?P<interface>\S+).*|.{0,60}"
           r"(?:no usable|no matching|invalid) (?:network )?interface.*)", "fatal",
           note="Flux's broker finds no network interface of that name or network."),
    RecordPattern("flux.error",
           r"^flux-(?:start|broker): (?P<message>(?:\d+: )?(?:PMI_Abort\(\)|\S.{0,200}?(?:[Ee]rror|[Ff]ail|"
           r"[Cc]ould not|[Cc]annot|[Uu]nable|No such|not found|refused|timed out)).*)", "error",
           note="A broker of Flux reports a failure.", priority=-1),
    RecordPattern("flux.error", r"\bflux-(?P<program>shell|broker|job|run|submit|alloc|batch|imp|exec|"
           r"proxy)(?:\[(?P<shell_rank>\d+)\])?: +(?:(?:\w+\.)?(?:ERROR|FATAL|err|emerg|crit|"
           r"alert)): +(?P<message>.+)", "error", note="A program of Flux reports a failure."),
    RecordPattern("flux.error",
           r"\bflux-(?P<program>job|run|submit|alloc|batch): (?P<message>.{0,300}?(?:job has been canceled|exception|"
           r"[Ff]ail|[Ee]rror|unsatisfiable|timeout|No such).*)", "error", note="A program of Flux reports a failure.",
           priority=-1),
)  # fmt: skip

OTHERS = (
    RecordPattern("batch.killed", r"^\d{3} \(\d+\.\d+\.\d+\) .*(?P<system>Job) (?P<message>was (?:evicted|aborted|held).*)",
           "fatal", read_reason, "HTCondor stopped the job."),
    RecordPattern("batch.killed",
           r"\bEvent: (?P<message>ULOG_JOB_(?:EVICTED|ABORTED|HELD)) for |"
           r"\bMyType\W[^\n]{0,8}?\b(?P<message>Job(?:Evicted|Aborted|Held)Event)\b", "fatal", read_reason,
           "HTCondor stopped the job."),
    RecordPattern("batch.killed", r"\bError from \S{1,60}@(?P<host>[\w-]{1,100})[\w.]*: (?P<message>(?:Docker )?[Jj]ob has "
           r"gone over .*|(?:memory|disk) usage exceeded request_\w+.*)", "fatal", read_reason,
           "HTCondor stopped the job on this machine.", 1),
    RecordPattern("batch.killed",
           r"^\t?(?P<message>(?:Job has gone over (?:memory|disk) limit|Error from slot\S+: Job has gone over|"
           r"The job was aborted by the user|via condor_rm).*)", "fatal", read_reason, "HTCondor stopped the job."),
    RecordPattern("batch.killed",
           r"(?P<message>Job in status \d put on hold by \w{3,40} due to .*|"
           r"[Jj]ob killed by (?P<system>HTCondor) due to .*)", "fatal", read_reason, "HTCondor stopped the job.", 1),
    RecordPattern("batch.error",
           r"(?P<message>Error from (?:slot)?\S{1,40}@(?P<host>[\w-]{1,100})[\w.]*: (?:Failed to execute|Cannot "
           r"access initial working directory|Failed to open|STARTER).*)", "fatal",
           note="HTCondor could not start the job on this machine."),
    RecordPattern("batch.error", r"^\d{3} \(\d+\.\d+\.\d+\) .*(?P<message>Shadow exception!|Job reconnection failed|"
           r"Job disconnected, attempting to reconnect|Error in executable).*", "error",
           note="HTCondor lost the machine or the process that ran the job.", scan=r"\) .{0,40}(?:Shadow exception!|"
                  r"Job "
           r"reconnection failed|Job disconnected, attempting|Error in executable)"),
    RecordPattern("batch.error", r"^\s*(?P<message>Can ?not reconnect to (?:\S{1,40}@)?(?P<host>[\w-]{1,100}))\S{0,150}, "
           r"rescheduling job", "error", note="HTCondor lost the machine or the process that ran the job.",
           scan=r"reconnect to \S{1,300}, rescheduling job"),
    RecordPattern("batch.exit", r"\(\d\) (?:Normal termination \(return value (?P<exit_code>[1-9]\d*)\)|"
           r"Abnormal termination \(signal (?P<signal>\d+)\))", "error", note="HTCondor says how the job ended."),
    RecordPattern("batch.done", r"\(1\) Normal termination \(return value 0\)", "info",
           note="HTCondor says that the job ended well."),
    RecordPattern("submitit.signal", r"(?:submitit \w+ \([^)]{1,40}\) - )?Caught signal (?P<signal_text>SIG\w+)(?: on "
           r"(?P<host>[\w.-]+))?: this job is (?P<reason>preempted|timed-out|timed out|interrupted)\.?", "fatal",
           read_end, "Slurm told the job that it will be ended.", 3),
    RecordPattern("submitit.note", r"(?:submitit \w+ \([^)]{1,40}\) - )?Bypassing signal (?P<signal_text>SIG\w+)", "info",
           read_end, "submitit passed over a signal.", 3),
    RecordPattern("submitit.exception", r"(?P<message>Submitted job triggered an exception)", "error",
           note="The function that submitit ran raised an exception; its traceback follows.", priority=2),
    RecordPattern("submitit.note",
           r"(?:submitit \w+ \([^)]{1,40}\) - )(?P<message>(?:Job completed successfully|Job (?:is )?(?:requeued|"
           r"not requeued|will be requeued).*|Exit(?:ing|ed) .*|Loading pickle.*|Requeuing.*))", "info",
           note="submitit notes how far the job is.", priority=1),
    RecordPattern("submitit.env", r"JobEnvironment\(job_id=(?P<job>\w+), hostname=(?P<by_host>[\w.-]+), local_rank="
           r"(?P<by_local_rank>\d+)\(\d+\), node=\d+\(\d+\), global_rank=(?P<by_rank>\d+)\((?P<nranks>\d+)\)\)",
           "info", note="Which host and ranks a process of submitit has."),
)  # fmt: skip

RECORDS: tuple[RecordPattern, ...] = (*PBS, *LSF, *SGE, *FLUX, *OTHERS)

SIGNS: LifecycleSigns = {
    "batch.done": ("done",),
    "batch.exit": ("last words",),
    "batch.killed": ("job ends", "why ended", "last words"),
    "batch.loaded": ("once",),
    "batch.rank_died": ("end told",),
}
