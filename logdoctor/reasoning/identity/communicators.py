"""Which processes make a communicator, and which ranks a process group: what NCCL's and torch's own numbers tell.

A communicator counts its own members: only the one that spans the whole job tells the ranks of the job.  So all is kept
by process until the whole log is read.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from logdoctor.model import ProcessGroup, Record, Value
from logdoctor.reasoning.identity.addresses import short_host

COMMS = ("nccl.comm_init", "nccl.comm_end", "nccl.comm_layout", "nccl_tests.rank")
MAX_PROCESSES = 1 << 16
MAX_GROUPS = 1 << 12
GROUPS_SHOWN = 64
MAX_MEMBERS = 1 << 14
Process = tuple[str, int, int]
"""Host, pid and CUDA device: one process may drive several GPUs, each as a rank of its own."""


class Member(Struct):
    """A process's place in the widest communicator that it told of."""

    rank: int
    width: int
    said: int | None
    """The global rank, where the line itself tells it."""
    bus_id: str | None = None
    local_rank: int | None = None


RankOf = Callable[[Process, Member | None], int | None]
"""Tells a process's global rank, of which the communicators know so much."""


class _Group(Struct):
    """A process group: its size (0: not told), and who has which rank in it (a global rank or a process)."""

    size: int = 0
    members: dict[int, int | Process] = field(default_factory=dict)


class Communicators:
    """Folds who is member of what."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self.nodes: int | None = None
        self.per_node: int | None = None
        self.members: dict[Process, Member] = {}
        self._widest = 0
        self._on_gpu: dict[str, dict[Process, None]] = {}
        self._groups: dict[str, _Group] = {}

    def observe(self, record: Record) -> None:
        """Take one event in, of the kinds in `COMMS`."""
        fields = record.fields
        rank, width = number(fields.get("group_rank")), number(fields.get("nranks")) or 0
        if rank is None or record.pid is None:
            return
        self._see_layout(record, width)
        device = number(fields.get("cuda_dev", fields.get("device")))
        process = (short_host(record.host or ""), record.pid, -1 if device is None else device)
        if process not in self.members and len(self.members) >= MAX_PROCESSES:
            return
        self._see_member(record, process, rank, width)
        said, name = record.source.rank, fields.get("comm_id")
        if isinstance(name, str):
            self._join(f"NCCL {name}", width, rank, process if said is None else said)

    def _see_layout(self, record: Record, width: int) -> None:
        nodes, here = number(record.fields.get("nnodes")), number(record.fields.get("local_ranks"))
        if nodes and here and width >= self._widest:
            self._widest, self.nodes, self.per_node = width, nodes, here

    def _see_member(self, record: Record, process: Process, rank: int, width: int) -> None:
        known = self.members.get(process)
        if known is None:
            said = rank if record.kind == "nccl_tests.rank" else record.source.rank
            known = self.members[process] = Member(rank, width, said)
        elif width > known.width:
            known.rank, known.width = rank, width
        bus, local = record.fields.get("bus_id"), number(record.fields.get("group_local_rank"))
        if isinstance(bus, str) and bus:
            known.bus_id = known.bus_id or bus
            self._on_gpu.setdefault(bus, {}).setdefault(process)
        if local is not None and width >= known.width:
            known.local_rank = local

    def see_group(self, record: Record) -> None:
        """Take one event in, of a rank that tells its place in a process group."""
        place, name = number(record.fields.get("group_rank")), record.fields.get("pg_desc") or record.fields["pg"]
        if place is not None and record.source.rank is not None and record.rank is not None:
            self._join(str(name), 0, place, record.rank)

    def _join(self, name: str, size: int, place: int, who: int | Process) -> None:
        group = self._groups.get(name)
        if group is None:
            if len(self._groups) >= MAX_GROUPS:
                return
            group = self._groups[name] = _Group()
        group.size = max(group.size, size)
        if len(group.members) < MAX_MEMBERS:
            group.members.setdefault(place, who)

    def ranks_on_gpu(self, host: str, bus_id: str, rank_of: RankOf) -> set[int | None]:
        """The ranks that compute on a GPU of ``host`` ("": not told)."""
        there = (p for p in self._on_gpu.get(bus_id, ()) if not host or p[0] == host)
        return {rank_of(process, self.members.get(process)) for process in there}

    def groups(self, rank_of: RankOf) -> tuple[ProcessGroup, ...]:
        """The process groups of which at least two members are known, the largest first."""
        found = []
        for name, group in self._groups.items():
            known = (w if isinstance(w, int) else rank_of(w, self.members.get(w)) for w in group.members.values())
            ranks = tuple(sorted({rank for rank in known if rank is not None}))
            if len(ranks) > 1:
                found.append(ProcessGroup(name, group.size or None, ranks))
        return tuple(sorted(found, key=lambda g: (-len(g.ranks), g.ranks, g.name))[:GROUPS_SHOWN])


def number(value: Value | None) -> int | None:
    """``value``, if it is a whole number that counts something."""
    return value if isinstance(value, int) and 0 <= value < 1 << 31 else None
