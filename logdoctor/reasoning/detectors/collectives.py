"""The ledger of collectives: which rank stood where when a collective did not end.

Derived events (dialect ``ledger``; each stands on a line of the log that shows it):

- ``ledger.collective_mismatch``  ranks of one group ran different collectives: seq, op, other_op, odd, odd_hosts (the
  smaller side; absent where the sides are equal), ranks
- ``ledger.missing_rank``         all but one (or few) waited: seq, op, missing, missing_hosts
- ``ledger.straggler``            a rank was still at other work when the others gave up: phase, work, late, late_hosts;
  phase ``enqueue``: it lives and had not started the collective

Facts: PyTorch numbers the collectives of a group on the host when they are enqueued and its watchdog reports the oldest
one that is not complete (ProcessGroupNCCL.cpp, 1.13 to 2.15).  An operation in which every rank needs data of every
other cannot complete anywhere before all ranks have started it, so two ranks that hang two or more numbers apart ran
different operations under the same number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct, field

from logdoctor.model import Record, Value
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derived
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.attempts import COMING_UP

FULL = frozenset(
    "ALLREDUCE ALLREDUCE_COALESCED ALLGATHER _ALLGATHER_BASE ALLGATHER_COALESCED REDUCE_SCATTER _REDUCE_SCATTER_BASE "
    "ALLTOALL ALLTOALL_BASE BARRIER".split()
)
"""Operations in which every rank needs data of every other."""
ALIKE = frozenset("ALLREDUCE _ALLGATHER_BASE _REDUCE_SCATTER_BASE BROADCAST REDUCE".split())
"""Operations in which every rank brings the same number of elements."""
POINT_TO_POINT = frozenset(("SEND", "RECV", "COALESCED", "UNKNOWN", ""))
TIMEOUTS = ("c10d.watchdog_timeout", "c10d.wait_timeout", "c10d.watchdog_exception")
STATES = ("c10d.pg_state", "c10d.dump_signal")
DEFAULT_GROUPS = ("default_pg", "0", "")
SLACK_LINES = 300
"""Work that was printed so many lines before the time-out may long be over."""
FEWEST_WAITING = 3
MOST = 0.75
"""That share of the ranks must be seen waiting before one that does not is called missing."""
CLEARLY = 4
"""A side so many times smaller is the odd one, though some ranks do not tell on which side they are."""
MAX_RANKS = 4096
ONE_NODE = 8
"""With ranks below this number only, a local rank is most likely the global one."""
OWN_ERRORS = ("python", "crash", "kernel")
FIRST_ALONE = ("data", "save")
"""What frameworks let rank 0 do first, or alone, while the others wait in a barrier."""
_WORK = later(r"SeqNum=(?P<seq>\d+), OpType=(?P<op>\w+)(?:, NumelIn=(?P<numel_in>\d+))?")
_SKIP = later(
    r"(?i)\bfinish(?:ed)? \d+, taken|\bskip(?:ping|ped)?\b(?! ?[=:]| iterations:)|fast[- ]?forward|\bresum(?:e|ing)\b"
)
"""Not DeepSpeed's ``skipped=0`` and Megatron's ``number of skipped iterations: 0``, which stand in every step line."""

_FALLOUT = later(r"^(?:\w+\.)*(?:Dist\w*|ChildFailed|Signal|Connection\w*)(?:Error|Exception)\b|NCCL|SIGABRT|Aborted")
"""Exceptions and crashes that follow from another process' failure."""
_GLOO_LIMIT = later(r"Timed out waiting \d+ ?ms for (?:send|recv)")
"""Gloo's time-out, raised in a traceback."""
_SHARE = later(r"\b(?P<done>\d{1,12}) ?/ ?(?P<all>\d{1,12})\b")
_OVER = later(r"(?i)\b(?:saved|successfully|finished|completed?(?! (?:epoch|step|iteration)s?\b)|done|took)\b")


class Stuck(Struct, frozen=True):
    """A rank that waits: in which collective of which group (``""``: not told)."""

    who: int
    group: str
    seq: int
    op: str
    numel: int | None
    record: Record


