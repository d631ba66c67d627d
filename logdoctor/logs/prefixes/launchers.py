"""Prefixes that launchers put on every line.

The launchers are srun, mpirun, torchrun, Ray, vLLM, horovodrun and SageMaker.
Sources: Slurm src/common/write_labelled_message.c; Open MPI 4 and 5 (PMIx) iof; PyTorch torch/_logging, elastic
multiprocessing/tail_log.py and c10/util/Logging.cpp; Lightning utilities/rank_zero.py; Ray
python/ray/_private/ray_logging; MPICH hydra -prepend-rank; Horovod.
"""

from __future__ import annotations

from logdoctor.logs.record_pattern import Prefix
from logdoctor.logs.timestamps import LEVEL

_LABELLED = ("task", "rank")
_STD = r"<(?:stdout|stderr|stddiag)>:(?: (?=(?:  )*(?! )))?"
"""Open MPI 5 prints a space after this tag, Open MPI 4 does not.

An indented message has an even number of spaces, so an odd number contains the space of the tag.
"""
_ROLE = r"(?:default|trainer|worker|role|main|learner|actor)"
TORCH = (
    Prefix("torch.logger", r"\[rank(?P<rank>\d{1,7})\]:(?=\[?[FEWIVCD]\d{0,4} )", "[", once=True),
    Prefix("monarch", r"\[(?:-|(?P<rank>\d{1,7}))\](?=[FEWID]\d{4} \d\d:\d\d:\d\d)", "[", once=True),
    Prefix("torch.rank", r"\[rank(?P<rank>\d{1,7})\](?:: ?| )", "["),
    Prefix("torchrun.tee", rf"\[{_ROLE}(?P<local_rank>\d{{1,4}})\]:", "["),
    # A role without a name. Many programs print a number in brackets, so only lines of a traceback count.
    Prefix("torchrun.bare", r'\[(?P<local_rank>\d{1,4})\]:(?=Traceback \(most recent|  File "| {4}\S)', "["),
    # Values of TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE: TorchX on Meta's clusters, the manual, HyperPod.
    Prefix("torchrun.bar", rf"\[(?:{_ROLE}|[\w.-]{{1,60}}/)(?P<rank>\d{{1,7}})\|(?P<local_rank>\d{{1,4}})\]:", "["),
    Prefix("torchrun.colon", rf"\[{_ROLE}-(?P<local_rank>\d{{1,4}}):(?P<rank>\d{{1,7}})\]:", "["),
    Prefix("torchrun.group", r"\[rank(?P<rank>\d{1,7})-group_rank\d{1,6}(?:-attempt\d{1,4})?\]:", "["),
    Prefix("lightning.level", rf"(?P<level>{LEVEL}): (?=\[rank: \d)", "DIWEC", once=True),
    Prefix("torchrun.host", r"\[(?P<host>[A-Za-z][\w.-]{0,254}):(?P<local_rank>\d{1,2})\]:", "["),
    Prefix("lightning.child", r"\[rank: (?P<local_rank>\d{1,4})\] (?=Child process with PID )", "[", once=True),
    Prefix(
        "rank.bracket",
        r"\[(?:[Gg]lobal[ _]?)?(?:rank|Rank|RANK)(?: ?[:=]? ?|_|-)(?P<rank>\d{1,7})(?:/(?!1\])\d{1,7})?\]"
        r"(?:[:,]? |:(?=\S)|$)",  # not rank 1 of 1: processes that do not know each other all print it
        "[",
        once=True,
        unless=("rank",),
    ),
    Prefix(  # simulation codes and scripts print it before their own errors
        "rank.words",
        r"(?:[Rr]ank|RANK|MPI [Rr]ank|[Pp]rocess(?:or)?|PE|Task) #?(?P<rank>\d{1,7}): ?"
        r"(?=ERROR\b|Error\b|FATAL\b|Fatal\b)",
        "RrMPT",
        once=True,
        unless=("rank",),
    ),
    Prefix("composer", r"rank(?P<rank>\d{1,7})\[(?P<pid>\d{1,10})\]\[[\w-]{1,40}\]: ?", "r", once=True),
)

MILABENCH = (
    Prefix(
        "milabench",
        r"[\w-]{1,80}\.(?:D?\d{1,4}|(?P<host>[A-Za-z][\w-]{0,100}))(?:\.nolog)? \[(?:stderr|stdout)\] ",
        once=True,
    ),
)

