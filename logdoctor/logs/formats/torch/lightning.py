r"""Lightning: ranks, signals, restarts and the end of a run.

Versions: PyTorch Lightning 1.0 to 2.5, Fabric.

Sources: `lightning/fabric/utilities/distributed.py`, `fabric/strategies/launchers/subprocess_script.py`,
`pytorch/trainer/connectors/signal_connector.py`, `pytorch/trainer/call.py`, `pytorch/loops/fit_loop.py`.

Kinds and fields:

``lightning.rank``         by_rank is the speaker; world_size (a fact);  ``lightning.world`` world_size, backend (facts)
``lightning.devices``      devices (the value of CUDA_VISIBLE_DEVICES; a fact)
``lightning.child_died``   pid, exit_code, signal: a process that this one started ended, all others are ended too
``lightning.signal``       signal: the trainer was told to end;  ``lightning.bypass`` a signal that it ignores
``lightning.requeue``      job: the job puts itself back into the queue;  ``lightning.requeue_failed``
``lightning.interrupt``    stopped by the keyboard;  ``lightning.stopped`` reason: the planned end of a run
``lightning.not_finite``   metric, value: a watched metric is NaN or infinite
``lightning.resume``       path: states are restored;  ``lightning.hint`` harmless advice
"""

from __future__ import annotations

from logdoctor.logs.multiline.python.messages import read_exit
from logdoctor.logs.record_pattern import LifecycleSigns, RecordPattern

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "lightning.rank",
        r"nitializing (?P<backend>\w+): GLOBAL_RANK: (?P<by_rank>\d+), MEMBER: \d+/(?P<world_size>\d+)",
        "info",
        note="A process tells its global rank.",
    ),
    RecordPattern(
        "lightning.world",
        r"All (?:distributed|DDP) processes (?:are )?registered\. Starting (?:with"
        r"|\w+ with) (?P<world_size>\d+) processes",
        "info",
        note="All processes of the job have met.",
        scan=r"processes (?:are )?registered\. Starting",
    ),
    RecordPattern(
        "lightning.devices",
        r"^LOCAL_RANK: (?P<by_local_rank>\d+) - CUDA_VISIBLE_DEVICES: \[(?P<devices>[^\]]{0,200})\]",
        "info",
        note="Which GPUs a process can see.",
        scan=r"LOCAL_RANK: \d+ - CUDA_VISIBLE_DEVICES",
    ),
    RecordPattern(
        "lightning.child_died",
        r"Child process with PID (?P<pid>\d+) terminated with code (?P<exit_code>-?\d+)\. Forcefully terminating",
        "error",
        read_exit,
        "A process that rank 0 of this node had started ended with an error, so all are ended.",
        5,
    ),
    RecordPattern(
        "lightning.signal",
        r"^(?:\S{0,60} )?Received (?P<signal>SIGTERM|SIGUSR1|SIGINT): (?P<number>\d+)",
        "warning",
        read_exit,
        "The trainer received a signal that asks it to end.",
        4,
        scan=r"Received SIG(?:TERM|USR1|INT): \d",
    ),
    RecordPattern(
        "lightning.bypass",
        r"[Bb]ypassing (?:signal )?(?P<signal>SIG\w+|sigterm|\d{1,2}\b)",
        "warning",
        read_exit,
        "The trainer ignores a signal because it waits for another one.",
        4,
        scan=r"ypassing (?:signal )?(?:SIG|sig|\d)",
    ),
    RecordPattern(
        "lightning.requeue",
        r"(?:Handling (?:SLURM )?auto-requeue signal: \d+|[Hh]andling (?:SLURM )?(?:resubmit|auto-requeue) signal"
        r"|[Rr]equeu?e?ing (?:SLURM )?job (?P<job>[\w\[\]+-]+)\.\.\.|Requeued SLURM job:? (?P<requeued>\S+))",
        "warning",
        note="The job was told that its time is nearly over and puts itself back into the queue.",
        scan=r"andling (?:SLURM )?(?:auto-requeue|resubmit) signal|equeu?e?ing (?:SLURM )?job |Requeued SLURM job",
    ),
    RecordPattern(
        "lightning.requeue_failed",
        r"Requeu?e?ing SLURM job (?P<job>\S+) failed with error code (?P<code>\d+)",
        "error",
        note="The job could not put itself back into the queue.",
        priority=2,
    ),
    RecordPattern(
        "lightning.interrupt",
        r"Detected KeyboardInterrupt, attempting (?:to )?(?:gracefully|graceful) shut ?down",
        "warning",
        note="Someone stopped the run with the keyboard (or a signal that looks like it).",
        priority=4,
        scan=r"Detected KeyboardInterrupt, attempting",
    ),
    RecordPattern(
        "lightning.not_finite",
        r"Monitored metric (?P<metric>\S+) = (?P<value>\S+) is not finite",
        "error",
        note="A watched metric became NaN or infinite and the run stops.",
        priority=4,
    ),
    RecordPattern(
        "lightning.stopped",
        r"[`']?Trainer\.(?P<stage>fit|validate|test|predict)[`']? stopped: (?P<reason>.{1,160})",
        "info",
        note="The trainer came to its planned end.",
        priority=2,
        scan=r"Trainer\.(?:fit|validate|test|predict)[`']? stopped: ",
    ),
    RecordPattern(
        "lightning.stopped",
        r"(?P<reason>Signaling Trainer to stop)",
        "info",
        note="A stopping rule ended the run as planned.",
    ),
    RecordPattern(
        "lightning.resume",
        r"(?:Restoring states from the checkpoint path at|Restored all states from the checkpoint(?: file)?(?: at)?"
        r"|Loaded model weights from (?:the )?checkpoint at|Resuming from checkpoint) (?P<path>\S+)",
        "info",
        note="States are read back from a checkpoint.",
        scan=r"Restoring states from the checkpoint|Restored all states from the checkpoint|Loaded model weights from ",
    ),
    RecordPattern(
        "lightning.hint",
        r"SLURM auto-requeueing enabled\. Setting signal handlers|command is available on your system but is not used"
        r"|Trainer already configured with model summary callbacks|You are using a CUDA device \(.{1,80}\) that has "
        r"Tensor Cores|Missing logger folder|does not have many workers which may be a bottleneck",
        "info",
        note="Advice of the trainer, harmless.",
        priority=1,
        scan=r"SLURM auto-requeueing enabled|is available on your system but is not used|that has Tensor Cores"
        r"|does not have many workers which may be",
    ),
)

SIGNS: LifecycleSigns = {
    "lightning.child_died": ("end told", "job ends", "named end"),
    "lightning.rank": ("launch",),
    "lightning.world": ("launch",),
}
