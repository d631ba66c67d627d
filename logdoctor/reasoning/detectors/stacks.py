"""The ledger of stacks: which process stands elsewhere when all processes were asked where they are.

Derived event (dialect ``ledger``; it stands on the odd process's own dump):

- ``ledger.odd_stack``  few processes (mostly one) stand elsewhere than the others, which wait: odd, odd_hosts,
  odd_pids, function, others_function, others (how many), others_at (comm or gpu), at: ``comm`` (it waits too, in
  another call), ``gpu`` (for its GPU), or the work it does (data, save, load, eval, compile, file, work)
- ``ledger.same_stack``  all processes wait in the same call: function, count, at (comm or gpu)

Only the latest dump of each process counts.  Processes that are no ranks (data-loading workers, launchers, compilers'
helpers) are left out: they wait by nature.  Stacks are compared without what changes from moment to moment: what is
called below a communication call, and the C library's waiting below anything else.
"""

from __future__ import annotations

from collections.abc import Collection

import regex
from msgspec import Struct, field

from logdoctor.model import Line, Record, Value
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derived
from logdoctor.reasoning.job_state import JobState

ABORT = 6
"""A process that its own watchdog ends prints where it stood; other signals are its own."""
FEWEST = 3
"""Of two stacks that differ nobody can tell which one is odd, unless one waits and the other is at work with a name."""
MOST_ODD = 4
"""At most one in so many processes is odd (one always may be)."""
MAX_PROCESSES = 4096
MAX_NAMED = 16
_NO_RANK = later(
    r"_worker_loop|forkserver|resource_tracker|torch/distributed/(?:launch|run|elastic|launcher)|elastic/(?:agent|multi)"
    r"|launcher/api\.py|agent/server|compile_worker|wandb/(?:sdk|service)|ray/_private|run_forever"
    r"|prted?_|orted_|hydra_|HYD_|accelerate/commands|deepspeed/launcher|pin_memory\.py"
)
_COMM = later(
    r"distributed_c10d\.py:|distributed/nn/functional|dist(?:ributed)?/comm|comm/(?:comm|torch)\.py|wait_for_everyone"
    r"|(?:^|[ :>])(?:P?MPI_[A-Z]\w+|p?nccl(?:All|Reduce|Broadcast|Send|Recv|Group|Comm)\w*|hvd\w*|horovod_\w+)"
    r"|horovod/\w+/mpi_ops|c10d::|gloo::|mpi4py|:(?:barrier|monitored_barrier|all_?reduce\w*|all_?gather\w*|broadcast\w*"
    r"|reduce_scatter\w*|all_to_all\w*)$|mca_(?:pml|coll)_|ompi_coll_|UCC_|ucc_collective|shmem_barrier|sync_global_devices"
)
_GPU = later(
    r"cuda/(?:__init__|streams)\.py:synchronize|:synchronize$|(?:^|[ :>])cu(?:da)?(?:Stream|Event|Device|Ctx)Sync\w*"
    r"|autograd/(?:__init__|graph)\.py:|_engine_run_backward|:run_backward|:item$|_local_scalar_dense"
)
_WAITS = later(
    r"(?:^|:)(?:_{0,2}(?:GI_+)?(?:e?poll\w*|select|futex\w*|nanosleep|clock_nanosleep|sched_yield|pthread_cond_\w+"
    r"|syscall|read|recv\w*)|wait|_wait\w*|acquire|sleep|clone\d?|start_thread)$|^(?:__futex|__pthread|do_futex|lll_lock)"
)
PAIRWISE = later(r"(?i)send|recv|p2p|probe")
_WORK = (
    ("data", later(r"dataloader|dataset|data/|_data\b|sampler|tokeniz|collate|webdataset|prefetch")),
    ("save", later(r"(?i)sav(?:e|ing)|state_dict|checkpoint|serialization")),
    ("load", later(r"(?i)load_checkpoint|load_state|from_pretrained|safetensors|torch/serialization\.py:_?load")),
    ("eval", later(r"(?i)evaluat|validat|predict|generate")),
    ("compile", later(r"(?i)_dynamo|_inductor|triton/|cpp_extension|compile|ninja")),
    (
        "file",
        later(
            r"(?:^|:)_{0,2}(?:libc_|GI_+|libc_GI_+)?(?:open(?:at)?|p?read|p?write|l?f?stat(?:at)?|f(?:data)?sync|flock)(?:64)?(?:_nocancel)?$"
        ),
    ),
)
_NAMED_WORK = frozenset(kind for kind, _ in _WORK)
_NOISE = later(
    r"\[clone [^\]]*\]|@@?[\w.]+|\.(?:cold|isra|part|constprop)(?:\.\d+)*|<[^<>]*>|\(.*|0x[0-9a-f]+| \+ \d+$"
)


class Stand(Struct, frozen=True):
    """Where a process stands: the dump, the stack that counts (outermost first), the call to name, and what it is."""

    record: Record
    stack: tuple[str, ...]
    call: str
    at: str


class Detector(Struct):
    """Keeps the latest stack of each process; `derive` tells who stands elsewhere."""

    latest: dict[tuple[str, str | int], Record] = field(default_factory=dict)

    def observe(self, record: Record) -> None:
        """Take one event in."""
        if "stack" not in record.signs or (record.kind == "python.fatal" and record.fields.get("signal") != ABORT):
            return
        who = _who(record)
        if who is not None and record.fields.get("frames") and (who in self.latest or len(self.latest) < MAX_PROCESSES):
            self.latest[who] = record

    def derive(self, state: JobState) -> list[Record]:
        """The events that follow from all that was observed."""
        by_rank: dict[object, Stand] = {}
        for who, record in self.latest.items():
            stand = stand_of(record)
            if stand is not None:
                rank = state.places.rank_of(record)
                by_rank[who if rank is None else rank] = stand
        stands = sorted(by_rank.values(), key=lambda s: s.record.order)
        odd, others = _split(stands) if stands else ([], [])
        if len(stands) < FEWEST and not (odd and others and odd[0].at in _NAMED_WORK):
            return []
        if odd:
            return _odd(odd, others, state)
        return [_same(others)] if others else []