SLURM = (
    Prefix(
        "srun.label",
        r" {0,5}(?P<task>\d{1,6}): (?!0x|/|std::|core::|Test (?:NCCL|CUDA|HIP|RCCL) failure )|"
        r"(?P<task2>\d{1,6}):(?=$|MPT[ :]|Program received signal|forrtl: |Backtrace for this error|"
        r"#\d{1,3} +0x|\tat )",
        " 0123456789",
        unless=_LABELLED,
    ),
    Prefix("srun.het", r" {0,3}P(?P<tag>\d{1,3} +\d{1,6}): ?", " P"),
)

_SHELL_JOB = (  # job status of bash and zsh: ``[1]  + 4411 killed     python train.py``
    r" {0,4}[-+]? {0,4}\d{1,10} {1,4}(?:[Ss]egmentation|[Bb]us error|[Ii]llegal|[Aa]bort|[Kk]illed|[Tt]erminated"
    r"|[Ff]loating|[Hh]angup|[Tt]race|[Dd]one\b|[Ee]xit \d|[Rr]unning|[Ss]topped|suspended|CPU time|cpu limit"
    r"|[Ff]ile size|[Uu]ser.defined)"
)

MPI = (
    Prefix(
        "mpirun.tag",
        r"\[\d{1,10},(?P<task>\d{1,7})\](?:\[(?P<host>[\w.-]{1,255}):(?P<pid>\d{1,10})\])?" + _STD,
        "[",
    ),
    Prefix("prterun.tag", r"\[(?:prterun|prte|mpirun|orterun)[\w.-]{1,255}@\d{1,10},(?P<task>\d{1,7})\]" + _STD, "["),
    Prefix("mpirun.rank", r"\[(?P<task>\d{1,7})\]" + _STD, "["),
    Prefix("sagemaker.tag", r"\[\d{1,10},mpirank:(?P<rank>\d{1,7}),(?P<host>[\w.-]{1,255})\]" + _STD, "["),
    Prefix(
        "hydra.rank",
        r"\[(?P<task>\d{1,6})\] "
        r"(?!\d|MPI |NCCL |Got |is |[-+/(]|0x|done\b|Running|Stopped|Killed|Terminated|Aborted|Exit"
        r"|Segmentation|Tesla|NVIDIA|mlx5|(?:on [\w.-]+|terminated|fatal error|application aborted"
        r"|process exited without calling \w+|job terminated by the user)$)"  # Microsoft MPI's mpiexec, about a rank
        rf"(?!{_SHELL_JOB})"
        r"|\[(?P<task2>\d{1,6})\](?: (?=--> FOAM )|(?=PETSC ERROR|terminate called|Traceback |Fatal error|Abort\(|$))",
        "[",
        unless=(*_LABELLED, "level"),  # after a level the number is the process or thread of a logger
    ),
)

ACTORS = (
    Prefix("vllm.worker", r"\((?P<tag>VllmWorker(?:Process)?) rank=(?P<rank>\d{1,6}) pid=(?P<pid>\d{1,10})\) ", "("),
    Prefix(  # the tensor-parallel index is the rank if all other indices are 0
        "vllm.tensor",
        r"\((?P<tag>(?:Vllm)?Worker(?:[_ ](?:DP|PP|PCP)0)*[_ ]TP(?P<rank>\d{1,6})(?:[_ ](?:DCP|EP)\d{1,6})*)"
        r" pid=(?P<pid>\d{1,10})\) ",
        "(",
    ),
    Prefix(  # SkyPilot, with and without Ray; it prints the rank of the node
        "skypilot",
        r"\((?P<tag>head|worker\d{1,6}), rank=\d{1,7}(?:, pid=(?P<pid>\d{1,10}))?(?:, ip=(?P<host>[\w.:-]{1,80}))?\) ",
        "(",
    ),
    Prefix(
        "ray.actor",
        r"\((?P<tag>[A-Za-z_][^\n]{0,80}?)? ?pid=(?:(?P<pid>\d{1,10})|\w{1,40})(?:, ip=(?P<host>[\w.:-]{1,80}))?"
        r"(?:, [^\n()]{0,80})?\) ?",
        "(",
    ),
    Prefix(
        "ray.daemon",
        r"\((?P<tag>raylet|autoscaler|gcs_server|scheduler|dashboard|driver|monitor)(?: [+\dhms.]{1,16})?"
        r"(?:, ip=(?P<host>[\w.:-]{1,80}))?\) ",
        "(",
    ),
    Prefix(  # xla_dist of torch_xla prints time stamp, address and number of the TPU host
        "xla.dist", r"(?P<host>\d{1,3}(?:\.\d{1,3}){3}) \[(?P<tag>\d{1,5})\](?: |$)", "0123456789", once=True
    ),
    Prefix("stream", r"\[(?:stdout|stderr)\]:? ?", "["),
)

PREFIXES: tuple[Prefix, ...] = (*TORCH, *MILABENCH, *SLURM, *MPI, *ACTORS)
