"""What launchers put in front of every line: srun, mpirun, torchrun, Ray, vLLM, horovodrun, SageMaker.

Sources: Slurm src/common/write_labelled_message.c; Open MPI 4 and 5 (PMIx) iof; PyTorch torch/_logging, elastic
multiprocessing/tail_log.py and c10/util/Logging.cpp; Lightning utilities/rank_zero.py; Ray
python/ray/_private/ray_logging; MPICH hydra -prepend-rank; Horovod.
"""

from __future__ import annotations

from logdoctor.parsers.record import Wrapper
from logdoctor.parsers.shapes import WORD

_LABELLED = ("task", "rank")
_STD = r"<(?:stdout|stderr|stddiag)>:(?: (?=(?:  )*(?! )))?"
"""Open MPI 5 puts a blank behind it, 4 does not: an odd number of blanks holds one that is not the message's."""
_ROLE = r"(?:default|trainer|worker|role|main|learner|actor)"
TORCH = (
    Wrapper("torch.logger", r"\[rank(?P<rank>\d{1,7})\]:(?=\[?[FEWIVCD]\d{0,4} )", "[", once=True),
    Wrapper("monarch", r"\[(?:-|(?P<rank>\d{1,7}))\](?=[FEWID]\d{4} \d\d:\d\d:\d\d)", "[", once=True),
    Wrapper("torch.rank", r"\[rank(?P<rank>\d{1,7})\](?:: ?| )", "["),
    Wrapper("torchrun.tee", rf"\[{_ROLE}(?P<local_rank>\d{{1,4}})\]:", "["),
    # A role without a name; numbers in brackets stand before much, so only a traceback's lines are taken for such.
    Wrapper("torchrun.bare", r'\[(?P<local_rank>\d{1,4})\]:(?=Traceback \(most recent|  File "| {4}\S)', "["),
    # What sites set as TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE: TorchX's on Meta's clusters, the manual's, HyperPod's.
    Wrapper("torchrun.bar", rf"\[(?:{_ROLE}|[\w.-]{{1,60}}/)(?P<rank>\d{{1,7}})\|(?P<local_rank>\d{{1,4}})\]:", "["),
    Wrapper("torchrun.colon", rf"\[{_ROLE}-(?P<local_rank>\d{{1,4}}):(?P<rank>\d{{1,7}})\]:", "["),
    Wrapper("torchrun.group", r"\[rank(?P<rank>\d{1,7})-group_rank\d{1,6}(?:-attempt\d{1,4})?\]:", "["),
    Wrapper("lightning.level", rf"(?P<level>{WORD}): (?=\[rank: \d)", "DIWEC", once=True),
    Wrapper("torchrun.host", r"\[(?P<host>[A-Za-z][\w.-]{0,254}):(?P<local_rank>\d{1,2})\]:", "["),
    Wrapper("lightning.child", r"\[rank: (?P<local_rank>\d{1,4})\] (?=Child process with PID )", "[", once=True),
    Wrapper(
        "rank.bracket",
        r"\[(?:[Gg]lobal[ _]?)?(?:rank|Rank|RANK)(?: ?[:=]? ?|_|-)(?P<rank>\d{1,7})(?:/(?!1\])\d{1,7})?\]"
        r"(?:[:,]? |:(?=\S)|$)",  # one of one is no rank: it is what processes say that do not know of each other
        "[",
        once=True,
        unless=("rank",),
    ),
    Wrapper(  # what simulation codes and scripts set before their own complaints
        "rank.words",
        r"(?:[Rr]ank|RANK|MPI [Rr]ank|[Pp]rocess(?:or)?|PE|Task) #?(?P<rank>\d{1,7}): ?"
        r"(?=ERROR\b|Error\b|FATAL\b|Fatal\b)",
        "RrMPT",
        once=True,
        unless=("rank",),
    ),
    Wrapper("composer", r"rank(?P<rank>\d{1,7})\[(?P<pid>\d{1,10})\]\[[\w-]{1,40}\]: ?", "r", once=True),
)

MILABENCH = (
    Wrapper(
        "milabench",
        r"[\w-]{1,80}\.(?:D?\d{1,4}|(?P<host>[A-Za-z][\w-]{0,100}))(?:\.nolog)? \[(?:stderr|stdout)\] ",
        once=True,
    ),
)

SLURM = (
    Wrapper(
        "srun.label",
        r" {0,5}(?P<task>\d{1,6}): (?!0x|/|std::|core::|Test (?:NCCL|CUDA|HIP|RCCL) failure )|"
        r"(?P<task2>\d{1,6}):(?=$|MPT[ :]|Program received signal|forrtl: |Backtrace for this error|"
        r"#\d{1,3} +0x|\tat )",
        " 0123456789",
        unless=_LABELLED,
    ),
    Wrapper("srun.het", r" {0,3}P(?P<tag>\d{1,3} +\d{1,6}): ?", " P"),
)

