"""Advice on data to collect if the cause is unknown."""

from __future__ import annotations

from collections.abc import Mapping

from logdoctor.model import Record, Value
from logdoctor.pack.regexes import later
from logdoctor.reasoning.job_state import JobState

ADVICE: dict[str, dict[str, str]] = {
    "nccl": {
        "en": "Run once more with NCCL_DEBUG=INFO and NCCL_DEBUG_FILE=nccl.%h.%p.log on every rank: the line above the "
        "failing one names the system call.",
        "zh": "在每个 rank 上设置 NCCL_DEBUG=INFO 和 NCCL_DEBUG_FILE=nccl.%h.%p.log 再运行一次：失败行之前的那一行会指出出错的系统调用。",
    },
    "c10d": {
        "en": "Collect the logs of ALL ranks, and set TORCH_NCCL_TRACE_BUFFER_SIZE=2000 and TORCH_NCCL_DUMP_ON_TIMEOUT=1: "
        "the rank that is missing from the collective is rarely the one that reports.",
        "zh": "收集所有 rank 的日志，并设置 TORCH_NCCL_TRACE_BUFFER_SIZE=2000 与 TORCH_NCCL_DUMP_ON_TIMEOUT=1：缺席集合通信的 rank 往往不是报错的那个。",
    },
    "elastic": {
        "en": "Collect each worker's own output (torchrun --redirects 3 --tee 3 --log-dir DIR): the agent only saw it end.",
        "zh": "收集每个 worker 自己的输出（torchrun --redirects 3 --tee 3 --log-dir DIR）：agent 只看到它退出。",
    },
    "slurm": {
        "en": "Ask the scheduler: sacct -j JOBID --format=JobID,State,ExitCode,DerivedExitCode,MaxRSS,NodeList.",
        "zh": "向调度器查询：sacct -j JOBID --format=JobID,State,ExitCode,DerivedExitCode,MaxRSS,NodeList。",
    },
    "openmpi": {
        "en": "Run once more with --mca btl_base_verbose 30 --mca oob_base_verbose 10 --tag-output to see who talks to whom.",
        "zh": "用 --mca btl_base_verbose 30 --mca oob_base_verbose 10 --tag-output 再运行一次，查看谁在与谁通信。",
    },
    "mpich": {
        "en": "Run once more with HYDRA_DEBUG=1 (Intel MPI: I_MPI_DEBUG=10) and -prepend-rank.",
        "zh": "用 HYDRA_DEBUG=1（Intel MPI：I_MPI_DEBUG=10）和 -prepend-rank 再运行一次。",
    },
}
ALWAYS: dict[str, dict[str, str]] = {
    "kernel": {
        "en": "Add the kernel log of the hosts at that time (dmesg -T or journalctl -k): Xid, OOM killer and link lines.",
        "zh": "附上相关主机在该时间的内核日志（dmesg -T 或 journalctl -k）：查看 Xid、OOM killer 和链路相关行。",
    },
    "stacks": {
        "en": "If it stands still, take stacks of all ranks: py-spy dump --pid PID, and compare which rank differs.",
        "zh": "如果作业停住不动，请抓取所有 rank 的调用栈：py-spy dump --pid PID，并比较哪个 rank 与众不同。",
    },
}
GIVEN: dict[str, str] = {
    "nccl": r"kind nccl\.(?:comm_init|bootstrap|interfaces|channel\w*)|setting NCCL_DEBUG=(?:INFO|TRACE)",
    "c10d": r"setting TORCH_(?:NCCL_TRACE|FR)_BUFFER_SIZE=[1-9]",
    "slurm": r"kind slurm\.job_state",
    "openmpi": r"setting OMPI_MCA_btl_base_verbose=[1-9]",
    "mpich": r"setting (?:HYDRA_DEBUG=1|I_MPI_DEBUG=(?:[5-9]|\d\d))",
    "kernel": r"kind kernel\.",
    "stacks": r"kind \w+\.(?:stack|gdb|backtrace)$",
}
"""What shows that the data of an advice is among the inputs: a kind of record, or a setting."""


DIED, NOTICED, FAILED = (
    {
        "en": "Begin with the output of {process}: of all whose end these logs tell, it ended first{how}.",
        "zh": "先看 {process} 的输出：在这些日志说明其结束的进程中，它最先结束{how}。",
    },
    {
        "en": "Begin with the output of {process}: it is the first whose end its launcher noticed{how}.",
        "zh": "先看 {process} 的输出：它是启动器最先发现其结束的进程{how}。",
    },
    {
        "en": "Begin with the output of {process}: the first failure that these logs show is its own.",
        "zh": "先看 {process} 的输出：这些日志显示的第一个错误来自它。",
    },
)
_A_PROCESS = {"en": "the process", "zh": "那个进程"}
_ON = {"en": "{process} on {host}", "zh": "{host} 上的 {process}"}


def advise(state: JobState, first_failure: Record | None, lang: str) -> tuple[str, ...]:
    """Return the advice, most useful first.

    It begins with the process whose output to read first, if the logs name it. The rest fits the formats of the log.
    """
    asked = {name: words for name, words in ADVICE.items() if name in state.formats} | ALWAYS
    left = (words.get(lang, words["en"]) for name, words in asked.items() if not _is_given(name, state))
    return (*_begin_with(state, first_failure, lang), *left)


def _is_given(name: str, state: JobState) -> bool:
    """Return whether the data that an advice asks for is among the inputs."""
    given = GIVEN.get(name)
    if given is None:
        return False
    facts = (*(f"kind {kind}" for kind in state.kinds), *(f"setting {n}={v}" for n, v in state.environment))
    return any(later(given).match(fact) for fact in facts)


def _begin_with(state: JobState, first_failure: Record | None, lang: str) -> list[str]:
    """Return which output to read first.

    Candidates in order: the process that surely ended first, the process that a launcher names, the rank of the first
    failure.
    """
    if (died := state.named_ends.first_death) is not None:
        how = "" if died.fields.keys().isdisjoint(("signal", "exit_code", "exception")) else died.fields["how"]
        return [_fill(DIED, died.fields.get("rank"), died.fields.get("host"), how, lang)]
    if first_failure is None:
        return []
    named = state.named_ends.ends_in_attempt_of(first_failure)
    for words, record in [*((NOTICED, end) for end in named[:1]), (FAILED, first_failure)]:
        if (rank := state.places.rank_of(record)) is not None:
            return [_fill(words, rank, state.places.host_of(record), "", lang)]
    return []


def _fill(words: Mapping[str, str], rank: Value | None, host: Value | None, how: Value, lang: str) -> str:
    """Return the advice with the name of the process.

    The name is ``rank 3 on node-b``, or ``the process`` without a rank.
    """
    process = f"rank {rank}" if rank is not None else _A_PROCESS.get(lang, _A_PROCESS["en"])
    name = _ON.get(lang, _ON["en"]).format(process=process, host=host) if host else process
    return words.get(lang, words["en"]).format(process=name, how=f" ({how})" if how else "")
