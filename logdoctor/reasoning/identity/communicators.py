"""Members of NCCL communicators and ranks of torch's process groups.

A communicator numbers its own members. Only the communicator that spans the whole job gives the global ranks. So the
members are kept by process until the whole log is read.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace

from logdoctor.model import ProcessGroup, Record, Value
from logdoctor.reasoning.identity.addresses import short_host

MAX_PROCESSES = 1 << 16
MAX_GROUPS = 1 << 12
MAX_LISTED_GROUPS = 64
MAX_MEMBERS = 1 << 14
Gpu = tuple[str, int, int]
"""Host, pid and CUDA device. A process may drive several GPUs, each as a rank of its own."""


class Member(Struct, frozen=True):
    """Rank of a process in its largest communicator."""

    rank: int
    size: int
    global_rank: int | None
    """The global rank, if the line itself gives it."""
    bus_id: str | None = None
    local_rank: int | None = None


RankOf = Callable[[Gpu, Member | None], int | None]
"""Function from a GPU of a process and its largest communicator to the global rank."""


class _Group(Struct, frozen=True):
    """Process group with its members."""

    size: int = 0
    """Number of members, 0 if no line gives it."""
    members: dict[int, int | Gpu] = field(default_factory=dict)
    """Global rank or process by number in the group."""


class Communicators:
    """Collected members of all communicators and groups."""

    def __init__(self, rank_of: RankOf) -> None:
        self._rank_of = rank_of
        self.nodes: int | None = None
        self.per_node: int | None = None
        self.members: dict[Gpu, Member] = {}
        self._largest_size = 0
        self._groups: dict[str, _Group] = {}

    def observe(self, record: Record) -> None:
        """Read a record about a member of a communicator."""
        fields = record.fields
        rank, size = small_number(fields.get("group_rank")), small_number(fields.get("nranks")) or 0
        if rank is None or record.pid is None:
            return
        self._read_layout(record, size)
        device = small_number(fields.get("cuda_dev", fields.get("device")))
        process = (short_host(record.host or ""), record.pid, -1 if device is None else device)
        if process not in self.members and len(self.members) >= MAX_PROCESSES:
            return
        self._read_member(record, process, rank, size)
        global_rank, name = record.source.rank, fields.get("comm_id")
        if isinstance(name, str):
            self._add_to_group(f"NCCL {name}", size, rank, process if global_rank is None else global_rank)

    def _read_layout(self, record: Record, size: int) -> None:
        nodes, per_node = small_number(record.fields.get("nnodes")), small_number(record.fields.get("local_ranks"))
        if nodes and per_node and size >= self._largest_size:
            self._largest_size, self.nodes, self.per_node = size, nodes, per_node

    def _read_member(self, record: Record, process: Gpu, rank: int, size: int) -> None:
        member = self.members.get(process)
        bus, local = record.fields.get("bus_id"), small_number(record.fields.get("group_local_rank"))
        if member is None:
            global_rank = rank if record.kind == "nccl_tests.rank" else record.source.rank
            member = Member(rank, size, global_rank)
        elif size > member.size:
            member = replace(member, rank=rank, size=size)
        if local is not None and size >= member.size:
            member = replace(member, local_rank=local)
        if isinstance(bus, str) and bus and not member.bus_id:
            member = replace(member, bus_id=bus)
        self.members[process] = member

    def observe_group(self, record: Record) -> None:
        """Read the number of a rank in a process group."""
        place, name = small_number(record.fields.get("group_rank")), record.fields.get("pg_desc") or record.fields["pg"]
        if place is not None and record.source.rank is not None and record.rank is not None:
            self._add_to_group(str(name), 0, place, record.rank)

    def _add_to_group(self, name: str, size: int, place: int, member: int | Gpu) -> None:
        if name not in self._groups and len(self._groups) >= MAX_GROUPS:
            return
        group = self._groups.get(name) or _Group()
        self._groups[name] = replace(group, size=max(group.size, size))
        if len(group.members) < MAX_MEMBERS:
            group.members.setdefault(place, member)

    def ranks_on_gpu(self, host: str, bus_id: str) -> set[int | None]:
        """Return the ranks that compute on a GPU.

        An empty ``host`` means any host.
        """
        members = ((gpu, member) for gpu, member in self.members.items() if member.bus_id == bus_id)
        return {self._rank_of(gpu, member) for gpu, member in members if not host or gpu[0] == host}

    def groups(self) -> tuple[ProcessGroup, ...]:
        """Return the process groups with two or more known ranks, largest first."""
        groups = []
        for name, group in self._groups.items():
            members = (
                m if isinstance(m, int) else self._rank_of(m, self.members.get(m)) for m in group.members.values()
            )
            ranks = tuple(sorted({rank for rank in members if rank is not None}))
            if len(ranks) > 1:
                groups.append(ProcessGroup(name, group.size or None, ranks))
        return tuple(sorted(groups, key=lambda g: (-len(g.ranks), g.ranks, g.name))[:MAX_LISTED_GROUPS])


def small_number(value: Value | None) -> int | None:
    """Return ``value`` if it is an integer from 0 to 2**31 - 1."""
    return value if isinstance(value, int) and 0 <= value < 1 << 31 else None