_SHELL_JOB = (  # what bash and zsh print of a job of theirs: ``[1]  + 4411 killed     python train.py``
    r" {0,4}[-+]? {0,4}\d{1,10} {1,4}(?:[Ss]egmentation|[Bb]us error|[Ii]llegal|[Aa]bort|[Kk]illed|[Tt]erminated"
    r"|[Ff]loating|[Hh]angup|[Tt]race|[Dd]one\b|[Ee]xit \d|[Rr]unning|[Ss]topped|suspended|CPU time|cpu limit"
    r"|[Ff]ile size|[Uu]ser.defined)"
)

MPI = (
    Wrapper(
        "mpirun.tag",
        r"\[\d{1,10},(?P<task>\d{1,7})\](?:\[(?P<host>[\w.-]{1,255}):(?P<pid>\d{1,10})\])?" + _STD,
        "[",
    ),
    Wrapper("prterun.tag", r"\[(?:prterun|prte|mpirun|orterun)[\w.-]{1,255}@\d{1,10},(?P<task>\d{1,7})\]" + _STD, "["),
    Wrapper("mpirun.rank", r"\[(?P<task>\d{1,7})\]" + _STD, "["),
    Wrapper("sagemaker.tag", r"\[\d{1,10},mpirank:(?P<rank>\d{1,7}),(?P<host>[\w.-]{1,255})\]" + _STD, "["),
    Wrapper(
        "hydra.rank",
        r"\[(?P<task>\d{1,6})\] "
        r"(?!\d|MPI |NCCL |Got |is |[-+/(]|0x|done\b|Running|Stopped|Killed|Terminated|Aborted|Exit"
        r"|Segmentation|Tesla|NVIDIA|mlx5|(?:on [\w.-]+|terminated|fatal error|application aborted"
        r"|process exited without calling \w+|job terminated by the user)$)"  # mpiexec of Microsoft MPI, of a rank
        rf"(?!{_SHELL_JOB})"
        r"|\[(?P<task2>\d{1,6})\](?: (?=--> FOAM )|(?=PETSC ERROR|terminate called|Traceback |Fatal error|Abort\(|$))",
        "[",
        unless=(*_LABELLED, "level"),  # behind a level it is the process or thread of a logger
    ),
)

ACTORS = (
    Wrapper("vllm.worker", r"\((?P<tag>VllmWorker(?:Process)?) rank=(?P<rank>\d{1,6}) pid=(?P<pid>\d{1,10})\) ", "("),
    Wrapper(  # the place among the tensor-parallel workers is the rank at the start of all other dimensions
        "vllm.tensor",
        r"\((?P<tag>(?:Vllm)?Worker(?:[_ ](?:DP|PP|PCP)0)*[_ ]TP(?P<rank>\d{1,6})(?:[_ ](?:DCP|EP)\d{1,6})*)"
        r" pid=(?P<pid>\d{1,10})\) ",
        "(",
    ),
    Wrapper(  # SkyPilot, with Ray and without; the rank that it tells is the node's
        "skypilot",
        r"\((?P<tag>head|worker\d{1,6}), rank=\d{1,7}(?:, pid=(?P<pid>\d{1,10}))?(?:, ip=(?P<host>[\w.:-]{1,80}))?\) ",
        "(",
    ),
    Wrapper(
        "ray.actor",
        r"\((?P<tag>[A-Za-z_][^\n]{0,80}?)? ?pid=(?:(?P<pid>\d{1,10})|\w{1,40})(?:, ip=(?P<host>[\w.:-]{1,80}))?"
        r"(?:, [^\n()]{0,80})?\) ?",
        "(",
    ),
    Wrapper(
        "ray.daemon",
        r"\((?P<tag>raylet|autoscaler|gcs_server|scheduler|dashboard|driver|monitor)(?: [+\dhms.]{1,16})?"
        r"(?:, ip=(?P<host>[\w.:-]{1,80}))?\) ",
        "(",
    ),
    Wrapper(  # torch_xla's xla_dist, behind its stamp: the address and the number of the TPU host
        "xla.dist", r"(?P<host>\d{1,3}(?:\.\d{1,3}){3}) \[(?P<tag>\d{1,5})\](?: |$)", "0123456789", once=True
    ),
    Wrapper("stream", r"\[(?:stdout|stderr)\]:? ?", "["),
)

WRAPPERS: tuple[Wrapper, ...] = (*TORCH, *MILABENCH, *SLURM, *MPI, *ACTORS)
