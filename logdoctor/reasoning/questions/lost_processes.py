"""Processes that NCCL's RAS lost: in its report, as text or JSON, and in its monitor.

A process has a pid and a host. Its rank is told by a communicator that lacks it, over the pid, or because as many
processes are dead as ranks are missing.
"""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.model import Record, Value
from logdoctor.reasoning.derived import derive_of_other
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.questions import asks
from logdoctor.reasoning.timeline import Timeline

WIDE_SPREAD = 3
"""Calls apart in one poll from which ranks differ. The poll of a job that runs finds them one or two apart."""

FEWEST_POLLS = 3
"""Polls in which the same counts show that the ranks stand still."""


@asks("nccl_ras.missing", "nccl_ras.communicator", "nccl.ras_spread", "tells stack")
def reported_ranks(t: Timeline, _state: JobState) -> Iterator[Record]:
    """Yield what a report tells of ranks: odd, odd_hosts, pids, gpus, count.

    - ``ledger.lost``        RAS calls them dead
    - ``ledger.unanswered``  they do not answer
    - ``ledger.apart``       they are behind in the calls of a communicator: op, fewest, most
    """
    by_kind: dict[tuple[str, str], list[Record]] = {}
    for record in t.of("nccl_ras.missing"):
        kind = "lost" if record.fields.get("state") == "dead" else "unanswered"
        by_kind.setdefault((record.line.file, kind), []).append(record)
    for (_, kind), records in by_kind.items():
        processes = {_process(record): record for record in records}
        yield derive_of_other(
            kind,
            records[0],
            odd=tuple(sorted({e.rank for e in records if e.rank is not None})),
            odd_hosts=tuple(dict.fromkeys(e.host for e in records if e.host)),
            pids=tuple(e.pid for e in processes.values() if e.pid is not None),
            gpus=tuple(dict.fromkeys(str(e.fields["gpu"]) for e in records if "gpu" in e.fields)),
            count=len(processes),
        )
    for record in t.of("nccl_ras.communicator", "nccl.ras_spread"):
        fewest, most = record.fields.get("fewest"), record.fields.get("most")
        if isinstance(fewest, int) and isinstance(most, int) and most - fewest >= WIDE_SPREAD:
            yield derive_of_other("apart", record, **record.fields)
    for record in () if t.of("tells stack") else _unmoved(t):
        yield derive_of_other("apart", record, **record.fields)


def _unmoved(t: Timeline) -> Iterator[Record]:
    """Yield communicators whose ranks differ narrowly, but alike in all of several polls.

    Stacks tell more: what the ranks behind do.
    """
    polls: dict[Value | None, list[Record]] = {}
    for record in t.of("nccl_ras.communicator"):
        polls.setdefault(record.fields.get("comm_id"), []).append(record)
    for records in polls.values():
        counts = {(e.fields.get("op"), e.fields.get("fewest"), e.fields.get("most")) for e in records}
        fewest, most = (records[0].fields.get(name) for name in ("fewest", "most"))
        files = {e.line.file for e in records}
        is_narrow = isinstance(fewest, int) and isinstance(most, int) and 0 < most - fewest < WIDE_SPREAD
        if is_narrow and len(counts) == 1 and len(files) >= FEWEST_POLLS:
            yield records[0]


@asks("nccl.ras_dead", "nccl.ras_event", "nccl_ras.event", "nccl.ras_problem")
def lost_processes(t: Timeline, _state: JobState) -> Iterator[Record]:
    """Yield ``ledger.lost`` for processes that RAS calls dead: odd (ranks), odd_hosts, pids, gpus, count.

    A process that came back is not lost.
    """
    back = {
        _process(e): e.order
        for e in t.of("nccl.ras_event", "nccl_ras.event")
        if e.fields.get("event") == "PEER_RECOVERED"
    }
    for record in t.of("nccl.ras_dead", "nccl.ras_event", "nccl_ras.event"):
        fields = record.fields
        if "event" not in fields:
            pids, hosts, gpus = _numbers(fields.get("pids")), fields.get("odd_hosts"), fields.get("gpus")
        elif fields.get("event") == "PEER_DEAD" and back.get(_process(record), -1) < record.order:
            pids = (record.pid,) if record.pid is not None else ()
            hosts, gpus = (record.host,) if record.host else (), (str(fields["gpu"]),) if "gpu" in fields else ()
        else:
            continue
        ranks = _ranks(t, record, pids)
        yield derive_of_other(
            "lost",
            record,
            odd=ranks,
            odd_hosts=hosts,
            pids=pids,
            gpus=gpus,
            count=fields.get("count", len(pids) or None),
        )


def _process(record: Record) -> tuple[str | None, int | None]:
    return record.host, record.pid


def _ranks(t: Timeline, dead: Record, pids: tuple[int, ...]) -> tuple[int, ...]:
    """Return the ranks of processes by the first communicator of the report that lacks them.

    RAS lists the largest first.
    """
    for group in t.of("nccl.ras_problem"):
        is_below = group.line.file == dead.line.file and group.order > dead.order
        if not is_below or group.fields.get("problem") != "INCOMPLETE":
            continue
        by_pid = dict(zip(_numbers(group.fields.get("odd_pids")), _numbers(group.fields.get("odd")), strict=False))
        if pids and by_pid.keys() >= {*pids}:
            return tuple(sorted(by_pid[pid] for pid in pids))
        missing = _numbers(group.fields.get("missing"))
        if missing and len(missing) == len(pids):
            return missing
    return ()


def _numbers(value: Value | None) -> tuple[int, ...]:
    return tuple(v for v in value if isinstance(v, int)) if isinstance(value, tuple) else ()
