"""Collectives that did not end, and the rank that kept them from ending.

PyTorch numbers the collectives of a group on the host when they are enqueued. Its watchdog reports the oldest
incomplete collective (ProcessGroupNCCL.cpp, 1.13 to 2.15). An operation that needs data of every rank ends nowhere
before all ranks have started it. So two ranks that hang two or more numbers apart ran different operations under the
same number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from logdoctor.model import Record, Value
from logdoctor.model.numbers import number, number_fields
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.lives import waited
from logdoctor.reasoning.questions import asks, ranks_and_hosts, says_done, split_odd
from logdoctor.reasoning.questions.standing import with_stacks
from logdoctor.reasoning.questions.waiting import PHASES, UNKNOWN, Wait, awaited
from logdoctor.reasoning.timeline import Timeline

FULL_OPERATIONS = frozenset(
    "ALLREDUCE ALLREDUCE_COALESCED ALLGATHER _ALLGATHER_BASE ALLGATHER_COALESCED REDUCE_SCATTER _REDUCE_SCATTER_BASE "
    "ALLTOALL ALLTOALL_BASE BARRIER "
    "all_reduce all_gather _all_gather_base reduce_scatter _reduce_scatter_base all_to_all barrier".split()
)
"""Operations in which each rank needs data of all others."""
UNIFORM_OPERATIONS = frozenset(
    "ALLREDUCE _ALLGATHER_BASE _REDUCE_SCATTER_BASE BROADCAST REDUCE "
    "all_reduce _all_gather_base _reduce_scatter_base broadcast reduce".split()
)
"""Operations in which all ranks have the same number of elements, as the watchdog and the Flight Recorder name them."""
POINT_TO_POINT = frozenset(("SEND", "RECV", "UNKNOWN", ""))
OPERATIONS = FULL_OPERATIONS | UNIFORM_OPERATIONS | POINT_TO_POINT | {"GATHER", "SCATTER", "COALESCED", "RECVANYSOURCE"}
DEFAULT_GROUPS = ("default_pg", "0", "")
SLACK_LINES = 300
"""Work printed more lines before the time-out may be over."""
MIN_WAITING = 3
MIN_WAITING_SHARE = 0.75
"""Share of the ranks that must wait before another rank is called missing."""
CLEAR_RATIO = 4
"""A side this many times smaller is the odd one, even if the side of some ranks is unknown."""
MAX_LOCAL_RANKS = 8
"""With all ranks below this number, a local rank is most likely the global rank."""
RANK_0_PHASES = ("data", "save")
"""Phases that frameworks run on rank 0 first, or only there, while the others wait in a barrier."""
_WORK = later(
    r"SeqNum=(?P<seq>\d+), OpType=(?P<op>\w+)(?:, NumelIn=(?P<numel_in>\d+)(?:, NumelOut=(?P<numel_out>\d+))?)?"
)
_REPLAY = later(
    r"(?i)\bfinish(?:ed)? \d+, taken|\bskip(?:ping|ped)?\b(?! ?[=:]| iterations:)|fast[- ]?forward|\bresum(?:e|ing)\b"
)
"""Words for skipped data.