class Detector(Struct):
    """Folds what the ranks say about their collectives; `derive` tells what follows from all of it."""

    waits: dict[tuple[int, int], Record] = field(default_factory=dict)
    unnumbered: dict[int, Record] = field(default_factory=dict)
    """Who waits in what, where PyTorch (before 1.13) does not number its collectives."""
    states: dict[tuple[str, int], Record] = field(default_factory=dict)
    latest: dict[str, Record] = field(default_factory=dict)
    """The last sign of progress in each file, before somebody gave up there."""
    ended: dict[str, Record] = field(default_factory=dict)
    """Where in each file somebody gave up first."""
    troubled: set[int] = field(default_factory=set)
    """Ranks that report a failure, whichever."""
    crashed: bool = False
    """A process ended on an error of its own before anybody gave up waiting."""

    def observe(self, record: Record) -> None:
        """Take one event in."""
        file = record.line.file
        if not COMING_UP.isdisjoint(record.signs) and (file in self.ended or "restart" in record.signs):
            self._start_anew()
        if record.format == "progress":
            if file not in self.ended and (file in self.latest or len(self.latest) < MAX_RANKS):
                self.latest[file] = record
        elif record.level != "info":
            self._see_trouble(record)
        if record.kind in TIMEOUTS or record.kind in STATES:
            self._see_rank(record)

    def _start_anew(self) -> None:
        for memory in (self.waits, self.unnumbered, self.states, self.latest, self.ended, self.troubled):
            memory.clear()
        self.crashed = False

    def _see_trouble(self, record: Record) -> None:
        """Who gave up in which file, who crashed before that, and which ranks complain at all."""
        file = record.line.file
        if ("timed out" in record.signs or _GLOO_LIMIT.search(record.text)) and len(self.ended) < MAX_RANKS:
            self.ended.setdefault(file, record)
        elif record.level == "fatal" and record.format in OWN_ERRORS and file not in self.ended:
            self.crashed = self.crashed or not self.ended or not _FALLOUT.search(record.text)
        if record.rank is not None and record.kind not in STATES and len(self.troubled) < MAX_RANKS:
            self.troubled.add(record.rank)

    def _see_rank(self, record: Record) -> None:
        who = _who(record)
        if who is None or len(self.waits) + len(self.states) > MAX_RANKS:
            return
        if record.kind in STATES:
            known = self.states.get((_group(record), who))
            if known is None or "last_enqueued" not in known.fields:
                self.states[_group(record), who] = record
        elif (seq := _int(_work(record, "seq"))) is not None:
            self.waits.setdefault((who, seq), record)
        elif "op" in record.fields:
            self.unnumbered.setdefault(who, record)

    def derive(self, state: JobState) -> list[Record]:
        """The events that follow from all that was observed."""
        groups: dict[str, list[Stuck]] = {}
        for stuck in self.stuck():
            groups.setdefault(stuck.group, []).append(stuck)
        found: list[Record] = []
        for name, members in sorted(groups.items()):
            found += self._of_group(name, members, state)
        return [*found, *self._one_apart(state), *self._busy(state)]

    def _one_apart(self, state: JobState) -> list[Record]:
        """Of ranks whose collectives have no numbers exactly one waits in another operation than all the rest.

        Groups of a model's parallel parts show several ranks on each side.
        """
        sides: dict[str, list[Record]] = {}
        for record in self.unnumbered.values():
            sides.setdefault(str(record.fields["op"]), []).append(record)
        if len(sides) != 2 or self.waits or not POINT_TO_POINT.isdisjoint(sides):
            return []
        odd, most = sorted(sides.values(), key=len)
        if len(odd) != 1 or len(most) < FEWEST_WAITING:
            return []
        ops: dict[str, Value] = {"op": most[0].fields["op"], "other_op": odd[0].fields["op"]}
        found = {**ops, **_named("odd", odd, state)}
        return [derived("collective_mismatch", e, found) for e in (odd[0], most[0])]

    def stuck(self) -> Iterator[Stuck]:
        """Every rank that waits, its group taken from the state line of the same rank and number."""
        group_of = {(who, e.fields.get("work")): group for (group, who), e in self.states.items()}
        names = {group for group, _ in self.states} | {g for e in self.waits.values() if (g := _group(e))}
        only = next(iter(names)) if len(names) == 1 else ""
        for (who, seq), record in self.waits.items():
            numel = _work(record, "numel_in")
            op = str(_work(record, "op") or "")
            yield Stuck(who, group_of.get((who, seq)) or _group(record) or only, seq, op, _int(numel), record)

    def _of_group(self, name: str, members: list[Stuck], state: JobState) -> list[Record]:
        first: dict[int, Stuck] = {}
        for stuck in sorted(members, key=lambda s: s.record.order):
            first.setdefault(stuck.who, stuck)
        waiting = [s for s in first.values() if s.op not in POINT_TO_POINT]
        if not waiting:
            return []
        clash = _mismatch(waiting, known=name != "")
        if clash:
            unsure = sum(group == name and who not in first for group, who in self.states)
            return _mismatch_events(clash, unsure, state)
        behind = self._behind(name, waiting)
        if behind:
            return _behind_events(behind, waiting, state)
        return self._absent(waiting, state) if name in DEFAULT_GROUPS else []

    def _behind(self, name: str, waiting: list[Stuck]) -> dict[int, Record]:
        """Ranks of the group that live, do not wait themselves, and have not enqueued what the others wait for."""
        goal = min(s.seq for s in waiting)
        stuck = {s.who for s in waiting}
        own = ((who, e) for (group, who), e in self.states.items() if group == name != "" and who not in stuck)
        return {who: e for who, e in own if (at := _int(e.fields.get("last_enqueued"))) is not None and at < goal}

    def _absent(self, waiting: list[Stuck], state: JobState) -> list[Record]:
        """All ranks but one that spoke in these logs wait in the same collective, and that one reports nothing.

        Not at the very start: there nothing has ever worked, and who is silent tells nothing.
        """
        there = {s.who for s in waiting}
        missing = sorted(state.places.ranks - there)
        first = waiting[0]
        if len({s.seq for s in waiting}) > 1 or len(there) < FEWEST_WAITING or len(missing) != 1:
            return []
        few = len(there) < (state.places.expected or 0) * MOST
        if first.seq < FEWEST_WAITING or few or missing[0] in self.troubled:
            return []
        if any(who == missing[0] and "last_enqueued" in e.fields for (_, who), e in self.states.items()):
            return []
        fields: dict[str, Value] = {"seq": first.seq, "op": first.op, "missing": (missing[0],)}
        return [derived("missing_rank", first.record, fields)]

    def _busy(self, state: JobState) -> list[Record]:
        """Work of one rank that was under way when the first of the others gave up."""
        if not self.ended or self.crashed:
            return []
        first = min(self.ended.values(), key=lambda e: e.order)
        busy = [e for file, e in self.latest.items() if self._kept_others_waiting(file, e, state)]
        if not busy:
            return []
        last = busy[0]
        phase = "resume" if _skips(last) else str(last.fields.get("phase", ""))
        work = str(last.fields.get("what") or last.text).strip()[:120]
        fields: dict[str, Value] = {"phase": phase, "work": work}
        if len(busy) == 1:
            fields |= _named("late", busy, state)
            if "late" not in fields and (rank := self._one_absent(state, last)) is not None:
                fields["late"] = (rank,)
        wait: dict[str, Value] = {k: v for k, v in first.fields.items() if k in ("seq", "op", "timeout_ms")}
        return [derived("straggler", record, {**wait, **fields}) for record in (last, first)]

    def _kept_others_waiting(self, file: str, busy: Record, state: JobState) -> bool:
        """Whether ``busy``, the last progress in its file, is of a rank that had not come when the others gave up."""
        end, who = self.ended.get(file), state.places.rank_of(busy)
        if (end is None and who is None) or not _under_way(busy, end):
            return False
        if (busy.kind == "progress.step" or busy.fields.get("phase") == "resume") and not _skips(busy):
            return False
        return who is None or (not any(rank == who for rank, _ in self.waits) and not self._arrived(who))

    def _arrived(self, who: int) -> bool:
        """Whether the state of ``who`` says that it had started all that the others wait for."""
        goal = min((seq for _, seq in self.waits), default=None)
        own = [_int(e.fields.get("last_enqueued")) for (_, rank), e in self.states.items() if rank == who]
        return goal is not None and any(at is not None and at >= goal for at in own)

    def _one_absent(self, state: JobState, busy: Record) -> int | None:
        """The one rank that does not wait, where all others do (or the local rank that is busy, on a single node)."""
        waiting = {who for who, _ in self.waits}
        absent = set(range(max(state.places.expected or 0, max(waiting, default=0) + 1))) - waiting
        local = busy.source.local_rank
        if local in absent and max((*waiting, *state.places.ranks), default=0) < ONE_NODE:
            return local
        if 0 in absent and busy.fields.get("phase") in FIRST_ALONE:
            return 0
        return absent.pop() if len(absent) == 1 and len(waiting) > 1 else None


