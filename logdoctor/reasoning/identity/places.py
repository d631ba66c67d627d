"""Who sits where: each rank's host, local rank, process and GPU, as far as anybody tells.

Folded while the events stream by, in bounded memory.  Who tells: the prefixes of lines and what launchers put in front
of them, NCCL's lines of communicators, torchrun's list of a node's workers and its summaries, Lightning's and MPI's
lines of who is where, Slurm's ends of tasks, nccl-tests' list of ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from logdoctor.model import ProcessGroup, Record, Value
from logdoctor.reasoning.identity.addresses import are_two_hosts, is_address, own_name, short_host
from logdoctor.reasoning.identity.communicators import COMMS, Communicators, Member, Process, number
from logdoctor.reasoning.lifecycle.launchers import local_rank_of_end, names_an_end

MAX_RANKS = 1 << 20
MAX_HOSTS = 4096
MAX_ASSIGNED = 1 << 10
MAX_GUESSED = 1 << 16
"""In a larger job no rank is placed by its neighbours."""
WORLDS = ("c10d.barrier_wait", "c10d.barrier_done", "c10d.barrier_timeout")
"""Kinds of events whose ``world`` is the number of ranks of the job."""
ASSIGNED = ("kubernetes.node_of_pod", "batch.host")
"""How a scheduler tells where it put the job; inside, the same place may go by another name (a pod's)."""


CRASHING = ("openmpi", "ucx", "crash")
"""Formats in which a process says host and number when it crashes."""


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


class Places:
    """Folds who is where."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self.expected: int | None = None
        """How many ranks the job has."""
        self.ranks: set[int] = set()
        """Those that spoke."""
        self.hosts: dict[str, None] = {}
        self.assigned: dict[str, None] = {}
        """The hosts that a scheduler names."""
        self.comms = Communicators()
        self._seats: dict[int, Seat] = {}
        self._per_node: int | None = None
        self._by_process: dict[tuple[str, int], tuple[int, int]] = {}
        """By host and pid: the rank, and how wide the group is in which it is counted."""
        self._by_pid: dict[int, set[int]] = {}
        self._by_tag: dict[tuple[str, int], tuple[int | None, int]] = {}
        """By file and local rank, where a launcher tags lines with it: the rank (None: several), the group's width."""
        self._seen_on: dict[str, tuple[Record, Record]] = {}
        """The first and the last event of each host."""
        self._name_by_pid: dict[int, str | None] = {}
        """Which host says a process's number in what crashing processes print (None: several do)."""
        self._names: dict[str, str] = {}
        """What the hosts call themselves that a launcher knows by their addresses."""
        self._by_agents = False
        """Whether agents of torchrun start the ranks: a task of Slurm is an agent then, no rank."""

    # ── what lines tell ─────────────────────────────────────────────────────────────────────────────────────────

    def observe(self, record: Record) -> None:
        """Take one event in."""
        self._see_speaker(record)
        if record.rank is not None:
            self._see_rank(record, record.rank)
        kind = record.kind
        if kind in COMMS:
            self.comms.observe(record)
        elif record.format == "elastic":
            self._by_agents = True
            self._see_workers(record)
        elif kind in ASSIGNED and record.host and len(self.assigned) < MAX_ASSIGNED:
            self.assigned.setdefault(short_host(record.host))
        if names_an_end(record):
            self._see_named(record)
        elif "own rank" in record.signs:
            self._pair(record.source.pid, record.rank)
        elif kind == "slurm.task_exit":
            self._see_tasks(record)

    def _see_speaker(self, record: Record) -> None:
        source, host, width = record.source, short_host(record.source.host or ""), self._see_size(record)
        if host:
            self._see_host(host, record)
            if record.format in CRASHING and source.pid is not None and not is_address(host):
                self._see_name(host, source.pid)
        rank = self._rank_in_widest(record, width) if source.rank is None else source.rank
        if rank is None:
            return
        if len(self.ranks) < MAX_RANKS:
            self.ranks.add(rank)
        if host:
            self._seat(rank).host = host
        if source.local_rank is not None:
            self._see_tag((record.line.file, source.local_rank), rank, width)
        if source.pid is not None:
            self._pair(source.pid, rank)
            process = host, source.pid
            if host and width >= self._by_process.get(process, (0, 0))[1] and len(self._by_process) < MAX_RANKS:
                self._by_process[process] = (rank, width)

    def _see_size(self, record: Record) -> int:
        """How many ranks the line says there are, in the job or a part of it (0: it does not say)."""
        told = record.fields.get("nranks", record.fields.get("world_size"))
        if told is None and record.kind in WORLDS:
            told = record.fields.get("world")
        if not isinstance(told, int):
            return 0
        if 0 < told < 1 << 22:
            self.expected = max(self.expected or 0, told)
        return told

    def _rank_in_widest(self, record: Record, width: int) -> int | None:
        """What NCCL calls a process's rank: a part of the job counts its own, only the widest one tells the job's."""
        if record.kind not in ("nccl.comm_init", "nccl.comm_end") or not width or width < (self.expected or 0):
            return None
        rank = record.fields.get("group_rank")
        return rank if isinstance(rank, int) else None

    def _see_host(self, host: str, record: Record) -> None:
        if host not in self._seen_on and len(self.hosts) >= MAX_HOSTS:
            return
        self.hosts.setdefault(host)
        first = self._seen_on.get(host, (record,))[0]
        self._seen_on[host] = (first, record if not record.lines else first)  # those of many lines would fill memory

    def _see_tag(self, tag: tuple[str, int], rank: int, width: int) -> None:
        known, widest = self._by_tag.get(tag, (rank, width))
        if width > widest:
            self._by_tag[tag] = (rank, width)
        elif width == widest and len(self._by_tag) < MAX_RANKS:
            self._by_tag[tag] = (rank if known == rank else None, width)

    def _see_rank(self, record: Record, rank: int) -> None:
        """What a line tells of the rank that it is about; of its source, only where that is the same one."""
        fields, source = record.fields, record.source
        seat, own = self._seat(rank), source.rank == rank or "own rank" in record.signs
        if seat.host is None and record.host and (own or "host" in fields or record.format == "elastic"):
            # an agent of torchrun sits on the node of its workers
            seat.host = self._named(short_host(record.host), fields.get("pid"))
        if seat.local_rank is None:
            seat.local_rank = number(fields.get("local_rank", source.local_rank if own else None))
        if seat.pid is None:
            seat.pid = number(fields.get("pid", source.pid if own else None))
        if seat.gpu is None and record.format in ("cuda", "nccl"):
            seat.gpu = number(fields.get("device"))
        if "pg" in fields:
            self.comms.see_group(record)

    def _see_named(self, record: Record) -> None:
        """A launcher tells of a process by its rank and its number; elsewhere it may name it by the number only."""
        rank, host = record.fields.get("rank"), record.fields.get("host")
        if isinstance(rank, int):
            self._pair(record.fields.get("pid"), rank)
            if isinstance(host, str) and len(self.hosts) < MAX_HOSTS:
                self.hosts.setdefault(self._settle(rank, self._named(short_host(host), record.fields.get("pid"))))

    def _see_name(self, host: str, pid: int) -> None:
        if len(self._name_by_pid) < MAX_RANKS and self._name_by_pid.setdefault(pid, host) != host:
            self._name_by_pid[pid] = None

    def _named(self, host: str, pid: Value | None) -> str:
        """What ``host`` calls itself, where a launcher that knows its address tells of a process that was heard."""
        if is_address(host) and isinstance(pid, int) and (name := self._name_by_pid.get(pid)):
            self._names.setdefault(host, name)
        return self._names.get(host, host)

    def _pair(self, pid: Value | None, rank: int | None) -> None:
        """The process of this number is that rank: its other lines, with the number alone, are the rank's."""
        if isinstance(pid, int) and rank is not None and len(self._by_pid) < MAX_RANKS:
            self._by_pid.setdefault(pid, set()).add(rank)

    def _see_tasks(self, record: Record) -> None:
        """Slurm tells on which host tasks ended; they are the ranks, unless each starts several of them."""
        ranks, host = record.fields.get("ranks"), short_host(record.host or "")
        if host and len(self.hosts) < MAX_HOSTS:
            self.hosts.setdefault(host)
        if host and isinstance(ranks, tuple) and not self._by_agents:
            for rank in ranks:
                if isinstance(rank, int):
                    self._settle(rank, host)

    def _see_workers(self, record: Record) -> None:
        """An agent of torchrun lists the ranks of its node, or says how many it starts."""
        ranks = record.fields.get("ranks") if record.kind == "elastic.workers" else None
        if isinstance(ranks, tuple) and ranks:
            self._per_node = max(self._per_node or 0, len(ranks))
            for local, rank in enumerate(ranks):
                if isinstance(rank, int):
                    self._seat(rank).learn(Seat(short_host(record.host or "") or None, local))
        elif record.kind == "elastic.config":
            self._per_node = self._per_node or number(record.fields.get("nproc_per_node"))

    def _seat(self, rank: int) -> Seat:
        """The seat of ``rank``; that of nobody where too many are known."""
        seat = self._seats.get(rank)
        if seat is None:
            seat = Seat()
            if len(self._seats) < MAX_RANKS:
                self._seats[rank] = seat
        return seat

    def _settle(self, rank: int, host: str) -> str:
        """The host of ``rank``: ``host`` where none is known."""
        seat = self._seat(rank)
        seat.host = seat.host or host
        return seat.host

    # ── what follows ────────────────────────────────────────────────────────────────────────────────────────────

    def rank_of(self, record: Record) -> int | None:
        """The global rank that ``event`` is about, as far as the whole job's facts tell."""
        if record.rank is not None:
            return record.rank
        told = "named end" in record.signs and "own end" not in record.signs
        pid = record.fields.get("pid") if told else record.pid  # who tells of another's end has a pid of its own
        known = self.rank_at(short_host(record.host or ""), pid if isinstance(pid, int) else None)
        if known is not None:
            return known
        local = local_rank_of_end(record)
        if local is not None and len(self.hosts) < 2:
            known = self.rank_at("", record.pid)
            return local if known is None else known  # one node: its local ranks are the ranks
        if record.format == "kernel" and isinstance(bus := record.fields.get("bus_id"), str):
            ranks = self.comms.ranks_on_gpu(short_host(record.host or ""), bus, self._rank_of_member)
            return ranks.pop() if len(ranks) == 1 else None
        if record.kind == "slurm.task_exit" and not self._by_agents:
            return _only(record.fields.get("ranks"))
        return self._rank_by_tag(record)

    def ranks_of(self, record: Record) -> tuple[int, ...]:
        """The ranks that ``event`` is about: several that Slurm lists in one line, unless they are all."""
        one = self.rank_of(record)
        if one is not None or record.kind != "slurm.task_exit" or self._by_agents:
            return () if one is None else (one,)
        told = record.fields.get("ranks")
        ranks = tuple(r for r in told if isinstance(r, int)) if isinstance(told, tuple) else ()
        some = len(ranks) <= max(ranks, default=0) or len(ranks) < (self.expected or 0)
        return ranks if some else ()

    def _rank_by_tag(self, record: Record) -> int | None:
        """The rank of the process that the launcher's tag names, else what the process itself calls its rank."""
        local = record.source.local_rank
        if local is None:
            return _rank_in_default_group(record)
        known = self._by_tag.get((record.line.file, local), (None, 0))[0]
        told = _rank_in_default_group(record) if known is None else known
        return None if told is not None and told < local else told

    def rank_at(self, host: str, pid: int | None) -> int | None:
        """The rank of the process ``pid``; where the host is not known, if only one process has that number."""
        if pid is None:
            return None
        if (host, pid) in self._by_process:
            return self._by_process[host, pid][0]
        known = [r for r in self._by_pid.get(pid, ()) if not are_two_hosts(host, self.host_with(r))]
        return known[0] if len(known) == 1 else None

    def _rank_of_member(self, process: Process, known: Member | None) -> int | None:
        """A process's global rank: a communicator tells it only if it spans the whole job."""
        if known and known.said is not None:
            return known.said
        if known and known.width and known.width >= (self.expected or 0):
            return known.rank
        return self.rank_at(process[0], process[1])

    def ranks_on(self, host: str) -> set[int]:
        """The ranks that are known to run on ``host``."""
        return {rank for rank, seat in self._seats.items() if seat.host == host}

    def host_with(self, rank: int | None) -> str | None:
        """The host on which ``rank`` runs."""
        seat = self._seats.get(rank) if rank is not None else None
        return seat.host if seat else None

    def hosts_with(self, ranks: Iterable[int]) -> tuple[str, ...]:
        """The hosts on which ``ranks`` run, sorted, as far as they are known."""
        return tuple(sorted({host for rank in ranks if (host := self.host_with(rank))}))

    def ranks_placed(self) -> int:
        """Of how many ranks the host is known."""
        return sum(seat.host is not None for seat in self._seats.values())

    def host_of(self, record: Record) -> str | None:
        """The host that ``event`` is about; the job's only host where there is just one."""
        rank = self.rank_of(record)
        told = record.host or rank is None
        host = short_host(own_name(record) or record.host or "") if told else self.host_with(rank)
        return self._names.get(host, host) if host else self.only_host

    @property
    def only_host(self) -> str | None:
        """The job's host, where there is just one."""
        return next(iter(self.hosts)) if len(self.hosts) == 1 else None

    def hosts_of_run(self, wanted: Callable[[Record], bool]) -> tuple[str, ...]:
        """The hosts that took part in the run whose events are ``wanted``; all of them where none is known to."""
        told = (h for h in self.hosts if h not in self._seen_on or any(map(wanted, self._seen_on[h])))
        return tuple(told) or tuple(self.hosts)

    @property
    def at_least(self) -> int:
        """So many ranks the job has at the least: as it says itself, or as the highest number that was heard tells."""
        return max(self.expected or 0, max(self.ranks, default=-1) + 1)

    @property
    def nodes(self) -> int | None:
        """How many nodes the job has."""
        return self.comms.nodes

    @property
    def per_node(self) -> int | None:
        """How many ranks each node has."""
        return self.comms.per_node or self._per_node

    def groups(self) -> tuple[ProcessGroup, ...]:
        """The process groups of which at least two members are known, the largest first."""
        return self.comms.groups(self._rank_of_member)

    def seats(self) -> dict[int, Seat]:
        """Each rank's seat, as far as the whole log tells."""
        seats = {rank: replace(seat) for rank, seat in self._seats.items()}
        for process, member in self.comms.members.items():
            rank = self._rank_of_member(process, member)
            if rank is not None:
                host, pid, device = process
                gpu = device if device >= 0 else None
                seats.setdefault(rank, Seat()).learn(Seat(host or None, member.local_rank, pid, gpu, member.bus_id))
        self._fill_nodes(seats)
        return seats

    def _fill_nodes(self, seats: dict[int, Seat]) -> None:
        """Where ranks fill node after node, a rank without a host is where all its neighbours are."""
        size, expected = self.per_node or 0, self.expected or 0
        if size < 2 or expected > MAX_GUESSED:
            return
        for first in range(0, expected, size):
            node = range(first, min(first + size, expected))
            hosts = {h for rank in node if rank in seats and (h := seats[rank].host)}
            for rank in node if len(hosts) == 1 and _one_node_only(hosts, first, seats, size) else ():
                seats.setdefault(rank, Seat()).learn(Seat(next(iter(hosts))))


def _one_node_only(hosts: set[str], first: int, seats: Mapping[int, Seat], size: int) -> bool:
    """Whether the node before and the one after have other hosts: else ranks are dealt out in another way."""
    around = (*range(first - size, first), *range(first + size, first + 2 * size))
    return not any(rank in seats and seats[rank].host in hosts for rank in around)


def _only(ranks: Value | None) -> int | None:
    """The one task that Slurm speaks of: it is a rank, unless each task starts several of them."""
    return ranks[0] if isinstance(ranks, tuple) and len(ranks) == 1 and isinstance(ranks[0], int) else None


def _rank_in_default_group(record: Record) -> int | None:
    """The rank that torch 2.2 and older print: it counts inside the process group, which mostly is the whole job."""
    rank = record.fields.get("group_rank", record.fields.get("aborted_rank"))
    of_torch = record.format == "c10d" or record.kind == "crash.terminate"
    return rank if isinstance(rank, int) and of_torch and "pg" not in record.fields else None
