r"""Wrong use of PyTorch's distributed package: barriers, mismatches, DDP.

Kinds and their fields:

- ``c10d.monitored_barrier``   error; ranks (those that are missing), timeout_ms, from_rank, keeper (who counts)
- ``c10d.barrier_device``      warning, harmless: the device of a barrier is guessed
- ``c10d.mismatch``            error; group_rank, op, other_rank, other_op, aspects (text after "following aspects")
- ``c10d.ddp_unused``          error; rank where printed, parameters; parameters took no part in the loss
- ``c10d.ddp_twice``           error; a parameter was marked ready twice
- ``c10d.ddp_mismatch``        error; the models of two ranks differ: group_rank, other_rank
- ``c10d.ddp_uneven``          error; a rank ran out of inputs
- ``c10d.ddp_advice``          warning, harmless
- ``c10d.misuse``              error; the process group is used wrongly; the text says how
- ``c10d.deprecated``          info

Sources: PyTorch 1.8 to 2.15: torch/csrc/distributed/c10d (ProcessGroupGloo.cpp, ProcessGroupWrapper.cpp, reducer.cpp,
ProcessGroupNCCL.cpp), torch/nn/parallel/distributed.py, torch/distributed/distributed_c10d.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex

from logdoctor.logs.multiline.c10d_lines import group_record, rejoin_lines
from logdoctor.logs.record_pattern import LifecycleSigns, Message, Multiline, RecordPattern
from logdoctor.model import Value
from logdoctor.pack.regexes import compiled

_RUNNING = r"is running (?:inconsistent )?collective: CollectiveFingerPrint\((?:SequenceNumber=\d+, )?OpType="
_MISMATCH = (
    rf"Detected mismatch between collectives on ranks\.? ?(?:Rank (?P<group_rank>\d+) {_RUNNING}(?P<op>\w+)"
    rf"(?:[^\n]*?but Rank (?P<other_rank>\d+) {_RUNNING}(?P<other_op>\w+)"
    r"(?:[^\n]*?following aspects: (?P<aspects>[^\n]+))?)?)?"
)
_WORDS_OF_MISUSE = (
    r"Default process group has not been initialized",
    r"trying to initialize the default process group twice",
    r"Invalid process group specified",
    r"The given group is not registered|Group (?:\S+|<[^>\n]{1,160}>) is not registered",
    r"ProcessGroup\w* is only supported with",
    r"Tensors? (?:must be|found on device|list must)[^\n]{0,40}(?:contiguous|CUDA|dense|overlap|same )",
    r"No backend type associated with device type",
    r"Backend \w+ does not support \w+",
    r"ProcessGroup\w* does not support",
    r"Distributed package doesn't have \w+ built in",
    r"Process group (?:has been|was) (?:aborted|destroyed|shut ?down)",
    r"watchdog thread is not running",
)
_MISUSE = "|".join(_WORDS_OF_MISUSE)


def _with_ranks(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Return the missing ranks as numbers, and the exception if it follows."""
    listed = compiled(r"\d+").findall(str(fields.get("missing", "")))
    more: dict[str, Value] = {"ranks": tuple(int(rank) for rank in listed[:4096])} if listed else {}
    lines, taken = [head.text], list[int]()
    for message in below:
        if not compiled(r"\s*(?:Original exception|Rank \d+ |\[\S*gloo/)").match(message.text) or len(taken) > 4:
            break
        lines.append(message.text)
        taken.append(message.below)
    return Multiline("\n".join(lines), more, tuple(taken))