def _who(record: Record) -> int | None:
    """The global rank, or the rank in its group where only that is told."""
    return record.rank if record.rank is not None else _int(record.fields.get("group_rank"))


def _group(record: Record) -> str:
    return str(record.fields.get("pg", ""))


def _work(record: Record, name: str) -> Value | None:
    if name in record.fields:
        return record.fields[name]
    hit = _WORK.search(record.text)
    return hit[name] if hit else None


def _int(value: Value | None) -> int | None:
    return int(value) if isinstance(value, int) or (isinstance(value, str) and value.isdecimal()) else None


def _named(name: str, records: Collection[Record], state: JobState) -> dict[str, Value]:
    """The ranks and hosts of ``events`` as two fields, as far as they are known."""
    ranks = sorted({r for e in records if (r := state.places.rank_of(e)) is not None})
    hosts = sorted({h for e in records if (h := state.places.host_of(e))})
    fields: dict[str, Value] = {name: tuple(ranks)} if ranks else {}
    return {**fields, f"{name}_hosts": tuple(hosts)} if hosts else fields


def _mismatch(waiting: list[Stuck], *, known: bool) -> tuple[list[Stuck], list[Stuck]] | None:
    """The two sides (the larger one first) that ran different collectives under one number, if there are."""
    sides: dict[tuple[int, str, int | None], list[Stuck]] = {}
    for s in waiting:
        sides.setdefault((s.seq, s.op, s.numel if s.op in ALIKE else None), []).append(s)
    keys = sorted(sides, key=lambda k: (-len(sides[k]), k[0], k[1], k[2] or 0))
    for i, a in enumerate(keys):
        for b in keys[i + 1 :]:
            apart = known and a[1] in FULL and b[1] in FULL and abs(a[0] - b[0]) > 1
            if apart or (a[0] == b[0] and (known or a[0] > FEWEST_WAITING)):
                return sides[a], sides[b]
    return None


