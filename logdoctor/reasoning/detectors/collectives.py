"""Collectives that did not end, and the rank that kept them from ending.

Derived records (format ``ledger``, each on a log line that shows it):

- ``ledger.collective_mismatch``  ranks of a group ran different collectives: seq, same_seq (of both), op, other_op,
  odd, odd_hosts (the smaller side, absent where the sides are equal), ranks, lowest (the only
  rank in the lower of two numbers), op_ranks, op_hosts, other_ranks, other_hosts (all known ranks)
- ``ledger.call_behind``          few ranks wait in a lower number than the others: seq, op, others_seq, others_op,
  behind, behind_hosts, lowest (where one rank is behind)
- ``ledger.missing_rank``         all ranks but one waited: seq, op, missing
- ``ledger.straggler``            a rank was still at other work when the others timed out: phase, work, late,
  late_hosts. The phase ``enqueue`` means that the rank was alive and had not started the collective, or not in time.

PyTorch numbers the collectives of a group on the host when they are enqueued. Its watchdog reports the oldest
incomplete collective (ProcessGroupNCCL.cpp, 1.13 to 2.15). An operation that needs data of every rank ends nowhere
before all ranks have started it. So two ranks that hang two or more numbers apart ran different operations under the
same number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from logdoctor.model import Record, Value
from logdoctor.model.numbers import number, number_fields
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_record
from logdoctor.reasoning.detectors import forget, ranks_and_hosts, says_done, split_odd
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.attempts import comes_up
from logdoctor.reasoning.lifecycle.lives import waited

FULL_OPERATIONS = frozenset(
    "ALLREDUCE ALLREDUCE_COALESCED ALLGATHER _ALLGATHER_BASE ALLGATHER_COALESCED REDUCE_SCATTER _REDUCE_SCATTER_BASE "
    "ALLTOALL ALLTOALL_BASE BARRIER".split()
)
"""Operations in which each rank needs data of all others."""
UNIFORM_OPERATIONS = frozenset("ALLREDUCE _ALLGATHER_BASE _REDUCE_SCATTER_BASE BROADCAST REDUCE".split())
"""Operations in which all ranks have the same number of elements."""
POINT_TO_POINT = frozenset(("SEND", "RECV", "COALESCED", "UNKNOWN", ""))
DEFAULT_GROUPS = ("default_pg", "0", "")
SLACK_LINES = 300
"""Work printed more lines before the time-out may be over."""
STAMP_S = 1.0
"""Possible error of a time stamp in whole seconds."""
MIN_WAITING = 3
MIN_WAITING_SHARE = 0.75
"""Share of the ranks that must wait before another rank is called missing."""
CLEAR_RATIO = 4
"""A side this many times smaller is the odd one, even if the side of some ranks is unknown."""
MAX_RANKS = 4096
MAX_LOCAL_RANKS = 8
"""With all ranks below this number, a local rank is most likely the global rank."""
RANK_0_PHASES = ("data", "save")
"""Phases that frameworks run on rank 0 first, or only there, while the others wait in a barrier."""
_WORK = later(r"SeqNum=(?P<seq>\d+), OpType=(?P<op>\w+)(?:, NumelIn=(?P<numel_in>\d+))?")
_REPLAY = later(
    r"(?i)\bfinish(?:ed)? \d+, taken|\bskip(?:ping|ped)?\b(?! ?[=:]| iterations:)|fast[- ]?forward|\bresum(?:e|ing)\b"
)
"""Words for skipped data.

