"""Where each rank sits: host, local rank, process and GPU; how many ranks a node has; which group has which members.

Folded while the events stream by, in bounded memory.  Who says what: NCCL's comm lines (group rank, CUDA device, bus
id, nNodes and localRanks), torchrun's list of a node's workers, its summaries, Lightning's and MPI's lines of who is
where, nccl-tests' list of ranks, and what launchers and prefixes put in front of a line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct, field

from logdoctor.model import Event, ProcessGroup, Value
from logdoctor.reasoning.addresses import short_host

MAX_SEATS = 1 << 16
MAX_GROUPS = 1 << 12
GROUPS_SHOWN = 64
MAX_MEMBERS = 1 << 14
MAX_PLACES = 1 << 10
PLACED = ("kubernetes.node_of_pod", "batch.host")
"""How a scheduler tells where it put the job; inside, the same place may go by another name (a pod's)."""
Process = tuple[str, int, int]
"""Host, pid and CUDA device: one process may drive several GPUs, each as a rank of its own."""


class Ranks(Protocol):
    """What must be known of the job to tell a process's rank."""

    expected: int | None

    def rank_at(self, host: str, pid: int | None) -> int | None:
        """The global rank of a process; ``host`` without its domain."""
        ...


class Seat(Struct):
    """Where a rank runs, as far as it is told; ``gpu`` is the ordinal that CUDA counts inside the process."""

    host: str | None = None
    local_rank: int | None = None
    pid: int | None = None
    gpu: int | None = None
    bus_id: str | None = None

    def learn(self, other: Seat) -> None:
        """Fill in what is not known yet."""
        self.host = self.host or other.host
        self.local_rank = other.local_rank if self.local_rank is None else self.local_rank
        self.pid = other.pid if self.pid is None else self.pid
        self.gpu = other.gpu if self.gpu is None else self.gpu
        self.bus_id = self.bus_id or other.bus_id


class _Comm(Struct):
    """A process's place in the widest communicator that it told of."""

    rank: int
    width: int
    seat: Seat
    said: int | None
    """The global rank, where the line itself tells it."""


class _Group(Struct):
    """A process group: its size (0: not told), and who has which rank in it (a global rank or a process)."""

    size: int = 0
    members: dict[int, int | Process] = field(default_factory=dict)


class Seats:
    """Folds who is where."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self.per_node: int | None = None
        self.nodes: int | None = None
        self.placed: dict[str, None] = {}
        """The hosts that a scheduler names."""
        self._widest = 0
        self._told: dict[int, Seat] = {}
        self._comms: dict[Process, _Comm] = {}
        self._on_gpu: dict[str, dict[Process, None]] = {}
        self._groups: dict[str, _Group] = {}

    def observe(self, event: Event) -> None:
        """Take one event in."""
        kind, rank = event.kind, event.rank
        if kind in ("nccl.comm_init", "nccl.comm_end", "nccl.comm_layout", "nccl_tests.rank"):
            self._see_comm(event)
        elif kind in ("elastic.workers", "elastic.config"):
            self._see_node(event)
        elif kind in PLACED and event.host and len(self.placed) < MAX_PLACES:
            self.placed.setdefault(short_host(event.host))
        if rank is not None:
            self._see_rank(event, rank)

    def _see_rank(self, event: Event, rank: int) -> None:
        seat = self._told.get(rank)
        if seat is None:
            if len(self._told) >= MAX_SEATS:
                return
            seat = self._told[rank] = Seat()
        if event.host and not seat.host:
            seat.host = event.host
        if seat.local_rank is None or seat.pid is None:
            own = event.speaker.rank == rank
            local = event.fields.get("local_rank", event.speaker.local_rank if own else None)
            pid = event.fields.get("pid", event.speaker.pid if own else None)
            seat.learn(Seat(local_rank=_int(local), pid=_int(pid)))
        if seat.gpu is None and event.dialect in ("cuda", "nccl"):
            seat.gpu = _int(event.fields.get("device"))
        if "pg" in event.fields:
            self._see_group(event, rank)

    def _see_node(self, event: Event) -> None:
        ranks = event.fields.get("ranks")
        if isinstance(ranks, tuple) and ranks:
            self.per_node = max(self.per_node or 0, len(ranks))
            for local, rank in enumerate(ranks):
                if isinstance(rank, int) and len(self._told) < MAX_SEATS:
                    self._told.setdefault(rank, Seat()).learn(Seat(event.host, local))
        else:
            self.per_node = self.per_node or _int(event.fields.get("nproc_per_node"))

    def _see_comm(self, event: Event) -> None:
        fields = event.fields
        rank, width = _int(fields.get("group_rank")), _int(fields.get("nranks")) or 0
        if rank is None or event.pid is None:
            return
        nodes, here = _int(fields.get("nnodes")), _int(fields.get("local_ranks"))
        if nodes and here and width >= self._widest:
            self._widest, self.nodes, self.per_node = width, nodes, here
        device = _int(fields.get("cuda_dev", fields.get("device")))
        process = (event.host or "", event.pid, -1 if device is None else device)
        bus = fields.get("bus_id")
        seat = Seat(event.host, None, event.pid, device, bus if isinstance(bus, str) else None)
        known = self._comms.get(process)
        if known is None:
            if len(self._comms) >= MAX_SEATS:
                return
            said = rank if event.kind == "nccl_tests.rank" else event.speaker.rank
            known = self._comms[process] = _Comm(rank, width, seat, said)
        elif width > known.width:
            known.rank, known.width = rank, width
        known.seat.learn(seat)
        if seat.bus_id:
            self._on_gpu.setdefault(seat.bus_id, {}).setdefault(process)
        local = _int(fields.get("group_local_rank"))
        if local is not None and width >= known.width:
            known.seat.local_rank = local
        name = fields.get("comm_id")
        if isinstance(name, str):
            said = event.speaker.rank
            self._join(f"NCCL {name}", width, rank, process if said is None else said)

    def _see_group(self, event: Event, rank: int) -> None:
        place = _int(event.fields.get("group_rank"))
        name = event.fields.get("pg_desc") or event.fields["pg"]
        if place is not None and event.speaker.rank is not None:
            self._join(str(name), 0, place, rank)

    def _join(self, name: str, size: int, place: int, who: int | Process) -> None:
        group = self._groups.get(name)
        if group is None:
            if len(self._groups) >= MAX_GROUPS:
                return
            group = self._groups[name] = _Group()
        group.size = max(group.size, size)
        if len(group.members) < MAX_MEMBERS:
            group.members.setdefault(place, who)

    # ── what follows ────────────────────────────────────────────────────────────────────────────────────────────

    def of_ranks(self, known: Ranks) -> dict[int, Seat]:
        """Each rank's seat, as far as the whole log tells."""
        seats = {rank: Seat(s.host, s.local_rank, s.pid, s.gpu, s.bus_id) for rank, s in self._told.items()}
        for process, comm in self._comms.items():
            rank = self._rank_of(process, known)
            if rank is not None:
                seats.setdefault(rank, Seat()).learn(comm.seat)
        self._fill_nodes(seats, known.expected or 0)
        return seats

    def _fill_nodes(self, seats: dict[int, Seat], expected: int) -> None:
        """Where ranks fill node after node, a rank without a host is where all its neighbours are."""
        size = self.per_node or 0
        if size < 2 or expected > MAX_SEATS:
            return
        for first in range(0, expected, size):
            node = range(first, min(first + size, expected))
            hosts = {h for rank in node if rank in seats and (h := seats[rank].host)}
            for rank in node if len(hosts) == 1 and _one_node_only(hosts, first, seats, size) else ():
                seats.setdefault(rank, Seat()).learn(Seat(next(iter(hosts))))

    def _rank_of(self, process: Process, known: Ranks) -> int | None:
        """A process's global rank: a communicator tells it only if it spans the whole job."""
        comm = self._comms.get(process)
        if comm and comm.said is not None:
            return comm.said
        if comm and comm.width and comm.width >= (known.expected or 0):
            return comm.rank
        return known.rank_at(short_host(process[0]), process[1])

    def rank_on_gpu(self, host: str, bus_id: str, known: Ranks) -> int | None:
        """The rank that computes on a GPU of ``host`` ("": not told), where only one is known to."""
        there = [p for p in self._on_gpu.get(bus_id, ()) if not host or short_host(p[0]) == host]
        ranks = {self._rank_of(process, known) for process in there}
        return ranks.pop() if len(ranks) == 1 else None

    def groups(self, known: Ranks) -> tuple[ProcessGroup, ...]:
        """The process groups of which at least two members are known, the largest first."""
        found = []
        for name, group in self._groups.items():
            places = {p: w if isinstance(w, int) else self._rank_of(w, known) for p, w in sorted(group.members.items())}
            ranks = tuple(sorted({r for r in places.values() if r is not None}))
            if len(ranks) > 1:
                found.append(ProcessGroup(name, group.size or None, ranks))
        return tuple(sorted(found, key=lambda g: (-len(g.ranks), g.ranks, g.name))[:GROUPS_SHOWN])


def _one_node_only(hosts: set[str], first: int, seats: Mapping[int, Seat], size: int) -> bool:
    """Whether the node before and the one after have other hosts: else ranks are dealt out in another way."""
    around = (*range(first - size, first), *range(first + size, first + 2 * size))
    return not any(rank in seats and seats[rank].host in hosts for rank in around)


def _int(value: Value | None) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 1 << 31 else None