def _with_advice(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the lines of DDP's explanation. The last line lists the parameters."""
    lines, taken, parameters = [head.text], list[int](), ""
    for message in below:
        if not regex.match(
            r"\s*(?:Parameter|making sure all|If you already|find_unused|In addition|Since|Please include|the loss|"
            r"function\.|the outputs?|You can|This error|by\b|return value)",
            message.text,
        ):
            break
        lines.append(message.text)
        taken.append(message.below)
    text = "\n".join(lines)
    if match := compiled(r"did not receive grad for rank \d+: (?P<parameters>[^\n]+)").search(text):
        parameters = match["parameters"].strip()[:500]
    rank = compiled(r"did not receive grad for rank (\d+)").search(text)
    more: dict[str, Value] = {"parameters": parameters} if parameters else {}
    if rank:
        more["rank"] = int(rank[1])
    return Multiline(text, more, tuple(taken))


RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "c10d.monitored_barrier",
        r"(?:\[Rank (?P<from_rank>\d+)\]: )?Ranks? (?P<missing>\d[\d, ]{0,8000}?) failed to pass monitoredBarrier in "
        r"(?P<timeout_ms>\d+) ?ms",
        "error",
        _with_ranks,
        "Some ranks did not come to a barrier in time.",
        6,
        scan="failed to pass monitoredBarrier in ",
    ),
    RecordPattern(
        "c10d.monitored_barrier",
        r"(?:Rank (?P<from_rank>\d+) successfully reached monitoredBarrier, but received errors while waiting for \S+ "
        r"from rank (?P<keeper>\d+)|Rank (?P<timed_out>\d+) timed out in monitoredBarrier after "
        r"(?P<timeout_ms>\d+) ?ms)",
        "error",
        _with_ranks,
        "Some ranks did not come to a barrier in time.",
        5,
        scan="(?:successfully reached monitoredBarrier, but received|timed out in monitoredBarrier after)",
    ),
    group_record(
        "c10d.barrier_device",
        r"(?:using (?:best-guess )?GPU \d+ to perform barrier as devices used by this process are currently unknown"
        r"|No device id is provided via `init_process_group|Guessing device ID based on global rank)",
        "warning",
        "PyTorch guesses which GPU belongs to this rank; harmless where the guess is right.",
        scan="(?:to perform barrier as devices used by this process|No device id is provided via `init_process_group"
        "|Guessing device ID based on global rank)",
        priority=4,
    ),
    RecordPattern(
        "c10d.mismatch",
        _MISMATCH,
        "error",
        rejoin_lines(_MISMATCH, "other_op"),
        "Two ranks called different collectives, or the same with other shapes.",
        6,
        scan="Detected mismatch between collectives on ranks",
    ),
    RecordPattern(
        "c10d.mismatch",
        r"Error when verifying shape tensors for collective (?P<op>\w+) on rank (?P<group_rank>\d+)",
        "error",
        note="Two ranks called a collective with different shapes.",
        priority=6,
        scan="Error when verifying shape tensors for collective ",
    ),
    RecordPattern(
        "c10d.ddp_unused",
        r"Expected to have finished reduction in the prior iteration before starting a new one",
        "error",
        _with_advice,
        "DDP waited for gradients of parameters that took no part in the loss.",
        6,
    ),
    RecordPattern(
        "c10d.ddp_unused",
        r"Parameter(?:s which did| indices which did) not receive grad for rank (?P<rank>\d+): "
        r"(?P<parameters>[^\n]{0,500})",
        "error",
        note="DDP lists parameters that took no part in the loss.",
        priority=4,
        scan=r"which did not receive grad for rank \d",
    ),
    RecordPattern(
        "c10d.ddp_twice",
        r"Expected to mark a variable ready only once",
        "error",
        _with_advice,
        "A parameter of a DDP model was used twice in one backward pass.",
        6,
    ),
    RecordPattern(
        "c10d.ddp_mismatch",
        r"(?:DDP expects same model across all ranks, but Rank (?P<group_rank>\d+) has [^\n]*?(?:rank|"
        r"Rank) (?P<other_rank>\d+) has|params\[\d+\] in (?:this process|rank \d+) with (?:sizes|"
        r"strides) [^\n]{0,300}? appears not to match|model parameters? (?:shape|number)[^\n]{0,60}differs? (?:across|"
        r"between) (?:ranks|processes))",
        "error",
        note="The model is not the same on all ranks.",
        priority=6,
        scan=r"(?:DDP expects same model across all ranks|params\[\d+\] in [^\n]{3,400} appears not to match|"
        r"model param[^\n]{3,90}"
        "differs? (?:across|between) (?:ranks|processes))",
    ),
    RecordPattern(
        "c10d.ddp_uneven",
        r"Rank (?P<rank>\d+) exhausted all inputs|Detected at least one rank that exhausted inputs",
        "error",
        note="A rank had fewer batches than the others.",
        priority=5,
        scan="exhausted (?:all )?inputs",
    ),
    RecordPattern(
        "c10d.ddp_advice",
        r"(?:find_unused_parameters=True was specified in DDP constructor, but did not find any unused"
        r"|Grad strides do not match bucket view strides"
        r"|You passed find_unused_parameters=true to DistributedDataParallel)",
        "warning",
        note="Advice from DDP; harmless.",
        priority=4,
        scan="(?:find_unused_parameters=True was specified in DDP|Grad strides do not match bucket view"
        "|You passed find_unused_parameters=true to Distr)",
    ),
    group_record(
        "c10d.misuse",
        f"(?:{_MISUSE})",
        "error",
        "The process group was called in a way that it does not allow.",
        scan=f"(?:{_MISUSE})",
        priority=2,
    ),
    RecordPattern(
        "c10d.deprecated",
        r"(?:NCCL_(?:BLOCKING_WAIT|ASYNC_ERROR_HANDLING|DESYNC_DEBUG|ENABLE_TIMING)|TORCH_NCCL_\w+) is deprecated",
        "info",
        note="A variable of PyTorch has a new name.",
        priority=5,
        scan=r"NCCL_\w{5,30} is deprecated",
    ),
)

SIGNS: LifecycleSigns = {
    "c10d.monitored_barrier": ("timed out",),
}
