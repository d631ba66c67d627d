"""Things that ranks or hosts say differently, or alike, and values that no machine has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from logdoctor.model import Record
from logdoctor.model.numbers import number
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_of_other, derive_record
from logdoctor.reasoning.identity.addresses import short_host
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.questions import SEARCHED, asks, first_of_each, split_odd
from logdoctor.reasoning.timeline import Timeline

MIN_HOSTS = 3
"""With two hosts either could be odd."""
MIN_REPEATS, MIN_RANKS = 3, 2
MAX_OTHER_RESULTS = 2
_RESULT = later(r"\d\.\d{3}|\de[-+]\d")
"""Number with so many digits that equal values are no chance, such as a loss."""
_FINGERPRINT = later(
    r"Rank (?P<rank>\d{1,7}) is running (?:inconsistent )?collective: CollectiveFingerPrint\("
    r"(?:SequenceNumber=(?P<seq>\d{1,18}),? ?)?OpType=(?P<op>\w{1,40})(?:, TensorShape=\[(?P<shape>[^\]\n]{0,60})\])?"
)
_VARIES = later(r"(?<= (?:on|at) )[\w.-]+|(?i:host(?:name)?|node|processor)[ :=]{1,3}[\w.-]+|\d+")
_SIZE = later(
    r"(?i)(?:allocate|allocation of|malloc(?:\(size=)?|requested|request(?:ed)? of|mmap|reserve)\b[ :=(]{0,3}"
    r"(?P<number>-?\d{1,22}(?:\.\d{1,6})?) ?(?P<unit>bytes|B|[KMGTPE]i?B)\b"
)
_FACTORS = {"B": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
TOO_LARGE = 1 << 45
"""32 TiB.  No host of a cluster has so much memory today."""
OVERFLOW = 1 << 63


class Call(Struct, frozen=True):
    """Operation with its shape that a rank runs, and its sequence number."""

    op: str
    shape: str
    seq: int | None
    record: Record


@asks("failing")
def collective_mismatch(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield ``ledger.collective_mismatch`` for few ranks that run another collective than most.

    The fields are seq, op, other_op, odd, odd_hosts and ranks. It stands on the message of the odd rank and on that of
    another rank.

    With TORCH_DISTRIBUTED_DEBUG=DETAIL each rank that sees a mismatch prints its own call first. Then it prints the
    call of a single other rank (PyTorch 1.9 to 2.9, ProcessGroupWrapper.cpp). It may misread the bytes of that rank, so
    the message of a rank about itself counts more. No side is odd if both are equally large. If only two ranks are
    printed, they are the two that differ.
    """
    own: dict[int, Call] = {}
    reported: dict[int, Call] = {}
    for record in t.of("failing"):
        if "Detected mismatch between collectives" in record.text[:SEARCHED]:
            for place, match in enumerate(_FINGERPRINT.finditer(record.text[:SEARCHED])):
                if (rank := number(match["rank"])) is not None:
                    call = Call(match["op"], match["shape"] or "", number(match["seq"]), record)
                    (reported if place else own).setdefault(rank, call)
    calls = {**reported, **own}
    most, odd = split_odd({rank: (call.op, call.shape) for rank, call in calls.items()})
    if len(calls) == 2:
        most, odd = [max(calls)], sorted(calls)
    elif not 0 < len(odd) < len(most):
        return
    other, usual = calls[odd[0]], calls[most[0]]
    for record in {call.record.order: call.record for call in (other, usual)}.values():
        yield derive_record(
            "collective_mismatch",
            record,
            op=usual.op,
            op_shape=usual.shape,
            other_op=other.op,
            other_op_shape=other.shape,
            ranks=tuple(sorted(odd)),
            odd=tuple(sorted(odd)),
            odd_hosts=state.processes.hosts_with(odd),
            seq=other.seq if other.seq == usual.seq else None,
        )


@asks("nccl.*")
def odd_version(t: Timeline, _: JobState) -> Iterator[Record]:
    """Yield ``ledger.odd_version`` for each host that loaded another NCCL version than most.

    The fields are host, version and others_version.
    The version line often has no host (``NCCL version 2.21.5+cuda12.4``). Then it belongs to the only host in its file.
    """
    records = t.of("nccl.*")
    told = [e for e in records if e.tells("version")]
    by_host = first_of_each(told, lambda e: short_host(e.source.host or "") or None)
    hosts_of: dict[str, set[str]] = {}
    for record in records:
        if record.source.host:
            hosts_of.setdefault(record.line.file, set()).add(short_host(record.source.host))
    for file, record in first_of_each((e for e in told if not e.source.host), lambda e: e.line.file).items():
        if len(hosts := hosts_of.get(file, ())) == 1:
            by_host.setdefault(min(hosts), record)
    versions = {host: str(record.fields.get("version")) for host, record in by_host.items()}
    usual, odd = split_odd(versions)
    for host in odd if len(by_host) >= MIN_HOSTS and len(usual) > len(odd) else ():
        version, others = versions[host], versions[usual[0]]
        yield derive_of_other("odd_version", by_host[host], host=host, version=version, others_version=others)


@asks("program.roll_call", "lightning.rank")
def totals_differ(t: Timeline, _: JobState) -> Iterator[Record]:
    """Yield ``ledger.totals_differ`` if ranks name two sizes of the same job: size, others_size, odd (who names size).

    Lines of one form are compared, because a program may also number the members of a part of the job.
    """
    forms: dict[str, dict[tuple[int, int], Record]] = {}
    for rank, size, record in _roll_calls(t):
        forms.setdefault(_form(record), {}).setdefault((rank, size), record)
    for calls in forms.values():
        sizes = Counter(size for _, size in calls).most_common()
        if len(sizes) == 2:
            (usual, _count), (odd, _other) = sizes
            first = next(record for (_, size), record in calls.items() if size == odd)
            ranks = tuple(sorted(rank for rank, size in calls if size == odd))
            yield derive_record("totals_differ", first, size=odd, others_size=usual, odd=ranks)
            return


