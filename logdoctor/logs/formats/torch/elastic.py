r"""Reports of torchrun, torch.distributed.launch and torch.multiprocessing about their processes.

Sources: `torch/distributed/elastic/{agent/server/api.py,multiprocessing/api.py,rendezvous/dynamic_rendezvous.py}`,
`torch/distributed/launcher/api.py`, `torch/distributed/run.py` (1.9 to 2.15).

Kinds and fields:

``elastic.failure_summary``  the block between the ``=`` lines; of its ROOT entry: rank, local_rank, pid, exit_code,
    signal, host, when, root_traceback, exception and message (where the worker wrote an error file); count (all
    entries), other_ranks (a tuple).  "Root cause" there means: first seen dead on that node
``elastic.failure_entry``    the fields of failure_summary: an entry of such a list, or a line of it, whose head is cut
    off
``elastic.worker_failed``    local_rank, pid, exit_code, signal, binary: the first worker found dead on a node
``elastic.sigterm``          pid, signal: the agent ends a worker that was still alive (collateral)
``elastic.signal_received``  signal, pid: the agent itself was told to end
``elastic.restart``          role, state, attempts_left: the workers are started again
``elastic.workers``          restart_count, master_addr, master_port, node_rank, ranks, world_size (a fact)
``elastic.config``           min_nodes, max_nodes, nproc_per_node, rdzv_endpoint, max_restarts (a fact)
``elastic.rendezvous``       node, run_id, exception: an agent lost touch with the rendezvous
``elastic.joined``           node, round, node_rank, nodes (a fact)
``elastic.spawn_error``      local_rank: head of the traceback of a spawned process;  ``elastic.spawn_exit``
    local_rank, signal: how a spawned process ended (a line without the traceback of the parent around it)
``elastic.timer``            workers reaped by an expired timer;  ``elastic.exit_barrier``  agents did not end together
``elastic.success``          the workers of a node ended well;  ``elastic.banner``  harmless hints of the launcher
"""

from __future__ import annotations