They exclude ``skipped=0`` (DeepSpeed) and ``number of skipped iterations: 0`` (Megatron), which each step line has.
"""
_FALLOUT = later(r"^(?:\w+\.)*(?:Dist\w*|ChildFailed|Signal|Connection\w*)(?:Error|Exception)\b|NCCL|SIGABRT|Aborted")
"""Exceptions and crashes that follow from the failure of another process."""
_BAR_CLOCK = later(r"\[(?:(?P<hours>\d{1,4}):)?(?P<minutes>\d\d):(?P<seconds>\d\d)<")
_METRIC = later(r"(?i)\b(?:\w{1,12}_)?(?:loss|lr|acc|ppl)\b")
DEFAULT_LIMITS, LATE = (600, 1800), 1.1
"""Seconds after which PyTorch gives up a collective by default (NCCL, other backends), and how late it may notice."""
MIN_SLACK, SLACK = 2, 0.005
"""Seconds, and share, by which the clock of a bar and a wait that began with it differ."""
_FRACTION = later(r"\b(?P<done>\d{1,12}) ?/ ?(?P<all>\d{1,12})\b")


States = Mapping[tuple[str, int], Record]
"""Last collective that a rank began or ended, by group and rank."""


def list_waits(t: Timeline) -> list[Wait]:
    """Return the waits of ranks in collectives, in reading order.

    The group comes from the state line with the same rank and number, if there is one. PyTorch before 1.13 does not
    number its collectives.
    """
    calls = [
        e for e in t.of("tells call", "fails") if not e.tells("state") and (e.tells("call") or _WORK.search(e.text))
    ]
    states = list_states(t)
    group_of = {(rank, e.fields.get("work")): group for (group, rank), e in states.items()}
    names = {group for group, _ in states} | {group for e in calls if (group := _group(e))}
    only = names.pop() if len(names) == 1 else ""
    ops = {record.order: str(_collective_field(record, "op") or "") for record in calls}
    waits: dict[tuple[int, int], Wait] = {}
    for record in calls:
        rank, seq, op = _rank_of(record), _seq(record), _whole_name(ops[record.order], ops.values())
        if rank is not None and (rank, seq) not in waits and (seq != UNKNOWN or op):
            group = group_of.get((rank, seq)) or _group(record) or only
            size = _int(_collective_field(record, "numel_in"))
            waits[rank, seq] = Wait(rank, record, _unpacked(op, size, record, ops.values()), group, seq, size)
    return [*waits.values()]


def _whole_name(op: str, told: Collection[str]) -> str:
    """Return the name of an operation that a terminal may have cut: ``ALLRED`` is the ``ALLREDUCE`` of other lines."""
    if op in OPERATIONS:
        return op
    return next((name for name in sorted(told, key=len, reverse=True) if name.startswith(op)), op)


def _unpacked(op: str, size: int | None, record: Record, told: Collection[str]) -> str:
    """Return the name that other ranks give to the operation that ``COALESCED`` packs.

    The sizes tell it: the output of an all-gather is k times its input, that of a reduce-scatter a k-th of it.
    """
    out = _int(_collective_field(record, "numel_out"))
    if op != "COALESCED" or not size or not out or size == out:
        return op
    packed = "ALLGATHER" if out % size == 0 else "REDUCE_SCATTER" if size % out == 0 else op
    return next((name for name in told if packed in name), op)


def list_states(t: Timeline) -> dict[tuple[str, int], Record]:
    """Return the first state of each rank in each group that tells what it enqueued last, else its last state."""
    states: dict[tuple[str, int], Record] = {}
    for record in t.of("tells state"):
        rank = _rank_of(record)
        before = states.get((_group(record), rank)) if rank is not None else None
        if rank is not None and (before is None or "last_enqueued" not in before.fields):
            states[_group(record), rank] = record
    return states


@asks("tells call", "tells state", "fails", "tells stack")
def collective_that_hangs(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield how the calls of a group differ, or who does not make the call, each on a log line that shows it.

    - ``ledger.collective_mismatch``  ranks of a group ran different collectives: seq, same_seq (of both), op, other_op,
      odd, odd_hosts (the smaller side, absent where the sides are equal), ranks, lowest (the only
      rank in the lower of two numbers), op_ranks, op_hosts, other_ranks, other_hosts (all known ranks)
    - ``ledger.call_behind``          few ranks wait in a lower number than the others: seq, op, others_seq, others_op,
      behind, behind_hosts, lowest (where one rank is behind)
    - ``ledger.missing_rank``         all ranks but one waited: seq, op, missing
    - ``ledger.straggler``            the phase ``enqueue`` means that a rank was alive and had not started the
      collective: seq, op, late, late_hosts, never, and where it stands by its stack, see `standing`
    """
    waits, states = list_waits(t), list_states(t)
    groups: dict[str, dict[int, Wait]] = {}
    for wait in waits:
        if wait.number != UNKNOWN:
            groups.setdefault(wait.group, {}).setdefault(wait.who, wait)
    for name, by_rank in sorted(groups.items()):
        if waiting := [w for w in by_rank.values() if w.call not in POINT_TO_POINT]:
            yield from with_stacks("late", _group_records(name, by_rank.keys(), waiting, states, state), t, state)
    if not groups:
        yield from _unnumbered_mismatch({w.who: w for w in waits}, state)


