"""Processes whose stack differs from the stacks of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from logdoctor.model import Line, Record, Value
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.questions import asks, ranks_and_hosts
from logdoctor.reasoning.questions.waiting import UNKNOWN, Wait, Working, awaited
from logdoctor.reasoning.timeline import Timeline

SIGABRT = 6
"""Signal of a process that its watchdog aborts. Other signals are crashes, whose stack shows no wait."""
MIN_STACKS = 3
"""Of two different stacks either could be odd, unless one waits and the other has a named activity."""
MIN_STACKS_PER_ODD = 4
"""At most one in this many processes may be odd, but always one."""
MAX_LISTED = 16
_HELPER_PROCESS = later(
    r"_worker_loop|forkserver|resource_tracker|torch/distributed/(?:launch|run|elastic|launcher)|elastic/(?:agent|multi)"
    r"|launcher/api\.py|agent/server|compile_worker|wandb/(?:sdk|service)|ray/_private|run_forever"
    r"|prted?_|orted_|hydra_|HYD_|accelerate/commands|deepspeed/launcher|pin_memory\.py"
    r"|recv_requests|shm_broadcast\.py:(?:acquire_read|dequeue)|serve_forever"
)
"""Calls of processes that are no ranks, or that wait for the next request of a service."""
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
_WAITING_CALL = later(
    r"(?:^|:)(?:_{0,2}(?:GI_+)?(?:e?poll\w*|select|futex\w*|nanosleep|clock_nanosleep|sched_yield|pthread_cond_\w+"
    r"|syscall|read|recv\w*)|wait|_wait\w*|acquire|sleep|clone\d?|start_thread)$|^(?:__futex|__pthread|do_futex|lll_lock)"
)
PAIRWISE = later(r"(?i)send|recv|p2p|probe")
_ACTIVITIES = (
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
_NAMED_ACTIVITIES = frozenset(kind for kind, _ in _ACTIVITIES)
_VARIABLE_PARTS = later(
    r"\[clone [^\]]*\]|@@?[\w.]+|\.(?:cold|isra|part|constprop)(?:\.\d+)*|<[^<>]*>|\(.*|0x[0-9a-f]+| \+ \d+$"
)


Place = Wait | Working


@asks("tells stack")
def odd_stack(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield how the stacks of the processes differ, each on the stack dump of a process.

    - ``ledger.odd_stack``   few processes, mostly one, are elsewhere than the others, which wait: odd, odd_hosts,
      odd_pids, function, others_function, others (their number), others_at (comm or gpu), at. The field ``at`` is
      ``comm`` (waits in another call), ``gpu`` (waits for its GPU), data, save, load, eval, compile, file or work.
    - ``ledger.others_stack``  one of the others, if no dump of them stands below the odd one: the same fields
    - ``ledger.same_stack``  all processes wait in the same call: function, count, at (comm or gpu)
    - ``ledger.lone_wait``   the only stacks are of one or two processes that wait in a collective, and no step follows:
      function, alone (their number)
    - ``ledger.absent_stack``  all ranks but a few wait in the same collective, and no step follows: function, missing,
      missing_hosts, ranks (the waiting ones)

    Only the latest dump of each process counts. Processes that are no ranks are left out, because they always wait
    (data loader workers, launchers, helpers of compilers). Stacks are compared without the frames below a communication
    call, and without the C library's waiting calls elsewhere.
    """
    places = latest_places(t, state)
    odd, others = _split_odd(places) if places else ([], [])
    if len(places) < MIN_STACKS and not (odd and others and odd[0].what in _NAMED_ACTIVITIES):
        yield from _lone_waits(places, state)
        return
    if odd:
        yield from _odd_records(odd, others, state)
    elif others:
        first = others[0]
        yield _derive("same_stack", first, at=first.what, function=first.call, count=len(others))
        yield from _absent_records(others, state)


def latest_places(t: Timeline, state: JobState, *, of_each_file: bool = False) -> list[Place]:
    """Return where each process stands by its latest dump, or its latest one in each file, in reading order."""
    dumps = [e for e in t.of("tells stack") if not e.reports_own_end or e.fields.get("signal") == SIGABRT]
    latest = {
        (state.processes.process_of(e), _thread(e), e.line.file if of_each_file else ""): e
        for e in dumps
        if e.fields.get("frames")
    }
    found = (place for e in latest.values() if (place := place_of(e)) is not None)
    return sorted(found, key=lambda p: p.record.order)


def _thread(record: Record) -> Value | None:
    """Return the address of the main thread, which tells processes apart that have neither rank nor pid."""
    return record.fields.get("thread_id") if record.rank is record.pid is None else None


def _rank(record: Record) -> int:
    return UNKNOWN if record.rank is None else record.rank


def _frames(record: Record) -> list[str]:
    """Return the short function names of a dump, outermost first.

    ``foo.isra.0 + 12`` gives ``foo``.
    """
    frames = record.fields.get("frames", "")
    names = (
        frames.split(" > ")
        if isinstance(frames, str)
        else [*map(str, reversed(frames if isinstance(frames, tuple) else (frames,)))]
    )
    return [short for name in names if (short := _without_variable_parts(name).strip())]


def _without_variable_parts(name: str) -> str:
    """Return ``initialize`` for ``initialize<bool, A<B>>(…)``: the innermost templates first."""
    while (shorter := _VARIABLE_PARTS.sub("", name)) != name:
        name = shorter
    return name