def _who(record: Record) -> tuple[str, str | int] | None:
    """The process that a dump is of: its rank, or its number on its host, or its main thread's address."""
    if record.rank is not None:
        return "rank", record.rank
    if record.pid is not None:
        return record.host or "", record.pid
    thread = record.fields.get("thread_id")
    if isinstance(thread, str):
        return f"{record.host or ''} {record.source.tag or ''} {record.source.local_rank}", thread
    return None


def _frames(record: Record) -> list[str]:
    """The functions of a dump, outermost first, without what differs between builds and moments."""
    given = record.fields.get("frames", "")
    names = given.split(" > ") if isinstance(given, str) else [str(name) for name in reversed(_tuple(given))]
    return [short for name in names if (short := _NOISE.sub("", name).strip())]


def _tuple(value: Value) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def stand_of(record: Record) -> Stand | None:
    """Where the process of a dump stands; None if it is no rank, or its stack tells nothing."""
    frames = _frames(record)
    if not frames or _NO_RANK.search(" > ".join(frames)):
        return None
    for at, pattern in (("comm", _COMM), ("gpu", _GPU)):
        place = _first(pattern, frames)
        if place is not None:
            return Stand(record, tuple(frames[: place + 1]), frames[place], at)
    while frames and _WAITS.search(frames[-1]):
        frames.pop()
    return Stand(record, tuple(frames), frames[-1], _work(frames)) if frames else None


def _first(pattern: regex.Pattern[str], frames: list[str]) -> int | None:
    return next((i for i, name in enumerate(frames) if pattern.search(name)), None)


def _work(frames: list[str]) -> str:
    """What the innermost frames do; ``work`` where they do not tell."""
    for name in reversed(frames):
        kind = next((kind for kind, pattern in _WORK if pattern.search(name)), "")
        if kind:
            return kind
    return "work"


def _split(stands: list[Stand]) -> tuple[list[Stand], list[Stand]]:
    """The odd ones and the others; the odd ones are empty if nobody is clearly odd, both if nothing is clear."""
    few = max(1, len(stands) // MOST_ODD)
    waiting = [s for s in stands if s.at in ("comm", "gpu")]
    working = [s for s in stands if s.at not in ("comm", "gpu")]
    if working:
        return (working, waiting) if len(working) <= few else ([], [])
    groups: dict[tuple[str, ...], list[Stand]] = {}
    for stand in waiting:
        groups.setdefault(stand.stack, []).append(stand)
    most = max(groups.values(), key=len)
    odd = [s for s in waiting if s.stack != most[0].stack]
    if not odd:
        return [], most
    if len(odd) > 1 or most[0].at != "comm" or any(PAIRWISE.search(s.call) for s in (*odd, *most)):
        return [], []  # stages of a pipeline, or groups of their own, stand in different calls without a fault
    return odd, most


def _odd(odd: list[Stand], others: list[Stand], state: JobState) -> list[Record]:
    """On the odd one's line, and, to compare, on a line of one of the others below it."""
    first, other = odd[0], _commonest(others)
    call, other_call = first.call, other.call
    if first.at == other.at and call == other_call:
        call, other_call = _where_they_part(first, other)
    fields: dict[str, Value] = {
        "at": first.at,
        "function": call,
        "others_function": other_call,
        "others_at": other.at,
        "others": len(others),
        "odd": tuple(sorted({r for s in odd if (r := state.places.rank_of(s.record)) is not None})[:MAX_NAMED]),
        "odd_hosts": _sorted(state.places.host_of(s.record) for s in odd),
        "odd_pids": tuple(sorted({p for s in odd if (p := s.record.pid) is not None})[:MAX_NAMED]),
    }
    below = [s for s in others if s.stack == other.stack and s.record.order > first.record.order]
    return [_derived("odd_stack", stand, fields) for stand in (first, *below[:1])]


def _sorted(names: object) -> tuple[str, ...]:
    return tuple(sorted({str(n) for n in names if n})[:MAX_NAMED])  # type: ignore[attr-defined]


def _commonest(stands: Collection[Stand]) -> Stand:
    counts: dict[tuple[str, ...], int] = {}
    for stand in stands:
        counts[stand.stack] = counts.get(stand.stack, 0) + 1
    return max(stands, key=lambda s: (counts[s.stack], -s.record.order))


def _where_they_part(a: Stand, b: Stand) -> tuple[str, str]:
    """The same call, reached on different ways: the first functions that differ, and the call."""
    pair = next(((x, y) for x, y in zip(a.stack, b.stack, strict=False) if x != y), (a.call, b.call))
    return f"{a.call} (from {pair[0]})", f"{b.call} (from {pair[1]})"


def _same(stands: list[Stand]) -> Record:
    first = stands[0]
    return _derived("same_stack", first, {"at": first.at, "function": first.call, "count": len(stands)})


def _derived(kind: str, stand: Stand, fields: dict[str, Value]) -> Record:
    return derived(kind, stand.record, fields, line=_line(stand))


def _line(stand: Stand) -> Line:
    """The line of the dump that shows the call, if it was kept; else the dump's first."""
    path, _, function = stand.call.rpartition(":")
    wanted = (function, path.rpartition("/")[2])
    return next((line for line in stand.record.lines if all(part in line.text for part in wanted)), stand.record.line)
