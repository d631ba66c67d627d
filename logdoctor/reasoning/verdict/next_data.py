"""Data to collect if the cause or the end is not known."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.model import Record, Value
from logdoctor.model.catalogue import Catalogue
from logdoctor.pack.regexes import later
from logdoctor.reasoning.job_state import JobState

EXCERPT = 12
"""Lines of a log that is an excerpt, as people paste it."""
DEVICE_FORMATS = frozenset({"nccl", "c10d", "cuda", "kernel", "gpu"})
FORMATS = ("nccl", "c10d", "elastic", "openmpi", "mpich", "kubernetes")
"""Formats with data of their own to collect, by the keys of the words."""
GIVEN: dict[str, str] = {
    "nccl": r"kind nccl\.(?:comm_init|bootstrap|interfaces|channel\w*)|setting NCCL_DEBUG=(?:INFO|TRACE)",
    "c10d": r"setting TORCH_(?:NCCL_TRACE|FR)_BUFFER_SIZE=[1-9]",
    "slurm": r"kind slurm\.job_state",
    "openmpi": r"setting OMPI_MCA_btl_base_verbose=[1-9]",
    "mpich": r"setting (?:HYDRA_DEBUG=1|I_MPI_DEBUG=(?:[5-9]|\d\d))",
    "kernel": r"kind kernel\.",
    "stacks": r"kind \w+\.(?:stack|gdb|backtrace)$",
}
"""Sign that the data of an advice is among the inputs: a kind of record, or a setting."""
SEARCHED = 1000
"""Characters of a failure that are searched."""


def collect_for_cause(state: JobState, first_failure: Record | None, words: Catalogue) -> tuple[str, ...]:
    """Return what to collect if the cause is not known, most useful first.

    It begins with the process whose output to read first, if the logs name it. The rest fits the formats of the log.
    """
    fitting = [words(f"collect.{name}") for name in FORMATS if name in state.formats and not is_given(name, state)]
    told = first_failure.text[:SEARCHED].lower() if first_failure and not is_given("nccl", state) else ""
    is_of_nccl = "nccl" in told  # a library passes the error on, and NCCL says only on demand what failed in it
    if is_of_nccl:
        fitting = [words("collect.nccl-error"), *([words("collect.nccl-usual")] if "system" in told else [])]
    scheduler = [] if is_given("slurm", state) else _ask_scheduler(state, words)
    machine = [words(f"collect.{name}") for name in _of_machine(state, first_failure) if not is_given(name, state)]
    output = _begin_with(state, first_failure, words) or _whole_output(state, words)
    first = (*fitting, *output) if is_of_nccl else (*output, *fitting)
    return (*first, *scheduler, *machine)


def _whole_output(state: JobState, words: Catalogue) -> list[str]:
    """Return the demand for the whole log if there is only an excerpt, which shows no steps and no start."""
    lines = sum(state.lives.line_counts.values())
    return [words("collect.whole")] if 0 < lines <= EXCERPT and state.steps.first is None else []


def _of_machine(state: JobState, first_failure: Record | None) -> Iterator[str]:
    """Yield what to ask of the machines: their kernels if something died or a device is in play, stacks if all is still."""
    told = first_failure is not None and first_failure.fields.get("signal") is None
    devices = not DEVICE_FORMATS.isdisjoint(state.formats)
    if state.named_ends.first_death or devices or not told:
        yield "kernel"
    if not state.named_ends.first_death and not told:
        yield "stacks"


def is_given(name: str, state: JobState) -> bool:
    """Return whether the data that an advice asks for is among the inputs."""
    given = GIVEN.get(name)
    if given is None:
        return False
    facts = (*(f"kind {kind}" for kind in state.lives.kinds), *(f"setting {n}={v}" for n, v in state.environment))
    return any(later(given).match(fact) for fact in facts)


def collect_for_end(state: JobState, words: Catalogue) -> tuple[str, ...]:
    """Return what to collect if no end is seen. The decision has the command for a job of which the id is known."""
    scheduler = [] if state.job_id else _ask_scheduler(state, words)
    return (*scheduler, words("collect.hung"), words("collect.end"))


def _ask_scheduler(state: JobState, words: Catalogue) -> list[str]:
    if "slurm" not in state.formats:
        return []
    return [words("collect.slurm.job", job=state.job_id) if state.job_id else words("collect.slurm")]


def _begin_with(state: JobState, first_failure: Record | None, words: Catalogue) -> list[str]:
    """Return which output to read first.

    Candidates in order: the process that surely ended first, the process that a launcher names, the rank of the first
    failure.
    """
    if (died := state.named_ends.first_death) is not None:
        how = None if died.fields.keys().isdisjoint(("signal", "exit_code", "exception")) else died.fields["how"]
        return [_fill("collect.died", died.fields.get("rank"), died.fields.get("host"), how, words)]
    if first_failure is None:
        return []
    named = state.named_ends.ends_in_attempt_of(first_failure)
    for key, record in [*(("collect.noticed", end) for end in named[:1]), ("collect.failed", first_failure)]:
        if (rank := state.processes.rank_of(record)) is not None:
            return [_fill(key, rank, state.processes.host_of(record), None, words)]
    return []


def _fill(key: str, rank: Value | None, host: Value | None, how: Value | None, words: Catalogue) -> str:
    """Return the sentence with the name of the process.

    The name is ``rank 3 on node-b``, or ``the process`` without a rank.
    """
    process = words("collect.rank", rank=rank) if rank is not None else words("collect.process")
    name = words("collect.on", process=process, host=host) if host else process
    return words(key, process=name, how=words("collect.how", how=how) if how else "")