@asks("program.roll_call", "lightning.rank")
def ranks_twice(t: Timeline, _: JobState) -> Iterator[Record]:
    """Yield ``ledger.ranks_twice`` if each rank was told twice or more, and others never: ranks, missing, world.

    There are as many lines as the job has processes, and they are mixed: after a restart the ranks come one after the
    other again. It stands on the first line of a rank that was told before.
    Cases: corpus/ranks-of-two-nodes-count-from-0
    """
    forms: dict[tuple[str, str, int], list[tuple[int, Record]]] = {}
    for rank, size, record in _roll_calls(t):
        forms.setdefault((record.line.file, _form(record), size), []).append((rank, record))
    for (*_place, size), calls in forms.items():
        told = Counter(rank for rank, _ in calls)
        again = next((at for at, (rank, _) in enumerate(calls) if rank in dict(calls[:at])), 0)
        is_mixed = len(dict(calls[:again])) < len(told)
        if len(calls) == size and is_mixed and min(told.values()) > 1:
            missing = tuple(rank for rank in range(size) if rank not in told)
            ranks = tuple(sorted(told))
            yield derive_record("ranks_twice", calls[again][1], ranks=ranks, missing=missing, world=size)
            return


def _roll_calls(t: Timeline) -> Iterator[tuple[int, int, Record]]:
    """Yield rank, size of the job, and line of each process that tells both."""
    for record in t.of("program.roll_call", "lightning.rank"):
        size, rank = record.fields.get("nranks", record.fields.get("world_size")), record.rank
        if isinstance(size, int) and rank is not None:
            yield rank, size, record


def _form(record: Record) -> str:
    form: str = _VARIES.sub("#", record.text[:200])
    return form


@asks("works")
def told_alike(t: Timeline, _: JobState) -> Iterator[Record]:
    """Yield ``ledger.told_alike`` if several processes printed one step with one result.

    The fields are voices (their number), unit and step.
    The ranks of a distributed job print the same result as well, so a rule also asks for lines in which each process
    says that it is alone. Without ranks, two equal lines may be a process that prints to two places, and later lines
    may be another run. So three equal lines must come in a row, or before two other results.
    """
    results = [record for record in t.of("works") if _RESULT.search(record.text)]
    if not results:
        return
    first, repeats, run, longest = results[0], 0, 0, 0
    others: set[str] = set()
    before = ""
    for record in results:
        run = run + 1 if record.text == before else 1
        before, longest = record.text, max(longest, run)
        if record.text != first.text:
            others.add(record.text)
        elif len(others) < MAX_OTHER_RESULTS:
            repeats += 1
    ranks = {record.rank for record in results if record.text == first.text} - {None}
    voices = len(ranks) or max(repeats, longest)
    if voices >= (MIN_RANKS if ranks else MIN_REPEATS):
        unit, step = first.fields.get("unit"), first.fields.get("value")
        yield replace(derive_record("told_alike", first, voices=voices, unit=unit, step=step), level="info")


@asks("nccl.comm_init")
def shared_gpu(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield ``ledger.shared_gpu`` for ranks of one NCCL communicator on one GPU: group_ranks, host, bus_id, ranks.

    It stands on the line of the later rank, and tells ranks if the ranks of the job are known. Source: NCCL's lines
    ``Init START`` with ``commId`` and ``busId``. A communicator that was completed is no evidence, because ranks may
    share a GPU since NCCL 2.30.
    """
    seats: dict[tuple[str, str, str], dict[int, Record]] = {}
    complete: set[object] = set()
    for record in t.of("nccl.comm_init"):
        group, bus, rank = (record.fields.get(name) for name in ("comm_id", "bus_id", "group_rank"))
        if record.fields.get("phase") == "COMPLETE":
            complete.add(group)
        elif isinstance(group, str) and isinstance(bus, str) and isinstance(rank, int):
            seats.setdefault((group, short_host(record.host or ""), bus), {}).setdefault(rank, record)
    for (group, host, bus), members in seats.items():
        if len(members) > 1 and group not in complete:
            yield _shared_gpu(members, host, bus, state)
            return


def _shared_gpu(members: Mapping[int, Record], host: str, bus: str, state: JobState) -> Record:
    ranks = {rank for e in members.values() if (rank := state.processes.rank_of(e)) is not None}
    return derive_of_other(
        "shared_gpu",
        [*members.values()][-1],
        group_ranks=", ".join(map(str, sorted(members))),
        host=host,
        bus_id=bus,
        ranks=tuple(sorted(ranks)) if len(ranks) == len(members) else (),
    )


@asks("failing")
def impossible_size(t: Timeline, _: JobState) -> Iterator[Record]:
    """Yield ``ledger.impossible_size`` for each line that names a size that no machine can give.

    It is a negative number without its sign, or a shape that grew by mistake. The fields are wanted (as printed) and
    why (``overflow`` or ``too large``).
    """
    for record in t.of("failing"):
        if match := _SIZE.search(record.text[:SEARCHED]):
            size = float(match["number"]) * 1024 ** _FACTORS[match["unit"][0].upper()]
            if size < 0 or size >= TOO_LARGE:
                why = "overflow" if size < 0 or size >= OVERFLOW else "too large"
                yield derive_record("impossible_size", record, wanted=f"{match['number']} {match['unit']}", why=why)