def place_of(record: Record) -> Place | None:
    """Return the call in which the process of a dump waits, or the place at which it works.

    The result is None for a helper process or an empty stack.
    """
    frames = _frames(record)
    if not frames or _HELPER_PROCESS.search(" > ".join(frames)):
        return None
    for what, pattern in (("comm", _COMM), ("gpu", _GPU)):
        at = next((i for i, name in enumerate(frames) if pattern.search(name)), None)
        if at is not None:
            return Wait(_rank(record), record, frames[at], stack=tuple(frames[: at + 1]), what=what)
    while frames and _WAITING_CALL.search(frames[-1]):
        frames.pop()
    return Working(_rank(record), record, frames[-1], _activity(frames), tuple(frames)) if frames else None


def _activity(frames: list[str]) -> str:
    """Return the activity of the innermost frames, else ``work``."""
    kinds = (kind for name in reversed(frames) for kind, pattern in _ACTIVITIES if pattern.search(name))
    return next(kinds, "work")


def _split_odd(places: Sequence[Place]) -> tuple[list[Place], list[Place]]:
    """Return the odd places and the others.

    The odd are empty if all wait in the same call. Both are empty if nothing is clear.
    """
    few = max(1, len(places) // MIN_STACKS_PER_ODD)
    waiting: list[Place] = [p for p in places if isinstance(p, Wait)]
    working: list[Place] = [p for p in places if isinstance(p, Working)]
    if working:
        return (working, waiting) if len(working) <= few else ([], [])
    usual = Counter(p.stack for p in waiting).most_common(1)[0][0]
    largest, odd = [p for p in waiting if p.stack == usual], [p for p in waiting if p.stack != usual]
    if not odd:
        return [], largest
    if len(odd) > 1 or largest[0].what != "comm" or any(PAIRWISE.search(p.call) for p in (*odd, *largest)):
        return [], []  # pipeline stages and separate groups wait in different calls by design
    return odd, largest


def _odd_records(odd: Sequence[Place], others: Sequence[Place], state: JobState) -> list[Record]:
    """Return a record for the first odd place.

    The dump of another process gives a second record to compare: ``odd_stack`` if it stands below, so that the first
    stays the proof, else ``others_stack``.
    """
    first, other = odd[0], _commonest(others)
    call, other_call = first.call, other.call
    if first.what == other.what and call == other_call:
        call, other_call = _name_difference(first, other)
    fields: dict[str, Value] = {
        "at": first.what,
        "function": call,
        "others_function": other_call,
        "others_at": other.what,
        "others": len(others),
        **ranks_and_hosts("odd", (s.record for s in odd), state),
        "odd_pids": tuple(sorted({p for s in odd if (p := s.record.pid) is not None})[:MAX_LISTED]),
    }
    alike = [s for s in others if s.stack == other.stack]
    compared = next((s for s in alike if s.record.order > first.record.order), alike[0])
    kind = "odd_stack" if compared.record.order > first.record.order else "others_stack"
    return [_derive("odd_stack", first, **fields), _derive(kind, compared, **fields)]


def _lone_waits(places: Sequence[Place], state: JobState) -> Iterator[Record]:
    """Yield a record if all processes wait in a collective."""
    waits = [p for p in places if isinstance(p, Wait) and p.what == "comm"]
    if waits and len(waits) == len(places) and not _goes_on(places, state):
        yield _derive("lone_wait", waits[0], function=waits[0].call, alone=len(waits))


def _goes_on(places: Sequence[Place], state: JobState) -> bool:
    """Return whether a step surely came after the last stack."""
    last, step = max(places, key=lambda p: p.record.order), state.steps.last
    return step is not None and state.surely_after(step, last.record)


def _absent_records(places: Sequence[Place], state: JobState) -> Iterator[Record]:
    """Yield a record if the stacks of all known ranks but a few are there.

    Cases: corpus/hang-stacks-without-rank-2
    """
    waits = [p for p in places if isinstance(p, Wait) and p.what == "comm" and p.who != UNKNOWN]
    world = max(state.processes.min_world_size, max((wait.who for wait in waits), default=UNKNOWN) + 1)
    missing = awaited(range(world), waits)
    few = max(1, len(waits) // MIN_STACKS_PER_ODD)
    last = max(places, key=lambda p: p.record.order)
    if len(waits) == len(places) and 0 < len(missing) <= few and not _goes_on(places, state):
        ranks, hosts = tuple(sorted(wait.who for wait in waits)), state.processes.hosts_with(missing)
        fields: dict[str, Value] = {"missing": tuple(missing), "missing_hosts": hosts, "ranks": ranks}
        yield _derive("absent_stack", last, function=last.call, **fields)


def _commonest(places: Sequence[Place]) -> Place:
    counts = Counter(p.stack for p in places)
    return max(places, key=lambda p: (counts[p.stack], -p.record.order))


def _name_difference(a: Place, b: Place) -> tuple[str, str]:
    """Name a common call with the first callers that differ."""
    callers = next(((x, y) for x, y in zip(a.stack, b.stack, strict=False) if x != y), (a.call, b.call))
    return f"{callers[0]} > {a.call}", f"{callers[1]} > {b.call}"


def _derive(kind: str, place: Place, /, **fields: Value) -> Record:
    path, _, function = place.call.rpartition(":")
    line = find_frame(place.record, function, path.rpartition("/")[2])
    return replace(derive_record(kind, place.record, **fields), line=line)


def find_frame(dump: Record, *parts: str) -> Line:
    """Return the line of a dump that holds these parts of a frame, if it was not kept the first line."""
    return next((line for line in dump.lines if all(part in line.text for part in parts)), dump.line)
