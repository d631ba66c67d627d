"""What to collect next when the log does not hold the cause."""

from __future__ import annotations

from collections.abc import Iterable

from logdoctor.model import Event
from logdoctor.reasoning.picture import Picture

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
ALWAYS = {
    "en": (
        "Add the kernel log of the hosts at that time (dmesg -T or journalctl -k): Xid, OOM killer and link lines.",
        "If it stands still, take stacks of all ranks: py-spy dump --pid PID, and compare which rank differs.",
    ),
    "zh": (
        "附上相关主机在该时间的内核日志（dmesg -T 或 journalctl -k）：查看 Xid、OOM killer 和链路相关行。",
        "如果作业停住不动，请抓取所有 rank 的调用栈：py-spy dump --pid PID，并比较哪个 rank 与众不同。",
    ),
}


FIRST = {
    "en": "Begin with the output of {who}: of all whose end these logs tell, it ended first{how}.",
    "zh": "先看 {who} 的输出：在这些日志说明其结束的进程中，它最先结束{how}。",
}
_A_PROCESS = {"en": "the process", "zh": "那个进程"}
_ON = {"en": "{who} on {host}", "zh": "{host} 上的 {who}"}


def advise(picture: Picture, derived: Iterable[Event], lang: str) -> tuple[str, ...]:
    """What to collect, in the order of use, for the programs that took part; ``derived``: what the ledgers tell."""
    deaths = [_begin_with(event, lang) for event in derived if event.kind == "ledger.first_death"]
    fitting = [words.get(lang, words["en"]) for dialect, words in ADVICE.items() if dialect in picture.dialects]
    return (*deaths[:1], *fitting, *ALWAYS.get(lang, ALWAYS["en"]))


def _begin_with(death: Event, lang: str) -> str:
    rank, host = death.fields.get("rank"), death.fields.get("host")
    who = f"rank {rank}" if rank is not None else _A_PROCESS.get(lang, _A_PROCESS["en"])
    place = _ON.get(lang, _ON["en"]).format(who=who, host=host) if host else who
    how = "" if death.fields.keys().isdisjoint(("signal", "exit_code", "exception")) else f" ({death.fields['how']})"
    return FIRST.get(lang, FIRST["en"]).format(who=place, how=how)