from logdoctor.logs.multiline.crash_stacks import read_signal
from logdoctor.logs.multiline.elastic_blocks import read_entry, read_result, read_summary
from logdoctor.logs.multiline.python.messages import read_exit
from logdoctor.logs.record_pattern import LifecycleSigns, RecordPattern

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "elastic.failure_summary",
        r"^\s*(?P<name>\S.{0,300}?) FAILED\s*$",
        "fatal",
        read_summary,
        "torchrun's list of the workers that ended with an error on this node.",
        6,
        scan=r" FAILED\s*$",
    ),
    RecordPattern(
        "elastic.failure_summary",
        r"^\s*Root Cause(?: \(first observed failure\))?:\s*$",
        "fatal",
        read_summary,
        "torchrun's entry for the worker that it saw ending first on this node.",
        6,
        scan=r"Root Cause(?: \(first observed failure\))?:",
    ),
    RecordPattern(
        "elastic.failure_entry",
        r"^\s+rank\s*: (?P<rank>\d{1,7}) \(local_rank: (?P<local_rank>\d{1,4})\)",
        "error",
        read_entry,
        "An entry of torchrun's list of failed workers, whose head is not in view.",
        2,
        scan=r"rank\s*: \d+ \(local_rank: \d",
    ),
    RecordPattern(
        "elastic.failure_entry",
        r"^\s+exitcode\s*: (?P<exit_code>-?\d{1,10})\s+\(pid: (?P<pid>\d+)\)",
        "error",
        read_exit,
        "An entry of torchrun's list of failed workers, whose head is not in view.",
        2,
        scan=r"exitcode\s*: -?\d+\s+\(pid: ",
    ),
    RecordPattern(
        "elastic.failure_entry",
        r"^\s+traceback\s*: Signal (?P<signal>\d+) \(SIG\w+\) received by PID (?P<pid>\d+)",
        "error",
        read_exit,
        "An entry of torchrun's list of failed workers, whose head is not in view.",
        2,
        scan=r"Signal \d+ \(SIG\w+\) received by PID",
    ),
    RecordPattern(
        "elastic.worker_failed",
        r"failed \(exitcode: (?P<exit_code>-?\d{1,10})\).{0,24}? local_rank: (?P<local_rank>\d+)\b"
        r"(?: \(pid: (?P<pid>\d+)\)(?: of (?:binary|fn): ?(?P<binary>\S+))?)?",  # rich breaks the line in its column
        "error",
        read_exit,
        "torchrun found this worker dead first on its node.",
        5,
    ),
    RecordPattern(
        "elastic.worker_failed",
        r"failed \(exitcode: (?P<exit_code>-?\d{1,10})\) .{0,40}start_method: (?P<start_method>\w+)",
        "error",
        read_exit,
        "The parent found a worker that it had started dead.",
        4,
    ),
    RecordPattern(
        "elastic.sigterm",
        r"(?:Sending|Closing) process (?P<pid>\d+) (?:closing|via) signal (?P<signal>(?:Signals\.)?SIG\w+|\d+)",
        "error",
        read_exit,
        "torchrun ends a worker that was still alive: another one failed, or torchrun was told to end.",
        5,
    ),
    RecordPattern(
        "elastic.sigterm",
        r"Unable to shutdown process (?P<pid>\d+) via (?:Signals\.)?(?:SIG\w+"
        r"|\d+), ?force?fully exitt?ing via (?P<signal>(?:Signals\.)?SIG\w+|\d+)",
        "warning",
        read_exit,
        "A worker did not end when told to, so torchrun kills it.",
        5,
    ),
    RecordPattern(
        "elastic.signal_received",
        r"Received (?P<signal>(?:Signals\.)?SIG\w+|\d+) death signal, shutting down workers",
        "error",
        read_exit,
        "torchrun itself received a signal and ends all workers.",
        5,
    ),
    RecordPattern(
        "elastic.signal_received",
        r"Process (?P<pid>\d+) got signal: (?P<signal>\d+)",
        "error",
        read_exit,
        "torchrun itself received a signal.",
        -6,
    ),
    RecordPattern(
        "elastic.restart",
        r"\[(?P<role>[^\]]{0,80})\] [Ww]orker group (?P<state>FAILED|UNHEALTHY)\. (?P<attempts_left>\d+)(?:/\d+)? "
        r"attempts left; will restart",
        "error",
        note="Workers failed and torchrun starts all of them again.",
        priority=5,
        scan=r"attempts left; will restart",
    ),
    RecordPattern(
        "elastic.restart",
        r"\[(?P<role>[^\]]{0,80})\] Detected (?P<new_nodes>\d+) new nodes? from group_rank=\d+; will restart",
        "warning",
        note="Nodes joined and torchrun starts all workers again.",
        priority=5,
    ),
    RecordPattern(
        "elastic.workers",
        r"Rendezvous complete for workers\. Result:",
        "info",
        read_result,
        "All nodes met and the ranks were given out.",
    ),
    RecordPattern(
        "elastic.config",
        r"Starting elastic_operator with launch configs:|Starting elastic_operator",
        "info",
        read_result,
        "How torchrun was started.",
    ),
    RecordPattern(
        "elastic.rendezvous",
        r"The node '(?P<node>[^']{1,200})' has failed to (?:shutdown|close) the rendezvous "
        r"'(?P<run_id>[^']{0,200})'(?: due to an error of type (?P<exception>\w+))?",
        "warning",
        note="At its end an agent could not tell the rendezvous, because the node that held it had ended before.",
        priority=5,
    ),
    RecordPattern(
        "elastic.rendezvous",
        r"The node '(?P<node>[^']{1,200})' has failed to (?P<act>[a-z -]{3,60}?) (?:to "
        r"|with )?the rendezvous '(?P<run_id>[^']{0,200})'(?: due to an error of type (?P<exception>\w+))?",
        "error",
        note="An agent could not reach the rendezvous.",
        priority=4,
    ),
    RecordPattern(
        "elastic.rendezvous",
        r"(?P<message>The rendezvous '(?P<run_id>[^']{0,200})' (?:has been|is) closed.*"
        r"|(?:The )?[Kk]eep-alive heartbeat .{0,60}(?:failed|lost|timed out).*"
        r"|The connection to the C10d store has failed\..*|Rendezvous timeout of .*|The node '[^']{1,200}' (?:has left"
        r"|was removed from|has been removed from) the rendezvous.*)",
        "error",
        note="The meeting of the nodes failed or ended.",
        priority=3,
        scan=r"The rendezvous '[^']*' (?:has been|is) closed|eep-alive heartbeat|to the C10d store has failed"
        r"|Rendezvous timeout of |(?:has left|removed from) the rendezvous",
    ),
    RecordPattern(
        "elastic.joined",
        r"The node '(?P<node>[^']{1,200})' has joined round (?P<round>\d+) of the rendezvous '(?P<run_id>[^']*)' as "
        r"rank (?P<node_rank>\d+) in a world of size (?P<nodes>\d+)",
        "info",
        note="A node joined the rendezvous.",
        priority=4,
    ),
    RecordPattern(
        "elastic.timer",
        r"Reaping worker_id=\[(?P<pid>\d+)\]\.\s+Expired timers: (?P<timers>.*)",
        "error",
        note="A worker held a timer too long and is ended.",
    ),
    RecordPattern(
        "elastic.spawn_error",
        r"^-- Process (?P<local_rank>\d+) terminated with the following error:",
        "error",
        note="torch.multiprocessing shows the error of a process that it had started; it stands below.",
        scan=r"-- Process \d+ terminated with the following error:",
    ),
    RecordPattern(
        "elastic.spawn_exit",
        r"(?:^(?:Exception: )?|\bProcessExitedException: )process (?P<local_rank>\d{1,4}) terminated with signal "
        r"(?P<signal_text>SIG[A-Z]{2,6})$",
        "error",
        read_lines=read_signal,
        note="torch.multiprocessing tells by which signal a process that it had started ended.",
        scan=r"process \d+ terminated with signal SIG",
    ),
    RecordPattern(
        "elastic.exit_barrier",
        r"Error waiting on exit barrier\. Elapsed: (?P<elapsed_s>[\d.]+)|SignalException at waiting for exit barrier",
        "warning",
        note="The agents of the other nodes did not end in time.",
        scan=r"waiting (?:on|for) exit barrier",
    ),
    RecordPattern(
        "elastic.success",
        r"\] worker group successfully finished|Local worker group finished \((?:WorkerState\.)?SUCCEEDED\)"
        r"|Done waiting for other agents",
        "info",
        note="The workers of this node ended well.",
        scan=r"worker group successfully finished|Local worker group finished|Done waiting for other agents",
    ),
    RecordPattern(
        "elastic.banner",
        r"Setting OMP_NUM_THREADS environment variable for each process to be"
        r"|The module torch\.distributed\.launch is deprecated|worker group is not yet finished",
        "info",
        note="A hint of the launcher, harmless.",
        scan=r"Setting OMP_NUM_THREADS environment|module torch\.distributed\.launch is deprecated",
    ),
)

SIGNS: LifecycleSigns = {
    "elastic.banner": ("launch",),
    "elastic.config": ("launch",),
    "elastic.failure_entry": ("end told",),
    "elastic.failure_summary": ("end told", "named end", "last words"),
    "elastic.restart": ("restart",),
    "elastic.signal_received": ("job ends",),
    "elastic.spawn_exit": ("end told",),
    "elastic.worker_failed": ("end told", "named end"),
    "elastic.workers": ("start",),
}
