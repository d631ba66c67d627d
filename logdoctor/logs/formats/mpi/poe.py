r"""Parallel environments of IBM and of ParTec: POE with its MPI, ParaStation's psilogger.

Kinds are those of `mpich`: ``mpich.rank_died`` rank, signal | exit_code; ``mpich.rank_told_to_end`` rank;
``mpich.fatal`` rank, function, message: an MPI call failed; ``mpich.exec_failed`` message, file; ``mpich.init_failed``
message; ``mpich.peer_gone`` message, peer; ``mpich.time_limit`` seconds; and

- ``poe.affinity`` host, message: the tasks do not fit the cores
- ``poe.network`` message: the adapters' windows could not be set up
- ``poe.unanswered`` message, peer: a task's message got no answer; `by_rank` sent it
- ``poe.error`` message: any other message of class ERROR (ATTENTION and INFO are no failures)

Sources: IBM Parallel Environment 5.2 and Runtime Edition 1.3 (Messages: 0031 POE, 0032 MPI), psmgmt 5 (psilogger).
"""

from __future__ import annotations

from logdoctor.logs.multiline.mpi_blocks import read_signal
from logdoctor.logs.record_pattern import LifecycleSigns, RecordPattern

_ERROR = r"ERROR: 0031-\d{3} +"

POE = (
    RecordPattern("mpich.rank_told_to_end", r"ERROR: 0031-250 +task (?P<rank>\d{1,7}): Terminated\b", "warning", priority=2,
           note="POE ended this task: another one had failed, or the job was told to end."),
    RecordPattern("mpich.rank_died", r"ERROR: 0031-250 +task (?P<rank>\d{1,7}): (?P<signal_text>[A-Z][\w ]{2,40})", "fatal",
           read_signal, "POE names the task that a signal ended.", priority=1),
    RecordPattern("mpich.rank_died", r"(?:ERROR|INFO): 0031-251 +task (?P<rank>\d{1,7}) exited: rc=(?P<exit_code>-?[1-9]\d*)",
           "fatal", note="POE names the task that ended and how."),
    RecordPattern("mpich.rank_died",
           r"ERROR: 0031-300 +Forcing all remote tasks to exit due to (?:exit code (?P<exit_code>-?\d+)|"
           r"signal (?P<signal>\d+)) in task (?P<rank>\d{1,7})", "fatal",
           note="POE ends all tasks because of this one."),
    RecordPattern("poe.affinity", r"ERROR: 0031-758 +AFFINITY: \[(?P<by_host>[\w.-]{1,255})\] (?P<message>.+)", "fatal",
           note="POE cannot give each task a core of its own on this node."),
    RecordPattern("poe.network", r"ERROR: 0031-(?:632|007|309|619) +(?P<message>.+)", "fatal",
           note="POE could not set up the network for its tasks."),
    RecordPattern("mpich.exec_failed",
           r"ERROR: 0031-(?:655|725|214|216) +(?P<message>(?:Can't exec|Failed to execute(?: MPI)? program|pmd: chdir|"
           r"[^\n]{0,40}?) *(?P<file>/?[\w./-]{1,300})?.*)", "fatal", note="A node could not start the program."),
    RecordPattern("mpich.init_failed", r"ERROR: 0031-024 +(?P<message>(?P<peer>[\w.-]{1,255}): no response; rc = -?\d+)",
           "fatal", note="POE got no answer from this node."),
    RecordPattern("mpich.peer_gone",
           r"ERROR: 0031-161 +(?P<message>EOF on socket connection with (?:node|task) (?P<peer>[\w.-]{1,255}))",
           "error", note="POE lost its daemon on this node."),
    RecordPattern("poe.unanswered", r"^Message id \d{1,12} from (?P<message>task (?P<by_rank>\d{1,7}) \([\w.:-]{1,255}\) to "
           r"task \d{1,7} \((?P<peer>[\w.:-]{1,255})\) timed out)", "error", note="LAPI got no answer from this task.",
           scan=r"^Message id \d{1,12} from task \d"),
    RecordPattern("poe.error", _ERROR + r"(?P<message>.+)", "error", note="POE reports a failure.", priority=-3),
    RecordPattern("mpich.fatal",
           r"ERROR: 0032-\d{3} +(?P<message>.{3,300}?)(?: +\(-?\w{1,20}\))? in (?P<function>MPI_\w+), task "
           r"(?P<rank>\d{1,7})", "fatal", note="An MPI call failed and POE ends the job."),
)  # fmt: skip

PARASTATION = (
    RecordPattern("mpich.rank_died",
           r"PSIlogger: (?:\w{1,40}: )?Child with rank (?P<rank>\d{1,7}) exited (?:with status (?P<exit_code>[1-9]\d*)|"
           r"on signal (?P<signal>(?!15\b)\d{1,3})\b)", "fatal", note="ParaStation names the rank that ended and how."),
    RecordPattern("mpich.rank_told_to_end",
           r"PSIlogger: (?:\w{1,40}: )?Child with rank (?P<rank>\d{1,7}) exited on signal 15\b", "warning", priority=1,
           note="ParaStation ended this rank: another one had failed, or the job was to end."),
    RecordPattern("mpich.time_limit", r"PSIlogger: (?P<message>Maximum runtime of (?P<seconds>\d{1,9}) seconds elapsed)",
           "fatal", note="The launcher's own time limit ended the job."),
)  # fmt: skip

RECORDS: tuple[RecordPattern, ...] = (*POE, *PARASTATION)

SIGNS: LifecycleSigns = {
    "poe.affinity": ("last words",),
    "poe.network": ("last words",),
    "poe.unanswered": ("lost peer",),
}