def _unnumbered_mismatch(waits: Mapping[int, Wait], state: JobState) -> Iterator[Record]:
    """Find the only rank that waits in another operation, where collectives have no numbers.

    Two or more ranks on both sides may be groups of a model-parallel job.
    """
    calls = {rank: wait.call for rank, wait in waits.items()}
    most, odd = split_odd(calls)
    if len(odd) == 1 and len(most) >= MIN_WAITING and POINT_TO_POINT.isdisjoint(calls.values()):
        odd_wait, usual_wait = waits[odd[0]], waits[most[0]]
        fields = {"op": usual_wait.call, "other_op": odd_wait.call, **ranks_and_hosts("odd", [odd_wait.record], state)}
        for wait in (odd_wait, usual_wait):
            yield derive_record("collective_mismatch", wait.record, **fields)


def _group_records(
    name: str, ranks: Collection[int], waiting: Sequence[Wait], states: States, state: JobState
) -> Iterator[Record]:
    of_group = {rank: e for (group, rank), e in states.items() if group == name}
    if sides := find_mismatch(waiting, same_group=name != "", alone=_is_one_against_all(waiting, state)):
        yield from mismatch_records(sides, len(of_group.keys() - ranks), state)
    elif behind := _behind(of_group, waiting) if name else {}:
        yield from _behind_records(behind, waiting, state)
    elif name and _is_one_group(of_group, waiting) and (records := _lagging(of_group, waiting, state)):
        yield from records
    elif name in DEFAULT_GROUPS and (missing := _missing_rank(waiting, states, state)) is not None:
        first = waiting[0]
        yield derive_record("missing_rank", first.record, seq=first.number, op=first.call, missing=(missing,))


def _is_one_against_all(waiting: Sequence[Wait], state: JobState) -> bool:
    """Return whether all ranks wait, one of them in another operation than all others.

    Their groups do not matter, because no other rank makes its call. Two sides of several ranks may be groups.
    """
    _, odd = split_odd({w.who: (w.number, w.call, w.size if w.call in UNIFORM_OPERATIONS else None) for w in waiting})
    return len(odd) == 1 and not awaited(state.processes.ranks | {*range(state.processes.expected or 2)}, waiting)


def _behind(states: Mapping[int, Record], waiting: Sequence[Wait]) -> dict[int, Record]:
    """Return living ranks of the group that have not enqueued the collective."""
    goal = min(w.number for w in waiting)
    enqueued = {rank: n for rank, e in states.items() if (n := _int(e.fields.get("last_enqueued"))) is not None}
    behind = {*awaited((rank for rank, n in enqueued.items() if n < goal), waiting)}
    return {rank: e for rank, e in states.items() if rank in behind}


def _is_one_group(states: Mapping[int, Record], waiting: Sequence[Wait]) -> bool:
    """Return whether each line tells the group, and no two ranks have one number in it.

    Groups of several jobs or stages may have one name.
    """
    if not all(w.who in states or _group(w.record) for w in waiting):
        return False
    places = [place for w in waiting if (place := w.record.fields.get("group_rank")) is not None]
    return len({*places}) == len(places)


def _lagging(states: Mapping[int, Record], waiting: Sequence[Wait], state: JobState) -> list[Record]:
    """Return records if a few ranks wait in the lowest number. The others waited in a later call.

    A rank without a wait of its own waits in the call that its state names.
    """
    told = {rank: seq for rank, e in states.items() if (seq := _int(e.fields.get("work"))) is not None}
    numbers = told | {w.who: w.number for w in waiting}
    seq = min(numbers.values())
    behind, others = [w for w in waiting if w.number == seq], [w for w in waiting if w.number != seq]
    if not behind or not others or 2 * sum(n == seq for n in numbers.values()) >= len(numbers):
        return []
    own, other = behind[0], others[0]
    fields: dict[str, Value | None] = {
        "seq": seq,
        "op": own.call,
        "others_seq": other.number,
        "others_op": other.call,
        "lowest": _lowest(numbers),
    }
    fields |= ranks_and_hosts("behind", [w.record for w in behind], state)
    return [derive_record("call_behind", w.record, **fields) for w in (own, other)]


