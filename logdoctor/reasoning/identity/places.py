"""Host, local rank, process and GPU of each rank.

They are read from line prefixes and from lines of NCCL, torchrun, Lightning, MPI, Slurm and nccl-tests. Memory is
bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from logdoctor.model import ProcessGroup, Record, Value
from logdoctor.reasoning.identity.addresses import are_two_hosts, is_address, nccl_host_name, short_host
from logdoctor.reasoning.identity.communicators import Communicators, Member, Process, small_number
from logdoctor.reasoning.lifecycle.launchers import local_rank_of_end, names_an_end

MAX_RANKS = 1 << 20
MAX_HOSTS = 4096
MAX_SCHEDULER_HOSTS = 1 << 10
MAX_FILLED_RANKS = 1 << 16
"""In a larger job no rank gets its host from its neighbours."""
CRASH_FORMATS = ("openmpi", "ucx", "crash")
"""Formats of crash output in which a process prints its host and pid."""


class Seat(Struct):
    """Place of a rank: host, local rank, process and GPU."""

    host: str | None = None
    local_rank: int | None = None
    pid: int | None = None
    gpu: int | None = None
    """Ordinal that CUDA counts inside the process."""
    bus_id: str | None = None

    def fill_from(self, other: Seat) -> None:
        """Fill the empty fields from another seat."""
        self.host = self.host or other.host
        self.local_rank = other.local_rank if self.local_rank is None else self.local_rank
        self.pid = other.pid if self.pid is None else self.pid
        self.gpu = other.gpu if self.gpu is None else self.gpu
        self.bus_id = self.bus_id or other.bus_id


class Places:
    """Collected places of all ranks."""

    READS = ("all",)

    def __init__(self) -> None:
        self.expected: int | None = None
        """World size of the job, if printed."""
        self.ranks: set[int] = set()
        """Ranks that printed a line."""
        self.hosts: dict[str, None] = {}
        self.scheduler_hosts: dict[str, None] = {}
        """Hosts that a scheduler names."""
        self.communicators = Communicators()
        self._seats: dict[int, Seat] = {}
        self._per_node: int | None = None
        self._rank_by_process: dict[tuple[str, int], tuple[int, int]] = {}
        """Rank and size of its group by host and pid."""
        self._ranks_by_pid: dict[int, set[int]] = {}
        self._rank_by_tag: dict[tuple[str, int], tuple[int | None, int]] = {}
        """Rank (None for several) and size of its group by file and local rank of a launcher's tag."""
        self._records_by_host: dict[str, tuple[Record, Record]] = {}
        """First and last record of each host."""
        self._host_name_by_pid: dict[int, str | None] = {}
        """Host by pid from crash output, None if several hosts print the pid."""
        self._name_by_address: dict[str, str] = {}
        """Host names by the address that a launcher prints."""
        self._has_agents = False
        """True if agents of torchrun start the ranks. Then a task of Slurm is an agent and no rank."""

    # ── reading records ───────────────────────────────────────────────────────────────────────────────────────────────

    def observe(self, record: Record) -> None:
        self._read_source(record)
        if record.rank is not None:
            self._read_rank(record, record.rank)
        if record.tells("member") or record.tells("layout"):
            self.communicators.observe(record)
            self._read_listed_host(record)
        elif record.format == "elastic":
            self._has_agents = True
            self._read_elastic_workers(record)
        elif record.tells("host") and record.host and len(self.scheduler_hosts) < MAX_SCHEDULER_HOSTS:
            self.scheduler_hosts.setdefault(short_host(record.host))
        if names_an_end(record):
            self._read_named_end(record)
        elif record.tells("rank"):
            self._add_pid(record.pid, record.rank)
        elif record.tells("tasks"):
            self._read_slurm_tasks(record)

    def _read_source(self, record: Record) -> None:
        """Read rank, host and process of the source that printed the line."""
        source = record.source
        if record.tells("rank"):  # the line is about the process that prints it
            source = replace(source, rank=record.rank, host=record.host, pid=record.pid)
        host, size = short_host(source.host or ""), self._read_world_size(record)
        if host:
            self._add_host(host, record)
            if record.format in CRASH_FORMATS and source.pid is not None and not is_address(host):
                self._add_host_name(host, source.pid)
        rank = self._rank_in_largest(record, size) if source.rank is None else source.rank
        if rank is None:
            return
        if len(self.ranks) < MAX_RANKS:
            self.ranks.add(rank)
        if host:
            self._seat(rank).host = host
        if source.local_rank is not None:
            self._add_launcher_tag((record.line.file, source.local_rank), rank, size)
        if source.pid is not None:
            self._add_pid(source.pid, rank)
            process = host, source.pid
            if (
                host
                and size >= self._rank_by_process.get(process, (0, 0))[1]
                and len(self._rank_by_process) < MAX_RANKS
            ):
                self._rank_by_process[process] = (rank, size)

    def _read_listed_host(self, record: Record) -> None:
        """Read the host of a member that another process lists."""
        host = short_host(record.host or "") if record.source.host is None else ""
        if host and len(self.hosts) < MAX_HOSTS:
            self.hosts.setdefault(host)

    def _read_world_size(self, record: Record) -> int:
        """Return the number of ranks in the line, or 0.

        It counts the ranks of the job or of a part of it.
        """
        size = record.fields.get("nranks", record.fields.get("world_size"))
        if size is None and record.tells("size"):
            size = record.fields.get("world")
        if not isinstance(size, int):
            return 0
        if 0 < size < 1 << 22:
            self.expected = max(self.expected or 0, size)
        return size

    def _rank_in_largest(self, record: Record, size: int) -> int | None:
        """Return NCCL's rank of the process if its communicator spans the job.

        A smaller communicator numbers its own members.
        """
        if not record.tells("member") or not size or size < (self.expected or 0):
            return None
        rank = record.fields.get("group_rank")
        return rank if isinstance(rank, int) else None

    def _add_host(self, host: str, record: Record) -> None:
        if host not in self._records_by_host and len(self.hosts) >= MAX_HOSTS:
            return
        self.hosts.setdefault(host)
        first = self._records_by_host.get(host, (record,))[0]
        # multi-line records would fill memory
        self._records_by_host[host] = (first, record if not record.lines else first)

    def _add_launcher_tag(self, tag: tuple[str, int], rank: int, size: int) -> None:
        tagged_rank, largest = self._rank_by_tag.get(tag, (rank, size))
        if size > largest:
            self._rank_by_tag[tag] = (rank, size)
        elif size == largest and len(self._rank_by_tag) < MAX_RANKS:
            self._rank_by_tag[tag] = (rank if tagged_rank == rank else None, size)

    def _read_rank(self, record: Record, rank: int) -> None:
        """Read the place of the rank that the line is about.

        Facts about the source count only if the source is that rank.
        """
        fields, source = record.fields, record.source
        seat, is_source = self._seat(rank), source.rank == rank or record.tells("rank")
        if seat.host is None and record.host and (is_source or "host" in fields or record.format == "elastic"):
            # an agent of torchrun runs on the node of its workers
            seat.host = self._own_name_of(short_host(record.host), fields.get("pid"))
        if seat.local_rank is None:
            seat.local_rank = small_number(fields.get("local_rank", source.local_rank if is_source else None))
        if seat.pid is None:
            seat.pid = small_number(fields.get("pid", source.pid if is_source else None))
        if seat.gpu is None and record.format in ("cuda", "nccl"):
            seat.gpu = small_number(fields.get("device"))
        if "pg" in fields:
            self.communicators.observe_group(record)

    def _read_named_end(self, record: Record) -> None:
        """Read rank and pid that a launcher prints together.

        Other lines of the launcher may name the process by its pid only.
        """
        rank, host = record.fields.get("rank"), record.fields.get("host")
        if isinstance(rank, int):
            self._add_pid(record.fields.get("pid"), rank)
            if isinstance(host, str) and len(self.hosts) < MAX_HOSTS:
                self.hosts.setdefault(
                    self._set_host(rank, self._own_name_of(short_host(host), record.fields.get("pid")))
                )

    def _add_host_name(self, host: str, pid: int) -> None:
        if len(self._host_name_by_pid) < MAX_RANKS and self._host_name_by_pid.setdefault(pid, host) != host:
            self._host_name_by_pid[pid] = None

    def _own_name_of(self, host: str, pid: Value | None) -> str:
        """Return the name that ``host`` has for itself.

        A launcher may know a host by its address only. If it names a process there whose crash output has a host name,
        that name belongs to the address.
        """
        if is_address(host) and isinstance(pid, int) and (name := self._host_name_by_pid.get(pid)):
            self._name_by_address.setdefault(host, name)
        return self._name_by_address.get(host, host)

    def _add_pid(self, pid: Value | None, rank: int | None) -> None:
        """Note the rank of ``pid`` for lines that print the pid alone."""
        if isinstance(pid, int) and rank is not None and len(self._ranks_by_pid) < MAX_RANKS:
            self._ranks_by_pid.setdefault(pid, set()).add(rank)

    def _read_slurm_tasks(self, record: Record) -> None:
        """Read the host of the tasks that Slurm lists."""
        if host := short_host(record.host or ""):
            if len(self.hosts) < MAX_HOSTS:
                self.hosts.setdefault(host)
            for rank in self.task_ranks(record):
                self._set_host(rank, host)

    def _read_elastic_workers(self, record: Record) -> None:
        """Read the ranks that an agent of torchrun lists, or their number."""
        ranks = record.fields.get("ranks") if record.tells("workers") else None
        if isinstance(ranks, tuple) and ranks:
            self._per_node = max(self._per_node or 0, len(ranks))
            for local, rank in enumerate(ranks):
                if isinstance(rank, int):
                    self._seat(rank).fill_from(Seat(short_host(record.host or "") or None, local))
        elif record.tells("workers"):
            self._per_node = self._per_node or small_number(record.fields.get("nproc_per_node"))

    def _seat(self, rank: int) -> Seat:
        """Return the seat of ``rank``.

        Beyond `MAX_RANKS` it is a new seat that is not stored.
        """
        seat = self._seats.get(rank)
        if seat is None:
            seat = Seat()
            if len(self._seats) < MAX_RANKS:
                self._seats[rank] = seat
        return seat

    def _set_host(self, rank: int, host: str) -> str:
        """Set the host of ``rank`` if it has none, and return it."""
        seat = self._seat(rank)
        seat.host = seat.host or host
        return seat.host

    # ── queries ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def rank_of(self, record: Record) -> int | None:
        """Return the global rank that ``record`` is about.

        Ask after the whole log was read, because pids and local ranks may be resolved by later lines.
        """
        if record.rank is not None:
            return record.rank
        names_other = record.tells("first end") and not record.reports_own_end
        pid = record.fields.get("pid") if names_other else record.pid  # the reporter has a pid of its own
        rank = self.rank_at(short_host(record.host or ""), pid if isinstance(pid, int) else None)
        if rank is not None:
            return rank
        local = local_rank_of_end(record)
        if local is not None and len(self.hosts) < 2:
            rank = self.rank_at("", record.pid)
            return local if rank is None else rank  # on a single node local ranks are the ranks
        if record.format == "kernel" and isinstance(bus := record.fields.get("bus_id"), str):
            ranks = self.communicators.ranks_on_gpu(short_host(record.host or ""), bus, self._rank_of_member)
            return ranks.pop() if len(ranks) == 1 else None
        if tasks := self.task_ranks(record):
            return tasks[0] if len(tasks) == 1 else None
        return self._rank_from_tag(record)

    def task_ranks(self, record: Record) -> tuple[int, ...]:
        """Return the ranks that Slurm lists.

        A task is a rank unless it is an agent of torchrun, which starts several ranks.
        """
        listed = record.fields.get("ranks")
        if not record.tells("tasks") or self._has_agents or not isinstance(listed, tuple):
            return ()
        return tuple(rank for rank in listed if isinstance(rank, int))

    def ranks_of(self, record: Record) -> tuple[int, ...]:
        """Return the ranks that ``record`` is about.

        These are several where Slurm lists several tasks in one line. If it lists all tasks of the job, the result is
        empty.
        """
        rank = self.rank_of(record)
        if rank is not None:
            return (rank,)
        ranks = self.task_ranks(record)
        is_part = len(ranks) <= max(ranks, default=0) or len(ranks) < (self.expected or 0)
        return ranks if is_part else ()

    def _rank_from_tag(self, record: Record) -> int | None:
        """Return the rank of the launcher's tag, else the printed rank."""
        local = record.source.local_rank
        if local is None:
            return _rank_in_default_group(record)
        tagged_rank = self._rank_by_tag.get((record.line.file, local), (None, 0))[0]
        rank = _rank_in_default_group(record) if tagged_rank is None else tagged_rank
        return None if rank is not None and rank < local else rank

    def rank_at(self, host: str, pid: int | None) -> int | None:
        """Return the rank of process ``pid``.

        An unknown pair of host and pid gives a rank only if a single rank with that pid may run on ``host``.
        """
        if pid is None:
            return None
        if (host, pid) in self._rank_by_process:
            return self._rank_by_process[host, pid][0]
        ranks = [r for r in self._ranks_by_pid.get(pid, ()) if not are_two_hosts(host, self.host_with(r))]
        return ranks[0] if len(ranks) == 1 else None

    def _rank_of_member(self, process: Process, member: Member | None) -> int | None:
        """Return the global rank of a process in a communicator."""
        if member and member.global_rank is not None:
            return member.global_rank
        if member and member.size and member.size >= (self.expected or 0):
            return member.rank
        return self.rank_at(process[0], process[1])

    def ranks_on(self, host: str) -> set[int]:
        return {rank for rank, seat in self._seats.items() if seat.host == host}

    def host_with(self, rank: int | None) -> str | None:
        seat = self._seats.get(rank) if rank is not None else None
        return seat.host if seat else None

    def hosts_with(self, ranks: Iterable[int]) -> tuple[str, ...]:
        """Return the known hosts of ``ranks``, sorted."""
        return tuple(sorted({host for rank in ranks if (host := self.host_with(rank))}))

    def ranks_with_host(self) -> int:
        """Count the ranks whose host is known."""
        return sum(seat.host is not None for seat in self._seats.values())

    def host_of(self, record: Record) -> str | None:
        """Return the host of ``record``, else the only host of the job."""
        rank = self.rank_of(record)
        has_host = record.host or rank is None
        host = short_host(nccl_host_name(record) or record.host or "") if has_host else self.host_with(rank)
        return self._name_by_address.get(host, host) if host else self.only_host

    @property
    def only_host(self) -> str | None:
        return next(iter(self.hosts)) if len(self.hosts) == 1 else None

    def hosts_of_run(self, wanted: Callable[[Record], bool]) -> tuple[str, ...]:
        """Return the hosts of the run that ``wanted`` selects.

        If no host is in that run, return all hosts.
        """
        hosts = (
            host
            for host in self.hosts
            if host not in self._records_by_host or any(map(wanted, self._records_by_host[host]))
        )
        return tuple(hosts) or tuple(self.hosts)

    @property
    def min_world_size(self) -> int:
        """Smallest possible world size.

        It is the printed size, or the highest rank plus one if that is larger.
        """
        return max(self.expected or 0, max(self.ranks, default=-1) + 1)

    @property
    def nodes(self) -> int | None:
        return self.communicators.nodes

    @property
    def per_node(self) -> int | None:
        """Ranks on each node."""
        return self.communicators.per_node or self._per_node

    def groups(self) -> tuple[ProcessGroup, ...]:
        """Return the process groups with two or more known ranks, largest first."""
        return self.communicators.groups(self._rank_of_member)

    def seats(self) -> dict[int, Seat]:
        """Return the seat of each rank. Call it after the whole log was read."""
        seats = {rank: replace(seat) for rank, seat in self._seats.items()}
        for process, member in self.communicators.members.items():
            rank = self._rank_of_member(process, member)
            if rank is not None:
                host, pid, device = process
                gpu = device if device >= 0 else None
                seats.setdefault(rank, Seat()).fill_from(Seat(host or None, member.local_rank, pid, gpu, member.bus_id))
        self._fill_hosts(seats)
        return seats

    def _fill_hosts(self, seats: dict[int, Seat]) -> None:
        """Give a rank without a host the host of its neighbours.

        This holds where ranks fill node after node, so the nodes before and behind must have other hosts.
        """
        size, expected = self.per_node or 0, self.expected or 0
        if size < 2 or expected > MAX_FILLED_RANKS:
            return
        for first in range(0, expected, size):
            node = range(first, min(first + size, expected))
            hosts = {h for rank in node if rank in seats and (h := seats[rank].host)}
            for rank in node if len(hosts) == 1 and _neighbours_are_elsewhere(hosts, first, seats, size) else ():
                seats.setdefault(rank, Seat()).fill_from(Seat(next(iter(hosts))))


def _neighbours_are_elsewhere(hosts: set[str], first: int, seats: Mapping[int, Seat], size: int) -> bool:
    """Return whether the neighbouring nodes have other hosts.

    Otherwise ranks are not dealt out node by node.
    """
    around = (*range(first - size, first), *range(first + size, first + 2 * size))
    return not any(rank in seats and seats[rank].host in hosts for rank in around)


def _rank_in_default_group(record: Record) -> int | None:
    """Return the rank that torch 2.2 and older print.

    It counts inside the process group, which mostly is the whole job.
    """
    rank = record.fields.get("group_rank", record.fields.get("aborted_rank"))
    of_torch = record.format == "c10d" or record.kind == "crash.terminate"
    return rank if isinstance(rank, int) and of_torch and "pg" not in record.fields else None