def _mismatch_events(sides: tuple[list[Stuck], list[Stuck]], unsure: int, state: JobState) -> list[Record]:
    """``unsure`` ranks wait as well, nobody knows on which side."""
    most, odd = sides
    fields: dict[str, Value] = {
        "seq": min(most[0].seq, odd[0].seq),
        "op": _shape(most[0], odd[0]),
        "other_op": _shape(odd[0], most[0]),
        "ranks": tuple(sorted(s.who for s in odd)),
    }
    if len(odd) + unsure < len(most) or len(odd) * CLEARLY <= len(most):
        fields |= _named("odd", [s.record for s in odd], state)
    return [derived("collective_mismatch", s[0].record, fields) for s in (odd, most)]


def _shape(own: Stuck, other: Stuck) -> str:
    """How to tell ``own`` from ``other`` in words."""
    if own.seq != other.seq:
        return f"{own.op} (number {own.seq})"
    return own.op if own.op != other.op else f"{own.op} of {own.numel} elements"


def _behind_events(behind: dict[int, Record], waiting: list[Stuck], state: JobState) -> list[Record]:
    """Few ranks behind many kept them waiting; many behind few: the few ran one collective more."""
    first = waiting[0]
    fields: dict[str, Value] = {"seq": first.seq, "op": first.op}
    if len(behind) > len(waiting):
        fields |= {**_named("odd", [s.record for s in waiting], state), "other_op": "nothing"}
        return [derived("collective_mismatch", first.record, fields)]
    fields |= {"phase": "enqueue", "work": f"it had not started {first.op} number {first.seq}"}
    fields |= _named("late", list(behind.values()), state)
    return [derived("straggler", record, fields) for record in (*behind.values(), first.record)]


def _skips(busy: Record) -> bool:
    """Whether a rank replays its data."""
    replays = busy.kind == "progress.step" or busy.fields.get("phase") == "resume"
    return replays and _SKIP.search(busy.text) is not None


def _under_way(busy: Record, end: Record | None) -> bool:
    """Whether the work that ``busy`` tells of was not over when the others gave up (``end``: in the same file)."""
    if end is not None and end.line.number - busy.line.number > SLACK_LINES:
        return False
    value, total = busy.fields.get("value"), busy.fields.get("total")
    if isinstance(value, int) and isinstance(total, int):
        return value < total
    if busy.kind == "progress.step":
        return True
    if busy.fields.get("phase") not in ("save", "eval", "data", "compile", "resume"):
        return False
    share = _SHARE.search(busy.text)  # "368/412 kernels done" is not over
    return int(share["done"]) < int(share["all"]) if share else not _OVER.search(busy.text)