def _missing_rank(waiting: Sequence[Wait], states: States, state: JobState) -> int | None:
    """Return the only rank that does not wait.

    It must have printed lines and no failure. The first collectives do not count, because a rank may not have started
    yet.
    """
    first, missing = waiting[0].number, awaited(state.processes.ranks, waiting)
    if any(w.number != first for w in waiting) or min(first, len(waiting)) < MIN_WAITING or len(missing) != 1:
        return None
    rank = missing[0]
    few = len(waiting) < (state.processes.expected or 0) * MIN_WAITING_SHARE
    enqueued = any(other == rank and "last_enqueued" in e.fields for (_, other), e in states.items())
    return None if few or enqueued or rank in state.lives.with_alarm() else rank


@asks("tells call", "tells state", "waits", "fails")
def straggler(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield ``ledger.straggler`` for other work of a rank that was under way when the others timed out.

    It stands on the line of the work and on the first time-out: phase, work, late, late_hosts, seq, op, timeout_ms.
    """
    timeouts: dict[str, Record] = {}
    for record in t.of("tells call", "tells state", "waits", "fails"):
        file = record.line.file
        if record.level != "info" and waited(record):
            timeouts.setdefault(file, record)
        elif record.level == "fatal" and record.has("fails") and file not in timeouts:
            is_fallout = timeouts and _FALLOUT.search(record.text)
            if not is_fallout:  # a process crashed, and not because another one failed
                return
    waits, states = [w for w in list_waits(t) if w.number != UNKNOWN], list_states(t)

    def was_awaited(file: str, busy: Record) -> bool:
        """Return whether ``busy``, the last progress in ``file``, shows a rank that the others waited for."""
        end, rank = timeouts.get(file), state.processes.rank_of(busy)
        if not t.holds(busy) or (end is None and rank is None) or not _is_under_way(busy, end):
            return False
        if _is_step_or_resume(busy) and not (_is_replay(busy) or _is_as_long(busy, end)):
            return False
        return rank is None or (rank in awaited((rank,), waits) and not _has_enqueued(rank, waits, states))

    busy = [e for file, e in state.lives.activity.items() if was_awaited(file, e)] if timeouts else []
    if not busy:
        return
    first, last = min(timeouts.values(), key=lambda e: e.order), busy[0]
    late = ranks_and_hosts("late", busy if len(busy) == 1 else (), state)
    if len(busy) == 1 and not late["late"] and (rank := _absent_rank(last, list_waits(t), state)) is not None:
        late["late"] = (rank,)
    phase = "resume" if _is_replay(last) else str(last.fields.get("phase", "work"))
    work = str(last.fields.get("what") or ("" if phase == "work" else last.text)).strip()[:120]
    call = {name: first.fields.get(name) for name in ("seq", "op", "timeout_ms")}
    for record in (last, first):
        yield derive_record("straggler", record, phase=phase, work=work, **call, **late)


def _has_enqueued(rank: int, waits: Sequence[Wait], states: States) -> bool:
    """Return whether ``rank`` had enqueued the collectives that the others wait for."""
    goal = min((w.number for w in waits), default=None)
    numbers = [_int(e.fields.get("last_enqueued")) for (_, other), e in states.items() if other == rank]
    return goal is not None and any(number is not None and number >= goal for number in numbers)


def _absent_rank(busy: Record, waits: Sequence[Wait], state: JobState) -> int | None:
    """Return the only rank that does not wait.

    On a single node the local rank of ``busy`` is taken. Rank 0 is taken in phases that frameworks run there first.
    """
    waiting = {w.who for w in waits}
    absent = awaited(range(max(state.processes.expected or 0, max(waiting, default=0) + 1)), waits)
    local = busy.source.local_rank
    if local in absent and max((*waiting, *state.processes.ranks), default=0) < MAX_LOCAL_RANKS:
        return local
    if 0 in absent and busy.fields.get("phase") in RANK_0_PHASES:
        return 0
    return absent[0] if len(absent) == 1 and len(waiting) > 1 else None


def _rank_of(record: Record) -> int | None:
    """Return the global rank, else the rank in the group."""
    return record.rank if record.rank is not None else _int(record.fields.get("group_rank"))


def _seq(record: Record) -> int:
    seq = _int(_collective_field(record, "seq"))
    return UNKNOWN if seq is None else seq


def _group(record: Record) -> str:
    return str(record.fields.get("pg", ""))


def _collective_field(record: Record, name: str) -> Value | None:
    if name in record.fields:
        return record.fields[name]
    match = _WORK.search(record.text)
    return match[name] if match else None


def _int(value: Value | None) -> int | None:
    return value if isinstance(value, int) else number(value) if isinstance(value, str) else None


def find_mismatch(
    waiting: Sequence[Wait], *, same_group: bool, alone: bool = False
) -> tuple[Sequence[Wait], Sequence[Wait]] | None:
    """Return the two sides that ran different collectives, the larger side first.

    ``same_group`` says that the lines name the group, so its numbers can be compared. ``alone`` says that one rank is
    one side, and all others the other side.
    """
    sides: dict[tuple[int, str, int | None], list[Wait]] = {}
    told = {(w.number, w.call): w.size for w in reversed(waiting) if w.size is not None}
    for w in waiting:
        size = (told.get((w.number, w.call)) if w.size is None else w.size) if w.call in UNIFORM_OPERATIONS else None
        sides.setdefault((w.number, w.call, size), []).append(w)
    keys = sorted(sides, key=lambda k: (-len(sides[k]), k[0], k[1], k[2] or 0))
    for i, a in enumerate(keys):
        for b in keys[i + 1 :]:
            apart = same_group and a[1] in FULL_OPERATIONS and b[1] in FULL_OPERATIONS and abs(a[0] - b[0]) > 1
            if apart or (a[0] == b[0] and (same_group or alone or a[0] > MIN_WAITING)):
                return sides[a], sides[b]
    return None


def mismatch_records(sides: tuple[Sequence[Wait], Sequence[Wait]], unsure: int, state: JobState) -> list[Record]:
    """Return the records of a mismatch.

    ``unsure`` is the number of ranks that wait on an unknown side.
    """
    most, odd = sides
    fields: dict[str, Value | None] = {
        "seq": min(most[0].number, odd[0].number),
        "same_seq": most[0].number if most[0].number == odd[0].number else None,
        **_describe("op", most[0], odd[0]),
        **_describe("other_op", odd[0], most[0]),
        "ranks": tuple(sorted(w.who for w in odd)),
        "lowest": None if unsure else _lowest({w.who: w.number for w in (*most, *odd)}),
    }
    for name, side in (("op", most), ("other", odd)):
        known = ranks_and_hosts(name, [w.record for w in side], state)
        fields |= {f"{name}_ranks": known[name], f"{name}_hosts": known[f"{name}_hosts"]}
    if len(odd) + unsure < len(most) or len(odd) * CLEAR_RATIO <= len(most):
        fields |= ranks_and_hosts("odd", [w.record for w in odd], state)
    return [_on_line_of_call(s[0].record, fields) for s in (odd, most)]


def _on_line_of_call(wait: Record, fields: Mapping[str, Value | None]) -> Record:
    """Return the mismatch on the line that names the operation. A collector may have wrapped the message before it."""
    line = next((line for line in wait.lines if "OpType=" in line.text), wait.line)
    return replace(derive_record("collective_mismatch", wait, **fields), line=line)


def _describe(name: str, own: Wait, other: Wait) -> dict[str, Value | None]:
    """Return the call of ``own`` as fields, with its number or size if these differ from those of ``other``."""
    is_other_size = own.number == other.number and own.call == other.call
    return {
        name: own.call,
        f"{name}_number": own.number if own.number != other.number else None,
        f"{name}_size": own.size if is_other_size else None,
    }


def _behind_records(behind: dict[int, Record], waiting: Sequence[Wait], state: JobState) -> list[Record]:
    """Return the records for ranks behind the waiting ranks.

    Few ranks behind many are late. If more ranks are behind than wait, the waiting ranks ran an extra collective.
    """
    first = waiting[0]
    fields: dict[str, Value] = {"seq": first.number, "op": first.call}
    if len(behind) > len(waiting):
        fields |= {**ranks_and_hosts("odd", [w.record for w in waiting], state), "only_op": first.call}
        return [derive_record("collective_mismatch", first.record, **fields)]
    fields |= {"phase": "enqueue", "never": "yes"}
    fields |= ranks_and_hosts("late", list(behind.values()), state)
    return [derive_record("straggler", record, **fields) for record in (*behind.values(), first.record)]


def _is_as_long(busy: Record, end: Record | None) -> bool:
    """Return whether a bar without metrics has run as long as a rank waited in vain.

    A bar of training steps ran longer: before the wait too.
    Cases: corpus/lone-work-by-the-clock-of-its-bar, corpus/lone-work-not-the-training-bar
    """
    ran, seconds = end.fields.get("ran_ms") if end else None, _bar_seconds(busy)
    if not isinstance(ran, int) or seconds is None or not busy.fields.get("value") or _METRIC.search(busy.text):
        return False
    return abs(seconds - ran / 1000) <= max(MIN_SLACK, SLACK * seconds)


def _bar_seconds(busy: Record) -> int | None:
    """Return how long a bar has run by its own clock."""
    if (clock := _BAR_CLOCK.search(busy.text)) is None:
        return None
    told = number_fields(clock.groupdict(default="0"))
    hours, minutes, seconds = (told.get(name) for name in ("hours", "minutes", "seconds"))
    if hours is None or minutes is None or seconds is None:
        return None
    return (hours * 60 + minutes) * 60 + seconds


@asks("fails")
def outlasted(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield ``ledger.outlasted`` for work that was past a default time limit when a process failed.

    It stands on the line of the work: work, made, of, limit_s. The exception of the failure is cut off, so nothing
    tells whether it was a time-out.
    """
    for file, busy in state.lives.activity.items():
        seconds = _bar_seconds(busy) if busy.fields.get("phase") in PHASES and _is_under_way(busy, None) else None
        limit = next((s for s in DEFAULT_LIMITS if seconds and s <= seconds <= s * LATE), None)
        after = [e for e in t.of("fails") if e.line.file == file and e.order > busy.order]
        if limit and after and not any(e.fields.get("exception", "") for e in after):
            made = {"made": busy.fields.get("value"), "of": busy.fields.get("total"), "limit_s": limit}
            yield derive_record("outlasted", busy, work=str(busy.fields.get("what", "")), **made)


def _is_step_or_resume(busy: Record) -> bool:
    return busy.has("works") or busy.fields.get("phase") == "resume"


def _lowest(numbers: Mapping[int, int]) -> int | None:
    """Return the rank with the lowest number, if it is the only one."""
    lowest = min(numbers.values())
    ranks = [rank for rank, number in numbers.items() if number == lowest]
    return ranks[0] if len(ranks) == 1 else None


def _is_replay(busy: Record) -> bool:
    """Return whether a rank skips data to reach its checkpoint."""
    return _is_step_or_resume(busy) and _REPLAY.search(busy.text) is not None


def _is_under_way(busy: Record, end: Record | None) -> bool:
    """Return whether work went on at the time-out.

    ``busy`` is its last record, and ``end`` the time-out in the same file.
    """
    if end is not None and end.line.number - busy.line.number > SLACK_LINES:
        return False
    value, total = busy.fields.get("value"), busy.fields.get("total")
    if isinstance(value, int) and isinstance(total, int):
        return value < total
    if busy.has("works"):
        return True
    if busy.fields.get("phase") not in ("save", "eval", "data", "compile", "resume"):
        return False
    share = _FRACTION.search(busy.text)  # "368/412 kernels done" is not over
    done = number_fields(share.groupdict()) if share else {}
    return done["done"] < done["all"] if len(done) == 2 else not says_done(busy)
