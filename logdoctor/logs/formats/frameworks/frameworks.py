r"""Failures of training and serving frameworks.

The frameworks are DeepSpeed, Horovod, Megatron-LM, Composer, vLLM and SGLang.

Sources: DeepSpeed `launcher/launch.py`, `runtime/fp16/loss_scaler.py` (0.5 to 0.17); Horovod `runner` and
`common/stall_inspector.cc` (0.15 to 0.28); Megatron-LM `training/training.py`, `core/rerun_state_machine.py`; Composer
`cli/launcher.py`; vLLM `v1/engine/core.py`, `v1/executor/multiproc_executor.py`; SGLang `managers/scheduler.py`; Apex
`amp/scaler.py`.

Kinds and fields:

``frameworks.host_failed``   host, message: a launcher names the host where the program ended or did not start
``frameworks.exit``          a launcher tells how a process ended: exit_code, signal, rank and pid where it says
``frameworks.world``         world_size: how many ranks a launcher is about to start
``frameworks.killed``        pid: a launcher ends a process that was still alive (collateral)
``frameworks.told_to_end``   signal, reason: the launcher or trainer itself was told to end
``frameworks.clean_exit``    pid: a process ended well
``frameworks.stall``         missing (ranks, a tuple), stalled_ops, seconds, sides (how many different lacks: more
    than one says that ranks wait for each other): Horovod waits for ranks
``frameworks.shutdown``      Horovod was shut down because another rank failed or ended
``frameworks.horovod``       Horovod gives up: its start, its rendezvous server, a rank that never came: message
``frameworks.mismatch``      Horovod or a checker found that ranks asked for different things: message
``frameworks.overflow``      rank, scale: a step was skipped because of an overflow (healthy if rare)
``frameworks.scale_minimum`` the loss scale cannot fall further
``frameworks.not_finite``    loss, grad_norm or results are NaN or infinite: message, rank
``frameworks.rerun``         Megatron found a result that did not repeat: message, rank
``frameworks.engine_died``   component, pid: an engine or worker of an inference server ended
``frameworks.engine_stuck``  seconds, waited_s, call: a part of it does not go on
``frameworks.no_checkpoint`` path: none was found, the run starts anew
``frameworks.error``         message: a trainer, tuner or checker says that it failed
``frameworks.retry``         message: a download or a tracker tries again;  ``frameworks.hint``  harmless advice
"""

from __future__ import annotations

