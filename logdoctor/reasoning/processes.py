"""Processes, and the many names of each: its rank, its host and pid, its local rank, its GPU, its file.

Lines print some of these names, and launchers, NCCL, torchrun, Lightning, MPI, Slurm and nccl-tests print several
together. `Processes` keeps which belong together, so it tells the rank, the host and the seat behind a record, and
whether two records are of one process. Ask after the whole log was read, because later lines may resolve a name.
Memory is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from itertools import product
from typing import Literal, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from logdoctor.model import Finding, Record, Value
from logdoctor.pack.regexes import later
from logdoctor.reasoning.dispatch import Handler
from logdoctor.reasoning.identity.addresses import (
    ADDRESS_OF_INTERFACE,
    MAX_SEARCHED,
    are_two_hosts,
    bare_address,
    is_address,
    is_of_every_host,
    nccl_host_name,
    short_host,
)
from logdoctor.reasoning.identity.communicators import Communicators, Gpu, Member, small_number

Process = int | tuple[str, int] | str
"""A process as a line names it: its rank, else its host and pid, else its file, with host and tag if they are told."""
Same = Literal["yes", "no", "open"]
T = TypeVar("T", int, str)
MAX_RANKS = 1 << 20
MAX_HOSTS = 4096
MAX_ADDRESSES = 1 << 16
MAX_SCHEDULER_HOSTS = 1 << 10
MAX_FILLED_RANKS = 1 << 16
"""In a larger job no rank gets its host from its neighbours."""
_NETWORK_SUFFIX = later(r"-(?:ib|hsn|opa|roce|eth|bond|rdma|hs)\d{0,3}$")
"""Suffix that sites append to a host name for one of its networks."""


class Seat(Struct, frozen=True):
    """Place of a rank: host, local rank, process and GPU."""

    host: str | None = None
    local_rank: int | None = None
    pid: int | None = None
    gpu: int | None = None
    """Ordinal that CUDA counts inside the process."""
    bus_id: str | None = None

    def filled_from(self, other: Seat) -> Seat:
        """Return the seat with its empty fields filled from another."""
        return Seat(*(getattr(other if getattr(self, f) is None else self, f) for f in self.__struct_fields__))


class Processes:
    """All processes of a job, as far as its lines name them."""

    def __init__(self) -> None:
        self.expected: int | None = None
        """World size of the job, if printed."""
        self.ranks: set[int] = set()
        """Ranks that printed a line."""
        self.hosts: dict[str, None] = {}
        self.scheduler_hosts: dict[str, None] = {}
        """Hosts that a scheduler names."""
        self.communicators = Communicators(self._rank_of_member)
        self._seats: dict[int, Seat] = {}
        self._per_node: int | None = None
        self._ranks_of: dict[tuple[str, int], dict[int, int]] = {}
        """Ranks by host and pid, by pid alone (host ""), or by file and launcher's tag, each with its group's size."""
        self._records_by_host: dict[str, tuple[Record, Record]] = {}
        """First and last record of each host."""
        self._host_at: dict[str, str | None] = {}
        """Host by address, or by pid as crash output prints it, None if several hosts print it."""
        self._has_agents = False
        """True if agents of torchrun start the ranks. Then a task of Slurm is an agent and no rank."""
        self._records = 0
        self._known: dict[tuple[str, int], tuple[Record, int | str | None]] | None = None
        """Answers while `remembering`, by the record's id. The record is kept, so that no other has its id."""
        self._found: tuple[int, dict[str, set[int]]] = -1, {}
        """Cache of `ranks_on`, with the number of records at which it was made."""
        self.readers = (
            Handler(("all",), self._read_names),
            Handler(("openmpi.*", "ucx.*", "crash.*"), self._read_crash),
            Handler(("tells member", "tells layout"), self._read_member),
            Handler(("elastic.*",), self._read_agent),
            Handler(("tells host",), self._read_scheduler_host),
            Handler(("tells first end", "fails"), self._read_end),
            Handler(("tells tasks",), self._read_tasks),
            Handler(("nccl.*",), self._read_address),
        )

    # ── reading records ───────────────────────────────────────────────────────────────────────────────────────────────

    def _read_names(self, record: Record) -> None:
        """Read the names that the line gives to the process that printed it, and to the one that it is about."""
        self._records += 1
        source, size = record.source, self._read_world_size(record)
        if record.signs and record.tells("rank"):  # the line is about the process that prints it
            source = replace(source, rank=record.rank, host=record.host, pid=record.pid)
            self._link("", record.pid, record.rank)
        host = short_host(source.host or "")
        if host:
            self._add_host(host, record)
        rank = self._rank_in_largest(record, size) if source.rank is None else source.rank
        if rank is not None:
            if len(self.ranks) < MAX_RANKS:
                self.ranks.add(rank)
            if host:
                self._fill(rank, Seat(host), over=True)
                self._link(host, source.pid, rank, size)
            self._link("", source.pid, rank)
            if source.local_rank is not None:
                self._link(f"{record.line.file}:", source.local_rank, rank, size)
        if record.rank is not None:
            self._read_rank(record, record.rank)

    def _read_world_size(self, record: Record) -> int:
        """Return the number of ranks in the line, or 0.

        It counts the ranks of the job or of a part of it.
        """
        size = record.fields.get("nranks", record.fields.get("world_size"))
        if size is None and record.signs and record.tells("size"):
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
        if not size or size < (self.expected or 0) or not record.tells("member"):
            return None
        rank = record.fields.get("group_rank")
        return rank if isinstance(rank, int) else None

    def _link(self, place: str, number: Value | None, rank: int | None, size: int = 0) -> None:
        """Note that a name is of ``rank``: a pid on a host, or a launcher's tag in a file.

        A larger group counts more, because the rank in a smaller one may be its own number only.
        """
        if not isinstance(number, int) or rank is None:
            return
        ranks = self._ranks_of.get((place, number))
        if ranks is None:
            if len(self._ranks_of) >= MAX_RANKS:
                return
            ranks = self._ranks_of[place, number] = {}
        if len(ranks) < MAX_RANKS:
            ranks[rank] = max(size, ranks.get(rank, 0))

    def _add_host(self, host: str, record: Record) -> None:
        known = self._records_by_host.get(host)
        if known is None and len(self.hosts) >= MAX_HOSTS:
            return
        self.hosts.setdefault(host)
        first = known[0] if known else record
        # multi-line records would fill memory
        self._records_by_host[host] = (first, record if not record.lines else first)

    def _list_host(self, host: str) -> None:
        """Note a host that another process names."""
        if host and len(self.hosts) < MAX_HOSTS:
            self.hosts.setdefault(host)

    def _read_rank(self, record: Record, rank: int) -> None:
        """Read the place of the rank that the line is about.

        Facts about the source count only if the source is that rank.
        """
        fields, source = record.fields, record.source
        is_source, host = source.rank == rank or record.tells("rank"), None
        if record.host and (is_source or "host" in fields or record.format == "elastic") and not self.host_with(rank):
            # an agent of torchrun runs on the node of its workers
            host = self._own_name_of(short_host(record.host), fields.get("pid"))
        local = small_number(fields.get("local_rank", source.local_rank if is_source else None))
        pid = small_number(fields.get("pid", source.pid if is_source else None))
        gpu = small_number(fields.get("device")) if record.format in ("cuda", "nccl") else None
        self._fill(rank, Seat(host, local, pid, gpu))
        if "pg" in fields:
            self.communicators.observe_group(record)

    def _read_member(self, record: Record) -> None:
        self.communicators.observe(record)
        if record.source.host is None:  # another process lists it
            self._list_host(short_host(record.host or ""))

    def _read_crash(self, record: Record) -> None:
        """Read host and pid, which a process prints when it crashes."""
        if record.source.host and record.source.pid is not None and not is_address(record.source.host):
            self._add_address(_pid_name(record.source.pid), record.source.host)

    def _own_name_of(self, host: str, pid: Value | None) -> str:
        """Return the name that ``host`` has for itself.

        A launcher may know a host by its address only. If it names a process there whose crash output has a host name,
        that name belongs to the address.
        """
        if is_address(host) and (name := self._host_at.get(_pid_name(pid))):
            self._host_at.setdefault(host, name)
        return self._host_at.get(host) or host

    def _read_end(self, record: Record) -> None:
        """Read rank, pid and host that a launcher prints together.

        Other lines of the launcher may name the process by its pid only.
        """
        rank, pid, host = (record.fields.get(name) for name in ("rank", "pid", "host"))
        if isinstance(rank, int) and names_an_end(record):
            self._link("", pid, rank)
            if isinstance(host, str) and len(self.hosts) < MAX_HOSTS:
                self._fill(rank, Seat(self._own_name_of(short_host(host), pid)))
                self._list_host(self.host_with(rank) or "")

    def _read_scheduler_host(self, record: Record) -> None:
        if record.host and len(self.scheduler_hosts) < MAX_SCHEDULER_HOSTS:
            self.scheduler_hosts.setdefault(short_host(record.host))

    def _read_tasks(self, record: Record) -> None:
        """Read the host of the tasks that Slurm lists."""
        if host := short_host(record.host or ""):
            self._list_host(host)
            for rank in self.task_ranks(record):
                self._fill(rank, Seat(host))

    def _read_agent(self, record: Record) -> None:
        """Read the ranks that an agent of torchrun lists, or their number."""
        self._has_agents = True
        if not record.tells("workers"):
            return
        ranks = record.fields.get("ranks")
        if isinstance(ranks, tuple) and ranks:
            self._per_node = max(self._per_node or 0, len(ranks))
            for local, rank in enumerate(ranks):
                if isinstance(rank, int):
                    self._fill(rank, Seat(short_host(record.host or "") or None, local))
        else:
            self._per_node = self._per_node or small_number(record.fields.get("nproc_per_node"))

    def _read_address(self, record: Record) -> None:
        """Read the addresses of the host that prints a line of NCCL."""
        host = record.source.host
        if host is None:
            return
        if name := nccl_host_name(record):
            self._add_address(host, name)
            host = name
        if record.kind == "nccl.interfaces" and not is_address(host):
            for address in ADDRESS_OF_INTERFACE.findall(record.line.text[:MAX_SEARCHED]):
                self._add_address(address, host)

    def _add_address(self, address: str, host: str) -> None:
        name = short_host(host)
        if not is_of_every_host(address) and len(self._host_at) < MAX_ADDRESSES:
            self._host_at[address] = name if self._host_at.get(address, name) == name else None

    def _fill(self, rank: int, known: Seat, *, over: bool = False) -> None:
        """Fill what is not known of the seat of ``rank``, or replace it with what is known (``over``)."""
        seat = self._seats.get(rank)
        if seat is None and len(self._seats) < MAX_RANKS:
            self._seats[rank] = known
        elif seat is not None:
            self._seats[rank] = known.filled_from(seat) if over else seat.filled_from(known)

    # ── ranks ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def rank_of(self, record: Record) -> int | None:
        """Return the global rank that ``record`` is about."""
        return record.rank if record.rank is not None else self._answer("rank", record, self._find_rank)

    def _find_rank(self, record: Record) -> int | None:
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
            ranks = self.communicators.ranks_on_gpu(short_host(record.host or ""), bus)
            return ranks.pop() if len(ranks) == 1 else None
        if tasks := self.task_ranks(record):
            return tasks[0] if len(tasks) == 1 else None
        return self._rank_from_tag(record)

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Remember answers while no record is read, because causes are compared pair by pair."""
        self._known = {}
        try:
            yield
        finally:
            self._known = None

    def _answer(self, what: str, record: Record, find: Callable[[Record], T | None]) -> T | None:
        if self._known is None:
            return find(record)
        known = self._known.get((what, id(record)))
        if known is None:
            known = self._known[what, id(record)] = record, find(record)
        return cast("T | None", known[1])

    def task_ranks(self, record: Record) -> tuple[int, ...]:
        """Return the ranks that Slurm lists.

        A task is a rank unless it is an agent of torchrun, which starts several ranks.
        """
        listed = record.fields.get("ranks")
        if not isinstance(listed, tuple) or self._has_agents or not record.tells("tasks"):
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
        tagged_rank = self._only_rank(f"{record.line.file}:", local)
        rank = _rank_in_default_group(record) if tagged_rank is None else tagged_rank
        return None if rank is not None and rank < local else rank

    def rank_at(self, host: str, pid: int | None) -> int | None:
        """Return the rank of process ``pid``.

        An unknown pair of host and pid gives a rank only if a single rank with that pid may run on ``host``.
        """
        if pid is None:
            return None
        if (host, pid) in self._ranks_of and host:
            return self._only_rank(host, pid)
        ranks = [r for r in self._ranks_of.get(("", pid), ()) if not are_two_hosts(host, self.host_with(r))]
        return ranks[0] if len(ranks) == 1 else None

    def process_of(self, record: Record) -> Process:
        """Return the process that ``record`` is about, by its rank if any line of the log tells it."""
        rank = self.rank_of(record)
        return process_of(record) if rank is None else rank

    def rank_named(self, process: Process) -> int | None:
        """Return the rank of a process that lines name by its rank, or by its host and pid."""
        if isinstance(process, tuple):
            return self.rank_at(short_host(process[0]), process[1])
        return process if isinstance(process, int) else None

    def _only_rank(self, place: str, number: int) -> int | None:
        """Return the only rank of a name, as its largest group numbers it."""
        ranks = self._ranks_of.get((place, number), {})
        largest = max(ranks.values(), default=0)
        found = [rank for rank, size in ranks.items() if size == largest]
        return found[0] if len(found) == 1 else None

    def _rank_of_member(self, gpu: Gpu, member: Member | None) -> int | None:
        """Return the global rank of a member of communicators."""
        if member and member.global_rank is not None:
            return member.global_rank
        if member and member.size and member.size >= (self.expected or 0):
            return member.rank
        return self.rank_at(gpu[0], gpu[1])

    @property
    def min_world_size(self) -> int:
        """Smallest possible world size.

        It is the printed size, or the highest rank plus one if that is larger.
        """
        return max(self.expected or 0, max(self.ranks, default=-1) + 1)

    # ── processes ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def same(self, a: Record | Finding, b: Record | Finding) -> Same:
        """Return whether two records or findings are of one process, as far as the log shows it."""
        ranks, others = self._own_ranks(a), self._own_ranks(b)
        if ranks and others:
            return _compare(ranks, others)
        pids, other_pids = _pids(a), _pids(b)
        if None in pids | other_pids:
            return "open"
        hosts = product(*({self.host_of(e) for e in _records(one)} for one in (a, b)))
        return "no" if all(are_two_hosts(*pair) for pair in hosts) else _compare(pids, other_pids)

    def _own_ranks(self, one: Record | Finding) -> set[int]:
        """Return the ranks that a record or a finding is of.

        The end of a process is of that process, if it is named, and not of the one that tells it.
        """
        if isinstance(one, Record):
            return {*self.ranks_of(one)}
        if not one.records[0].reports_end_of_other:
            return {*one.ranks}
        return {rank for e in one.records if isinstance(rank := e.fields.get("rank"), int)}

    # ── hosts ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def host_of(self, record: Record) -> str | None:
        """Return the host of ``record``, else the only host of the job."""
        return self._answer("host", record, self._find_host)

    def _find_host(self, record: Record) -> str | None:
        host = record.host
        if host:
            host = short_host(nccl_host_name(record) or host)
        elif (rank := self.rank_of(record)) is not None:
            host = self.host_with(rank)
        if not host:  # a snapshot of a device may be of any machine
            return None if record.tells("snapshot") else self.only_host
        return self._host_at.get(host) or host

    def host_at(self, peer: str) -> str | None:
        """Return the host behind ``peer``, or None where it is unknown.

        ``peer`` is ``ip:port``, ``name:port`` or ``[ip]:port``, with or without the port. For
        ``gx7-ib0.site.org:4411`` the answer is ``gx7`` if the logs name that host and none named ``gx7-ib0``.
        """
        for spelling in (peer, bare_address(peer), peer.rpartition(":")[0]):
            if spelling in self._host_at:
                return self._host_at[spelling]
        name = bare_address(peer)
        if not name or is_address(name) or name.startswith("localhost"):
            return None
        name = short_host(name)
        host = _NETWORK_SUFFIX.sub("", name)
        return host if host in self.hosts and name not in self.hosts else name

    def host_with(self, rank: int | None) -> str | None:
        seat = self._seats.get(rank) if rank is not None else None
        return seat.host if seat else None

    def hosts_with(self, ranks: Iterable[int]) -> tuple[str, ...]:
        """Return the known hosts of ``ranks``, sorted."""
        return tuple(sorted({host for rank in ranks if (host := self.host_with(rank))}))

    def ranks_on(self, host: str) -> set[int]:
        if self._found[0] != self._records:
            ranks = dict[str, set[int]]()
            for rank, seat in self._seats.items():
                ranks.setdefault(seat.host or "", set()).add(rank)
            self._found = self._records, ranks
        return self._found[1].get(host, set())

    def ranks_with_host(self) -> int:
        """Count the ranks whose host is known."""
        return sum(seat.host is not None for seat in self._seats.values())

    @property
    def only_host(self) -> str | None:
        return next(iter(self.hosts)) if len(self.hosts) == 1 else None

    def hosts_of_run(self, wanted: Callable[[Record], bool]) -> tuple[str, ...]:
        """Return the hosts of the run that ``wanted`` selects.

        If no host is in that run, return all hosts.
        """
        records = self._records_by_host
        hosts = (host for host in self.hosts if host not in records or any(map(wanted, records[host])))
        return tuple(hosts) or tuple(self.hosts)

    # ── seats ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def per_node(self) -> int | None:
        """Ranks on each node."""
        return self.communicators.per_node or self._per_node

    def seats(self) -> dict[int, Seat]:
        """Return the seat of each rank."""
        seats = {**self._seats}
        for (host, pid, device), member in self.communicators.members.items():
            rank = self._rank_of_member((host, pid, device), member)
            if rank is not None:
                gpu = device if device >= 0 else None
                of_member = Seat(host or None, member.local_rank, pid, gpu, member.bus_id)
                seats[rank] = seats.get(rank, of_member).filled_from(of_member)
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
                seats[rank] = seats.get(rank, Seat()).filled_from(Seat(next(iter(hosts))))


def process_of(record: Record) -> Process:
    """Return the process that ``record`` is about, by the names in its line alone."""
    return name_process(record.rank, record.host, record.pid, _tagged(record))


def speaker_of(record: Record) -> Process:
    """Return the process that printed ``record``, by the names in its line alone."""
    source = record.source
    return name_process(source.rank, source.host, source.pid, _tagged(record))


def _tagged(record: Record) -> str:
    """Return the file of a record, with the tag that a launcher puts before the lines of each of its processes."""
    tag = record.source.tag if record.source.local_rank is None else record.source.local_rank
    return record.line.file if tag is None else f"{record.line.file} {tag}"


def name_process(rank: int | None, host: str | None, pid: int | None, file: str) -> Process:
    if rank is not None:
        return rank
    if pid is not None:
        return host or "", pid
    return f"{host}:{file}" if host else file


def names_an_end(record: Record) -> bool:
    """Return whether a launcher names a process that ended.

    A Python exception counts as well if it has a local rank, because then it reports a child.
    """
    if record.tells("first end"):  # mpirun may report that a process ended before it names the process
        return (record.rank, record.host, record.pid, record.fields.get("local_rank")) != (None, None, None, None)
    return record.reports_own_end and "local_rank" in record.fields


def local_rank_of_end(record: Record) -> int | None:
    """Return the local rank whose end a parent process reports.

    The parent is a launcher, or Python with child processes.
    """
    if record.has("is ended", "job") and record.has("fails", "named"):  # here the tag is the child, not the source
        return record.source.local_rank
    local = record.fields.get("local_rank") if record.signs else None
    return local if isinstance(local, int) else None


def _pid_name(pid: Value | None) -> str:
    return f"pid {pid}"


def _records(one: Record | Finding) -> Sequence[Record]:
    return (one,) if isinstance(one, Record) else one.records


def _pids(one: Record | Finding) -> set[int | None]:
    return {record.pid for record in _records(one)}


def _compare(names: AbstractSet[int | None], others: AbstractSet[int | None]) -> Same:
    if names.isdisjoint(others):
        return "no"
    return "yes" if names == others and len(names) == 1 else "open"


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