They exclude ``skipped=0`` (DeepSpeed) and ``number of skipped iterations: 0`` (Megatron), which each step line has.
"""
_FALLOUT = later(r"^(?:\w+\.)*(?:Dist\w*|ChildFailed|Signal|Connection\w*)(?:Error|Exception)\b|NCCL|SIGABRT|Aborted")
"""Exceptions and crashes that follow from the failure of another process."""
_FRACTION = later(r"\b(?P<done>\d{1,12}) ?/ ?(?P<all>\d{1,12})\b")


class Waiter(Struct, frozen=True):
    """Rank that waits in a collective. An empty ``group`` means unknown."""

    rank: int
    group: str
    seq: int
    op: str
    numel: int | None
    record: Record


class Detector(Struct):
    """Collected waits, states and progress of all ranks."""

    READS: ClassVar = ("starts", "starts again", "comes up", "tells call", "tells state", "waits", "fails")

    waits: dict[tuple[int, int], Record] = field(default_factory=dict)
    states: dict[tuple[str, int], Record] = field(default_factory=dict)
    unnumbered_waits: dict[int, Record] = field(default_factory=dict)
    """Waiting ranks where PyTorch (before 1.13) does not number its collectives."""
    timeouts: dict[str, Record] = field(default_factory=dict)
    """First time-out in each file."""
    has_crash: bool = False
    """True if a process crashed on its own before a time-out in its file."""
    since: int = 0
    """`Record.order` from which on this attempt counts."""

    def observe(self, record: Record) -> None:
        file = record.line.file
        if comes_up(record) and (file in self.timeouts or record.has("starts again")):
            self._reset(record)
        if record.level != "info":
            self._read_failure(record)
        if record.tells("call") or record.tells("state"):
            self._read_wait(record)

    def _reset(self, start: Record) -> None:
        forget(self)
        self.since = start.order

    def _read_failure(self, record: Record) -> None:
        """Note time-outs by file, and a crash before them."""
        file = record.line.file
        if waited(record) and len(self.timeouts) < MAX_RANKS:
            self.timeouts.setdefault(file, record)
        elif record.level == "fatal" and record.has("fails") and file not in self.timeouts:
            self.has_crash = self.has_crash or not self.timeouts or not _FALLOUT.search(record.text)

    def _read_wait(self, record: Record) -> None:
        rank = _rank_of(record)
        if rank is None or len(self.waits) + len(self.states) > MAX_RANKS:
            return
        if record.tells("state"):
            state = self.states.get((_group(record), rank))
            if state is None or "last_enqueued" not in state.fields:
                self.states[_group(record), rank] = record
        elif (seq := _int(_collective_field(record, "seq"))) is not None:
            self.waits.setdefault((rank, seq), record)
        elif "op" in record.fields:
            self.unnumbered_waits.setdefault(rank, record)

    def derive(self, state: JobState) -> Iterator[Record]:
        groups: dict[str, dict[int, Waiter]] = {}
        for waiter in sorted(self.waiters(), key=lambda s: s.record.order):
            groups.setdefault(waiter.group, {}).setdefault(waiter.rank, waiter)
        for name, by_rank in sorted(groups.items()):
            waiting = [s for s in by_rank.values() if s.op not in POINT_TO_POINT]
            if waiting:
                yield from self._group_records(name, by_rank.keys(), waiting, state)
        yield from self._unnumbered_mismatch(state)
        yield from self._stragglers(state)

    def _unnumbered_mismatch(self, state: JobState) -> Iterator[Record]:
        """Find the only rank that waits in another operation, where collectives have no numbers.

        Two or more ranks on both sides may be groups of a model-parallel job.
        """
        ops = {rank: str(record.fields["op"]) for rank, record in self.unnumbered_waits.items()}
        most, odd = split_odd(ops)
        if len(odd) == 1 and len(most) >= MIN_WAITING and not self.waits and POINT_TO_POINT.isdisjoint(ops.values()):
            odd_wait, usual_wait = self.unnumbered_waits[odd[0]], self.unnumbered_waits[most[0]]
            fields = {"op": ops[most[0]], "other_op": ops[odd[0]], **ranks_and_hosts("odd", [odd_wait], state)}
            for record in (odd_wait, usual_wait):
                yield derive_record("collective_mismatch", record, **fields)

    def waiters(self) -> Iterator[Waiter]:
        """Return each waiting rank with its group.

        The group comes from the state line with the same rank and number, if there is one.
        """
        group_of = {(rank, e.fields.get("work")): group for (group, rank), e in self.states.items()}
        names = {group for group, _ in self.states} | {g for e in self.waits.values() if (g := _group(e))}
        only = next(iter(names)) if len(names) == 1 else ""
        for (rank, seq), record in self.waits.items():
            numel = _collective_field(record, "numel_in")
            op = str(_collective_field(record, "op") or "")
            yield Waiter(rank, group_of.get((rank, seq)) or _group(record) or only, seq, op, _int(numel), record)

    def _group_records(
        self, name: str, ranks: Collection[int], waiting: list[Waiter], state: JobState
    ) -> Iterator[Record]:
        if sides := _find_mismatch(waiting, same_group=name != ""):
            unsure = sum(group == name and rank not in ranks for group, rank in self.states)
            yield from _mismatch_records(sides, unsure, state)
        elif behind := self._behind(name, waiting):
            yield from _behind_records(behind, waiting, state)
        elif (
            name
            and self._is_one_group(name, waiting)
            and (records := self._lagging(name, waiting, state) or _entered_last(waiting, state))
        ):
            yield from records
        elif name in DEFAULT_GROUPS and (missing := self._missing_rank(waiting, state)) is not None:
            first = waiting[0]
            yield derive_record("missing_rank", first.record, seq=first.seq, op=first.op, missing=(missing,))

    def _behind(self, name: str, waiting: list[Waiter]) -> dict[int, Record]:
        """Return living ranks of the group that have not enqueued the collective."""
        goal = min(s.seq for s in waiting)
        waiting_ranks = {s.rank for s in waiting}
        states = (
            (rank, e) for (group, rank), e in self.states.items() if group == name != "" and rank not in waiting_ranks
        )
        return {
            rank: e for rank, e in states if (last := _int(e.fields.get("last_enqueued"))) is not None and last < goal
        }

    def _is_one_group(self, name: str, waiting: list[Waiter]) -> bool:
        """Return whether each line tells the group, and no two ranks have one number in it.

        Groups of several jobs or stages may have one name.
        """
        if not all((name, s.rank) in self.states or _group(s.record) for s in waiting):
            return False
        places = [place for s in waiting if (place := s.record.fields.get("group_rank")) is not None]
        return len({*places}) == len(places)

    def _lagging(self, name: str, waiting: list[Waiter], state: JobState) -> list[Record]:
        """Return records if a few ranks wait in the lowest number. The others waited in a later call.

        A rank without a wait of its own waits in the call that its state names.
        """
        states = {rank: _int(e.fields.get("work")) for (group, rank), e in self.states.items() if group == name}
        numbers = {rank: seq for rank, seq in states.items() if seq is not None} | {s.rank: s.seq for s in waiting}
        seq = min(numbers.values())
        behind, others = [s for s in waiting if s.seq == seq], [s for s in waiting if s.seq > seq]
        if not behind or not others or 2 * sum(n == seq for n in numbers.values()) >= len(numbers):
            return []
        own, other = behind[0], others[0]
        fields: dict[str, Value | None] = {
            "seq": seq,
            "op": own.op,
            "others_seq": other.seq,
            "others_op": other.op,
            "lowest": _lowest(numbers),
        }
        fields |= ranks_and_hosts("behind", [s.record for s in behind], state)
        return [derive_record("call_behind", s.record, **fields) for s in (own, other)]

    def _missing_rank(self, waiting: list[Waiter], state: JobState) -> int | None:
        """Return the only rank that does not wait.

        It must have printed lines and no failure. The first collectives do not count, because a rank may not have
        started yet.
        """
        ranks, first = {s.rank for s in waiting}, waiting[0].seq
        missing = state.places.ranks - ranks
        if any(s.seq != first for s in waiting) or first < MIN_WAITING or len(ranks) < MIN_WAITING or len(missing) != 1:
            return None
        rank = missing.pop()
        few = len(ranks) < (state.places.expected or 0) * MIN_WAITING_SHARE
        enqueued = any(other == rank and "last_enqueued" in e.fields for (_, other), e in self.states.items())
        return None if few or enqueued or rank in state.lives.with_alarm() else rank

    def _stragglers(self, state: JobState) -> Iterator[Record]:
        """Yield records for work under way when the first rank timed out."""
        if not self.timeouts or self.has_crash:
            return
        busy = [e for file, e in state.lives.activity.items() if self._was_awaited(file, e, state)]
        if not busy:
            return
        first, last = min(self.timeouts.values(), key=lambda e: e.order), busy[0]
        late = ranks_and_hosts("late", busy if len(busy) == 1 else (), state)
        if len(busy) == 1 and not late["late"] and (rank := self._absent_rank(state, last)) is not None:
            late["late"] = (rank,)
        phase = "resume" if _is_replay(last) else str(last.fields.get("phase", ""))
        work = str(last.fields.get("what") or last.text).strip()[:120]
        call = {name: first.fields.get(name) for name in ("seq", "op", "timeout_ms")}
        for record in (last, first):
            yield derive_record("straggler", record, phase=phase, work=work, **call, **late)

    def _was_awaited(self, file: str, busy: Record, state: JobState) -> bool:
        """Return whether ``busy`` shows a rank that the others waited for.

        ``busy`` is the last progress in ``file``.
        """
        end, rank = self.timeouts.get(file), state.places.rank_of(busy)
        if busy.order < self.since or (end is None and rank is None) or not _is_under_way(busy, end):
            return False
        if _is_step_or_resume(busy) and not _is_replay(busy):
            return False
        return rank is None or (not any(other == rank for other, _ in self.waits) and not self._has_enqueued(rank))

    def _has_enqueued(self, rank: int) -> bool:
        """Return whether ``rank`` had enqueued the collectives that the others wait for."""
        goal = min((seq for _, seq in self.waits), default=None)
        numbers = [_int(e.fields.get("last_enqueued")) for (_, other), e in self.states.items() if other == rank]
        return goal is not None and any(number is not None and number >= goal for number in numbers)

    def _absent_rank(self, state: JobState, busy: Record) -> int | None:
        """Return the only rank that does not wait.

        On a single node the local rank of ``busy`` is taken. Rank 0 is taken in phases that frameworks run there first.
        """
        waiting = {rank for rank, _ in self.waits}
        absent = set(range(max(state.places.expected or 0, max(waiting, default=0) + 1))) - waiting
        local = busy.source.local_rank
        if local in absent and max((*waiting, *state.places.ranks), default=0) < MAX_LOCAL_RANKS:
            return local
        if 0 in absent and busy.fields.get("phase") in RANK_0_PHASES:
            return 0
        return absent.pop() if len(absent) == 1 and len(waiting) > 1 else None


def _rank_of(record: Record) -> int | None:
    """Return the global rank, else the rank in the group."""
    return record.rank if record.rank is not None else _int(record.fields.get("group_rank"))


def _group(record: Record) -> str:
    return str(record.fields.get("pg", ""))


def _collective_field(record: Record, name: str) -> Value | None:
    if name in record.fields:
        return record.fields[name]
    match = _WORK.search(record.text)
    return match[name] if match else None


def _int(value: Value | None) -> int | None:
    return value if isinstance(value, int) else number(value) if isinstance(value, str) else None


def _find_mismatch(waiting: list[Waiter], *, same_group: bool) -> tuple[list[Waiter], list[Waiter]] | None:
    """Return the two sides that ran different collectives, the larger side first.

    ``same_group`` says that the lines name the group, so its numbers can be compared.
    """
    sides: dict[tuple[int, str, int | None], list[Waiter]] = {}
    for s in waiting:
        sides.setdefault((s.seq, s.op, s.numel if s.op in UNIFORM_OPERATIONS else None), []).append(s)
    keys = sorted(sides, key=lambda k: (-len(sides[k]), k[0], k[1], k[2] or 0))
    for i, a in enumerate(keys):
        for b in keys[i + 1 :]:
            apart = same_group and a[1] in FULL_OPERATIONS and b[1] in FULL_OPERATIONS and abs(a[0] - b[0]) > 1
            if apart or (a[0] == b[0] and (same_group or a[0] > MIN_WAITING)):
                return sides[a], sides[b]
    return None


def _mismatch_records(sides: tuple[list[Waiter], list[Waiter]], unsure: int, state: JobState) -> list[Record]:
    """Return the records of a mismatch.

    ``unsure`` is the number of ranks that wait on an unknown side.
    """
    most, odd = sides
    fields: dict[str, Value | None] = {
        "seq": min(most[0].seq, odd[0].seq),
        "same_seq": most[0].seq if most[0].seq == odd[0].seq else None,
        "op": _describe(most[0], odd[0]),
        "other_op": _describe(odd[0], most[0]),
        "ranks": tuple(sorted(s.rank for s in odd)),
        "lowest": None if unsure else _lowest({s.rank: s.seq for s in (*most, *odd)}),
    }
    for name, side in (("op", most), ("other", odd)):
        known = ranks_and_hosts(name, [s.record for s in side], state)
        fields |= {f"{name}_ranks": known[name], f"{name}_hosts": known[f"{name}_hosts"]}
    if len(odd) + unsure < len(most) or len(odd) * CLEAR_RATIO <= len(most):
        fields |= ranks_and_hosts("odd", [s.record for s in odd], state)
    return [_on_line_of_call(s[0].record, fields) for s in (odd, most)]


def _on_line_of_call(wait: Record, fields: Mapping[str, Value | None]) -> Record:
    """Return the mismatch on the line that names the operation. A collector may have wrapped the message before it."""
    line = next((line for line in wait.lines if "OpType=" in line.text), wait.line)
    return replace(derive_record("collective_mismatch", wait, **fields), line=line)


def _describe(own: Waiter, other: Waiter) -> str:
    """Describe the operation of ``own`` so that it differs from ``other``."""
    if own.seq != other.seq:
        return f"{own.op} (number {own.seq})"
    return own.op if own.op != other.op else f"{own.op} of {own.numel} elements"


def _behind_records(behind: dict[int, Record], waiting: list[Waiter], state: JobState) -> list[Record]:
    """Return the records for ranks behind the waiting ranks.

    Few ranks behind many are late. If more ranks are behind than wait, the waiting ranks ran an extra collective.
    """
    first = waiting[0]
    fields: dict[str, Value] = {"seq": first.seq, "op": first.op}
    if len(behind) > len(waiting):
        fields |= {**ranks_and_hosts("odd", [s.record for s in waiting], state), "other_op": "nothing"}
        return [derive_record("collective_mismatch", first.record, **fields)]
    fields |= {"phase": "enqueue", "work": f"it had not started {first.op} number {first.seq}"}
    fields |= ranks_and_hosts("late", list(behind.values()), state)
    return [derive_record("straggler", record, **fields) for record in (*behind.values(), first.record)]


def _is_step_or_resume(busy: Record) -> bool:
    return busy.has("works") or busy.fields.get("phase") == "resume"


def _lowest(numbers: Mapping[int, int]) -> int | None:
    """Return the rank with the lowest number, if it is the only one."""
    lowest = min(numbers.values())
    ranks = [rank for rank, number in numbers.items() if number == lowest]
    return ranks[0] if len(ranks) == 1 else None


def _entered_last(waiting: list[Waiter], state: JobState) -> list[Record]:
    """Return records if one rank entered the collective after all others had given up.

    The time of a time-out less its duration is the time of entering.
    """
    last = max(waiting, key=lambda s: s.record.time or 0.0)
    ran, others = last.record.fields.get("ran_ms"), [s for s in waiting if s is not last]
    if not isinstance(ran, int) or not others or any(s.seq != last.seq for s in others):
        return []
    for other in others:
        seconds, doubt = state.seconds_between(other.record, last.record)
        if seconds is None or seconds - ran / 1000 <= max(doubt, STAMP_S):
            return []
    work = f"it came to {last.op} {last.seq} after their limit"
    fields: dict[str, Value] = {"seq": last.seq, "op": last.op, "phase": "enqueue", "work": work}
    fields |= ranks_and_hosts("late", [last.record], state)
    return [derive_record("straggler", s.record, **fields) for s in (last, others[0])]


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