from logdoctor.logs.multiline.horovod_stalls import read_stall
from logdoctor.logs.multiline.python.messages import read_exit
from logdoctor.logs.record_pattern import LifecycleSigns, RecordPattern

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "frameworks.exit",
        r"(?:--local_rank=(?P<local_rank>0)'[^\n]{0,8000}?)?exits with return code = (?P<exit_code>-?\d{1,10})",
        "error",
        read_exit,
        "DeepSpeed's launcher found a process that ended with an error; it prints the command of the last one started "
        "(where that is local rank 0, of the only one).",
        5,
        scan=r"exits with return code = -?\d",
    ),
    RecordPattern(
        "frameworks.host_failed",
        r"failed to run \S.{0,8000} on (?!localhost|127\.)(?P<host>[\w.-]{1,255}), is localhost: (?:True|False), "
        r"exception: (?P<message>.{1,400})",
        "error",
        note="ColossalAI's launcher says on which host the program ended, or could not be started.",
        scan=r"is localhost: (?:True|False), exception: ",
    ),
    RecordPattern(
        "frameworks.world",
        r"\bdist_world_size=(?P<world_size>\d{1,7})$",
        "info",
        note="DeepSpeed's launcher tells how many ranks there will be.",
    ),
    RecordPattern(
        "frameworks.exit",
        r"(?:Global rank|Rank) (?P<rank>\d+)(?: \(PID (?P<pid>\d+)\))? (?:crashed with exit code"
        r"|exited with code) (?P<exit_code>-?[1-9]\d{0,9})",
        "error",
        read_exit,
        "Composer's launcher found a process that ended with an error.",
        5,
        scan=r"ank \d+.{0,24} (?:crashed with exit code|exited with code) -?[1-9]",
    ),
    RecordPattern(
        "frameworks.exit",
        r"ABORT!!! Out of all \d+ trainers, the trainer process with rank=\[(?:(?P<rank>\d+)\])?",
        "error",
        note="Paddle's launcher found the process of this rank ended with an error, and ends the others.",
        priority=5,
    ),
    RecordPattern(
        "frameworks.exit",
        r"^Container rank (?P<rank>\d+) status (?:failed|killed) cmd \[.{0,4000}?\] code (?P<exit_code>-?\d{1,9})",
        "error",
        read_exit,
        "Paddle's launcher found the process of this rank ended with an error.",
        5,
        scan=r"Container rank \d+ status (?:failed|killed) cmd",
    ),
    RecordPattern(
        "frameworks.exit",
        r"Process (?P<rank>\d+) exit with status code (?P<exit_code>-?\d{1,9})",
        "error",
        read_exit,
        "Horovod's launcher found a process that ended with an error.",
        5,
    ),
    RecordPattern(
        "frameworks.exit",
        r"Terminating remaining workers after failure of Process (?P<rank>\d+)",
        "error",
        note="Horovod's launcher ends the other processes, because this one failed.",
        priority=5,
    ),
    RecordPattern(
        "frameworks.exit",
        r"\bblacklist failing host: (?P<host>[\w.:-]{1,253})$",
        "error",
        note="Elastic Horovod gives a host up, because a process failed there.",
        priority=4,
    ),
    RecordPattern(
        "frameworks.horovod",
        r"Horovod could not be initialized: (?P<message>.+)|HTTP GET request failed too many times, aborting"
        r"|is stalled for longer than \d+ seconds\. Will shutdown"
        r"|Horovod was unable to connect to .{1,60} on any of the",
        "error",
        note="Horovod gives up: its start, its rendezvous server or a rank that never came.",
        priority=-3,
    ),
    RecordPattern(
        "frameworks.killed",
        r"(?:Killing subprocess|Killing training process) (?P<pid>\d+)",
        "error",
        note="A launcher ends a process that was still alive, because another one failed.",
        priority=5,
        scan=r"Killing subprocess \d|Killing training process \d",
    ),
    RecordPattern(
        "frameworks.told_to_end",
        r"(?:Main process received|Process \d+ received|Received|received) (?P<signal>SIG(?:TERM|INT|HUP|USR1|USR2"
        r"|QUIT)|signal \d+)(?:[,.]? ?(?:exiting|shutting|stopping|terminating|saving|initiating))",
        "error",
        read_exit,
        "The program itself was told to end by a signal.",
        3,
        scan=r"eceived (?:SIG[A-Z]+|signal \d+)[,. ]+(?:exiting|shutting|stopping|terminating|saving|initiating)",
    ),
    RecordPattern(
        "frameworks.told_to_end",
        r"exiting program after receiving (?P<signal>SIG\w+)",
        "error",
        read_exit,
        "The program saved its state and ended because of a signal.",
        4,
    ),
    RecordPattern(
        "frameworks.told_to_end",
        r"[Cc]aught signal (?P<signal>\w+) on (?P<by_host>[\w.-]+): this job is (?P<reason>preempted|timed-out)",
        "error",
        read_exit,
        "submitit was told that its job is preempted or out of time, and saves its state.",
        4,
    ),
    RecordPattern(
        "frameworks.clean_exit",
        r"Process (?P<pid>\d+) exits successfully",
        "info",
        note="A process ended well.",
        priority=4,
    ),
    RecordPattern(
        "frameworks.clean_exit",
        r"exiting program (?:at iteration \d+|after \d[\d.]* minutes)",
        "info",
        note="The run ended at the point that was set for it.",
        priority=4,
    ),
    RecordPattern(
        "frameworks.stall",
        r"One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks",
        "warning",
        read_stall,
        "Some ranks wait for others that have not started the same operation.",
        6,
    ),
    RecordPattern(
        "frameworks.stall",
        r"^\s*(?:Stalled ops: ?)?(?P<op>[^\s\[\]:]{1,200}) \[(?:missing|ready) ranks: ?[\d, ]+",
        "warning",
        read_stall,
        "A tensor that some ranks have not joined for.",
        3,
        scan=r"\[(?:missing|ready) ranks: ?\d",
    ),
    RecordPattern(
        "frameworks.stall",
        r"^(?:Missing|Stalled) ranks: ?$",
        "warning",
        read_stall,
        "Ranks that have not joined an operation.",
        3,
        scan=r"(?:Missing|Stalled) ranks:",
    ),
    RecordPattern(
        "frameworks.shutdown",
        r"Horovod has been shut down|Horovod background loop (?:failed|uncaught exception)|HorovodInternalError"
        r"|Shutdown error\. One or more of the ranks"
        r"|an attempt to allreduce, allgather or broadcast a tensor after one of the ranks",
        "error",
        note="Horovod stopped, because a rank failed or ended before the others.",
        priority=-4,
    ),
    RecordPattern(
        "frameworks.mismatch",
        r"(?P<message>Mismatched (?:\w+ )?(?:\w+ )?(?:tensor|operation|data type|Prescale|Postscale|process|device"
        r"|prescale|reduction"
        r"|CPU/GPU|root)\b.{0,300})",
        "error",
        note="Ranks asked for operations that do not fit together.",
        priority=-4,
        scan=r"Mismatched (?:[\w/]+ ){0,3}(?:tensor|operation|data type|factor|root)",
    ),
    RecordPattern(
        "frameworks.overflow",
        r"(?:OVERFLOW! Rank (?P<rank>\d+) Skipping step|Overflow detected\. Skipping step"
        r"|Gradient overflow\. +Skipping step|\boverflow detected).{0,60}?(?:loss scale(?: to)?:?"
        r"|to) ?(?P<scale>[\d.e+-]*\d)",
        "info",
        note="A step was skipped because a gradient overflowed; rare ones are normal in mixed precision.",
        often=True,
        priority=3,
        scan=r"OVERFLOW! Rank \d+ Skipping|Overflow detected\. Skipping|radient overflow|overflow detected",
    ),
    RecordPattern(
        "frameworks.scale_minimum",
        r"Current loss scale already at minimum|[Mm]inimum loss scale reached|loss scale (?:is|has) (?:already )?(?:at"
        r"|reached) (?:its |the )?minimum",
        "error",
        note="Every step overflows and the loss scale cannot fall further.",
        priority=-4,
        scan=r"loss scale already at minimum|inimum loss scale reached|loss scale (?:is|has) (?:already )?(?:at"
        r"|reached)",
    ),
    RecordPattern(
        "frameworks.not_finite",
        r"(?:\b[Rr]ank (?P<rank>\d+): (?=[Ff]ound )"
        r"|\bRank (?P<rank>\d+), node (?P<host>[\w.-]{1,253}), device [^\n]{1,90}\(message='(?=found )"
        r"|\bUnexpected result \S{1,40} on rank (?P<rank>\d+) at iteration [^\n]{1,60}\(message='(?=found ))?"
        r"(?P<message>Loss is (?:-?nan|-?inf|NaN|Inf|not finite)\b.{0,80}|(?:[Ll]oss|LOSS) (?:became|is|was|went to"
        r"|value is) (?:NaN|nan|inf|infinite|non-?finite).{0,80}|[Ff]ound (?:NaN|nan|Inf|inf"
        r"|non-?finite)s? in .{3,160}|(?:NaN|nan|Inf) (?:loss|gradients?|values?) (?:detected|encountered"
        r"|found).{0,80}|Non-?finite (?:loss|gradient|norm).{0,80})",
        "error",
        note="A loss, gradient or result is NaN or infinite.",
        scan=r"Loss is (?:-?nan|-?inf|NaN|Inf|not finite)|[Ll]oss (?:became|is|was|went to|value is) (?:NaN|nan|inf"
        r"|non)|ound (?:NaN|nan|Inf|inf|non)[a-z-]* in |(?:NaN|nan|Inf) (?:loss|gradients?"
        r"|values?) (?:detected|encountered|found)|Non-?finite (?:loss|gradient|norm)",
    ),
    RecordPattern(
        "frameworks.not_finite",
        r"NaN or Inf found in input tensor",
        "warning",
        note="A value that is NaN or infinite was logged.",
        priority=1,
    ),
    RecordPattern(
        "frameworks.rerun",
        r"(?:[Rr]ank (?P<rank>\d+).{0,80}?)?(?P<message>Possible (?:transient|persistent) error!?.{0,160}"
        r"|Unexpected result .{0,160}(?:iteration|rank).{0,80}|First rerun: unexpected result .{0,120})",
        "error",
        note="A computation gave another result when it was repeated, or an unexpected one.",
        scan=r"Possible (?:transient|persistent) error|Unexpected result .{0,160}(?:iteration|rank)|First rerun: "
        r"unexpected",
    ),
    RecordPattern(
        "frameworks.engine_died",
        r"(?P<component>EngineCore|WorkerProc|Scheduler|TpModelWorkerClient|Detokenizer|DetokenizerManager|AsyncLLM"
        r"|DataParallelController|Engine(?: core| loop)?)(?:_\w+)?(?: \w+)? (?:encountered a fatal error"
        r"|hit an exception|failed to start|initialization failed|died unexpectedly|(?:is|has) (?:dead|died)"
        r"|failed unexpectedly|output_handler failed|background task failed)",
        "fatal",
        note="A process of the inference server ended with an error.",
        priority=4,
        scan=r"encountered a fatal error|hit an exception|WorkerProc failed to start|EngineCore failed to start"
        r"|WorkerProc init|Engine (?:loop|background|core) .{0,20}(?:died|dead|failed)|AsyncLLM .{0,24}failed"
        r"|ngine core proc",
    ),
    RecordPattern(
        "frameworks.engine_died",
        r"(?:Engine core(?: proc)? (?P<component>\S{1,80}) died"
        r"|Worker proc (?P<worker>(?:VllmWorker[- ](?:TP)?(?P<rank>\d{1,5})\b)?\S{0,80}) died"
        r"|Received sigquit from a child process?\b"
        r"|Engine core initialization failed|(?:One or more|Some) (?:engine|worker) (?:core )?process(?:es)? died)",
        "error",
        note="The inference server lost one of its processes.",
        priority=3,
        scan=r"Engine core(?: proc)? .{1,80}died|Worker proc .{1,80}died|Received sigquit from a "
        r"child|Engine core initialization failed|(?:engine|worker) (?:core )?process(?:es)? died",
    ),
    RecordPattern(
        "frameworks.engine_stuck",
        r"(?:[Ww]atchdog timeout \((?:self\.)?(?:watchdog_timeout|soft)[\w.]*=? ?(?P<seconds>[\d.]+)?"
        r"|RPC call to (?P<call>\w+) timed out)",
        "error",
        note="A part of the inference server does not go on.",
        priority=2,
        scan=r"atchdog timeout \(|RPC call to \w+ timed out",
    ),
    RecordPattern(
        "frameworks.engine_stuck",
        r"No available (?:shared memory broadcast )?block found in (?P<waited_s>[\d.]+) second",
        "warning",
        note="The inference server waits for a worker that has not taken its work yet; often it compiles or loads.",
        priority=2,
    ),
    RecordPattern(
        "frameworks.error",
        r"\[TRT\] \[(?:E|F)\] (?P<message>.{1,300})",
        "error",
        note="TensorRT reports an error.",
        scan=r"\[TRT\] \[[EF]\] ",
    ),
    RecordPattern(
        "frameworks.no_checkpoint",
        r"could not find the metadata file (?P<path>\S+)|will not load any checkpoints and will start from random",
        "info",
        note="No checkpoint was found, so the run starts anew.",
        priority=5,
    ),
    RecordPattern(
        "frameworks.error",
        r"^(?P<message>Error executing job with overrides:.{0,300}|Engine run is terminating due to exception: "
        r".{1,300}|Current run is terminating due to exception: .{1,300}|mpirun failed with exit status \d+.{0,80}"
        r"|Trial \S+ errored after .{1,120}|Task crashed\b.{0,200})",
        "error",
        note="A framework says that its run failed.",
        scan=r"Error executing job with overrides:|run is terminating due to exception: |mpirun failed with exit status"
        r"|Trial .{1,80} errored after|Task crashed",
    ),
    RecordPattern(
        "frameworks.error",
        r"^ {4}(?P<message>No traceback found)$",
        "error",
        note="milabench's report of a benchmark that failed without one.",
        scan=r" {4}No traceback found$",
    ),
    RecordPattern(
        "frameworks.retry",
        r"(?P<message>wandb: (?:WARNING |ERROR )?(?:Network error|Error while calling W&B API|.{0,40}retry).{0,200}"
        r"|thrown while requesting (?:GET|HEAD|PUT|POST) .{1,200}"
        r"|Error while downloading from http.{1,200}|Retrying in [\d.]+ ?s.{0,80}"
        r"|Trying to resume download.*)",
        "warning",
        note="A download or a tracker tries again.",
        priority=1,
        scan=r"wandb: .{0,50}(?:Network error|W&B API|retry)"
        r"|thrown while requesting |Error while downloading from http|Retrying in [\d.]+ ?s|Trying to "
        r"resume download",
    ),
    RecordPattern(
        "frameworks.hint",
        r"The following values were not passed to `accelerate launch`|Some weights of .{1,120} were not initialized "
        r"from|You should probably TRAIN this model|Setting ds_accelerator to|async_io requires the dev libaio"
        r"|using untested triton version|wandb: (?:\W{0,4} ?)?(?:View run|Synced \d|Run summary)"
        r"|The current process just got forked, after parallelism has already been used",
        "info",
        note="Advice of a framework, harmless.",
        priority=1,
    ),
)

SIGNS: LifecycleSigns = {
    "frameworks.exit": ("named end",),
    "frameworks.host_failed": ("named end",),
    "frameworks.shutdown": ("gave up",),
}
