"""Connections that broke or never came up, and the host at their other end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex

from logdoctor.model import Record
from logdoctor.model.numbers import number
from logdoctor.pack.regexes import later
from logdoctor.reasoning.derived import derive_of_other, derive_record
from logdoctor.reasoning.identity.addresses import INTERFACE_KIND, bare_address, is_address, peer_of, short_host
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.processes import Process, process_of, speaker_of
from logdoctor.reasoning.questions import SEARCHED, asks, first_of_each
from logdoctor.reasoning.timeline import Timeline

PEER_STATUSES = (9, 10, 11, 12, 13)
"""Work completion statuses about the remote end: access refused, no answer, not ready to receive."""
MIN_VOTES = 2
_CLOSED = later(r"closed by|reset by peer|refused")
_CLOSED_BY_PEER = later(r"closed by (?:remote )?peer")
"""Orderly close. The process at the remote end ended, so the link is not at fault."""
MIN_ATTEMPTS, MIN_LINES, MIN_TIMEOUT_LINES = 10, 3, 2
"""Numbers from which attempts count as many.

After ten attempts NCCL has waited more than five seconds. Before 2.24 it prints only every thousandth attempt, so three
lines are many. An attempt that timed out took the kernel two minutes, so two such lines are many.
"""
_ATTEMPT = later(r"retry(?:ing)? \(?(?:attempt )?(?P<attempt>\d{1,5})(?:/| of )(?P<attempts>\d{1,5})\b")
NO_STORE = "c10d.store_connect_timeout"
STORES = ("c10d.listening", "elastic.workers")
UNREACHABLE = (101, 110, 113)
"""ENETUNREACH, ETIMEDOUT and EHOSTUNREACH.  A refused connection had reached the host."""
Complaints = Mapping[Process, Record]
"""First complaint of each process."""


@asks("tells peer")
def pointed_at(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield ``ledger.pointed_at`` for a host or rank to which other processes lost the connection.

    The cases are:

    - Several processes lost the same host, and no process there complains of others. The fields are host, rank (if only
      one process can be meant), peer (the address as printed), pointing (the ranks that complain) and votes.
    - One process complains alone, and it says that a silent host closed the connection.
    - All broken connections have both ends on one host. The fields are host, rank (as above), peer and votes.
    - All complaining hosts point at an address or host without any line in these logs. The field host is mostly absent.
      The logs of the remote end are missing, so the complaining processes are not to blame.

    A dead process does not complain. A host whose own processes complain may have lost its network or have followed a
    failure. It is named only if a single rank there is silent and had printed lines before. A host without any line is
    named only if several hosts complain of it alone in one file. Otherwise nothing says whether that host complained.
    """
    broken = (e for e in t.of("tells peer") if e.failing and _peer(e))
    lost = first_of_each(broken, lambda e: (speaker_of(e), _peer(e), e.line.file))
    links = state.runs.select_last_run(lost.values())
    votes: dict[str, dict[Process, Record]] = {}
    complaining: set[str | None] = set()
    for record in links:
        peer = bare_address(_peer(record) or "")
        target, source = state.processes.host_at(peer), state.processes.host_of(record)
        if target != source:
            complaining.add(source)
            votes.setdefault(target or peer, {}).setdefault(state.processes.process_of(record), record)
    if not votes:
        hosts = {state.processes.host_of(record) for record in links}
        if len(hosts) == 1 and (host := hosts.pop()) is not None:
            yield _pointed_at(host, {state.processes.process_of(e): e for e in links}, state)
    known = {host: complaints for host, complaints in votes.items() if host in state.processes.hosts}
    accused = [host for host, told in known.items() if len(told) >= MIN_VOTES and _is_convincing(told, state)]
    if not accused and len(votes) == 1:
        accused = [host for host, complaints in known.items() if _all_say(_CLOSED_BY_PEER, complaints)]
    silent = [host for host in accused if host not in complaining]
    silent = silent or [host for host in accused if _silent_rank(host, state) is not None]
    if len(silent) == 1:
        yield _pointed_at(silent[0], votes[silent[0]], state)
    elif len(state.processes.hosts) > 1 or (state.processes.expected or 0) > len(state.processes.ranks):
        for target, complaints in votes.items():
            if target not in known and len(complaints) >= MIN_VOTES and complaining <= _hosts(complaints, state):
                first = _first(complaints)
                is_silent = len(votes) == 1 and _is_in_one_file(complaints, state) and not is_address(target)
                host, peer = target if is_silent else None, _peer(first) or target
                yield derive_of_other("pointed_at", first, host=host, peer=peer, votes=len(complaints))


def _pointed_at(host: str, complaints: Complaints, state: JobState) -> Record:
    first = _first(complaints)
    return derive_of_other(
        "pointed_at",
        first,
        host=host,
        rank=_silent_rank(host, state),
        peer=_peer(first) or host,
        pointing=tuple(sorted(rank for rank in complaints if isinstance(rank, int))),
        votes=len(complaints),
    )


def _silent_rank(host: str, state: JobState) -> int | None:
    """Return the only rank of ``host`` without failures.

    The result is None unless the hosts of all ranks are known.
    """
    ranks = state.processes.ranks_on(host)
    if not ranks or state.processes.expected is None or state.processes.ranks_with_host() < state.processes.expected:
        return None
    quiet = ranks - {state.processes.rank_named(process) for process in state.lives.with_alarm()}
    return quiet.pop() if len(quiet) == 1 else None


def _is_in_one_file(complaints: Complaints, state: JobState) -> bool:
    """Return whether several hosts complain in one file.

    Such a file holds the output of the whole job, so a host without lines was silent.
    """
    hosts: dict[str, set[str]] = {}
    for record in complaints.values():
        if host := state.processes.host_of(record):
            hosts.setdefault(record.line.file, set()).add(host)
    return any(len(group) >= MIN_VOTES for group in hosts.values())


def _is_convincing(complaints: Complaints, state: JobState) -> bool:
    """Return whether two hosts complain, or all complaints say closed or refused.

    A broken link looks the same from one end, whichever end is at fault.
    """
    return len(_hosts(complaints, state) - {None}) >= MIN_VOTES or _all_say(_CLOSED, complaints)


def _all_say(pattern: regex.Pattern[str], complaints: Complaints) -> bool:
    return all(pattern.search(e.text[:SEARCHED]) for e in complaints.values())


def _hosts(complaints: Complaints, state: JobState) -> set[str | None]:
    return {state.processes.host_of(e) for e in complaints.values()}


def _first(complaints: Complaints) -> Record:
    return min(complaints.values(), key=lambda e: e.order)


def _peer(record: Record) -> str | None:
    """Return the remote end of a lost connection.

    The result is None for a failure without a peer, such as a work completion with a local status.
    """
    status = record.fields.get("status")
    return None if isinstance(status, int) and status not in PEER_STATUSES else peer_of(record)


@asks("nccl.retry", "comes up")
def still_trying(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield ``ledger.still_trying`` for each process that NCCL was still connecting when the log ended.

    It stands on the last attempt. The fields are peer (where printed), error, attempt and attempts as NCCL counts them.
    Without such a count, attempt is the number of lines, each of which stands for many attempts.

    NCCL prints each attempt as INFO, waits 100 ms longer each time, and goes on. So ranks can join that start minutes
    apart. The attempts count only if they are many and the process printed no complete communicator since. Sources:
    NCCL 2.12 to 2.30 (src/misc/socket.cc, src/os/linux.cc).
    """
    lines: dict[Process, list[Record]] = {}
    for record in t.of("nccl.retry", "comes up"):
        process = process_of(record)
        if record.fields.get("phase") == "COMPLETE":
            lines.pop(process, None)
        elif not record.has("comes up"):
            lines.setdefault(process, []).append(record)
    for record in state.runs.select_last_run(attempts[-1] for attempts in lines.values()):
        count = _ATTEMPT.search(record.text[:SEARCHED])
        told = len(lines[process_of(record)])
        attempt = (number(count["attempt"]) or 0) if count else told
        timed_out = "Connection timed out" in record.text[:SEARCHED]
        if attempt >= (MIN_ATTEMPTS if count else MIN_TIMEOUT_LINES if timed_out else MIN_LINES):
            yield derive_record(
                "still_trying",
                record,
                peer=record.fields.get("peer"),
                error=record.fields.get("error"),
                attempt=attempt,
                attempts=number(count["attempts"]) if count else None,
            )


@asks(NO_STORE, *STORES)
def other_port(t: Timeline, _: JobState) -> Iterator[Record]:
    """Yield ``ledger.other_port`` for a port of torch's store that was asked for in vain: peer, port, listens.

    The field listens has the ports on which a store of the job listens, or that others asked for in vain.
    """
    asked = first_of_each((e for e in t.of(NO_STORE) if e.failing and _port(e)), _store)
    listens = {port for e in t.of(*STORES) if (port := _port(e))}
    for (store, port), record in asked.items():
        others = listens | {p for host, p in asked if host == store}
        if port not in listens and (others := others - {port}):
            told = ", ".join(map(str, sorted(others)))
            yield derive_record("other_port", record, peer=f"{store}:{port}", port=port, listens=told)
            return


def _port(record: Record) -> int | None:
    port = record.fields.get("port", record.fields.get("master_port"))
    return port if isinstance(port, int) else None


def _store(record: Record) -> tuple[str, int]:
    return short_host(str(record.fields.get("store_host", ""))), _port(record) or 0


@asks(INTERFACE_KIND, "failing")
def other_subnet(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield ``ledger.other_subnet`` for a connection that failed between networks: host, own, peer, peer_host.

    The field own has the interface and the address by which the process is reached (``Bootstrap : Using
    eth0:10.1.0.4<0>``), peer the address asked for. It shares less than its first two numbers with all of that host.
    """
    own: dict[str, dict[str, str]] = {}
    for record in t.of(INTERFACE_KIND):
        if (host := short_host(record.source.host or "")) and "address" in record.fields:
            address = bare_address(str(record.fields["address"]))
            own.setdefault(host, {}).setdefault(address, str(record.fields.get("interface", "")))
    for record in t.of("failing"):
        host, peer = short_host(record.source.host or ""), bare_address(peer_of(record) or "")
        addresses = own.get(host, {}) if record.fields.get("errno") in UNREACHABLE else {}
        if addresses and _network(peer) and not any(_network(a) in ("", _network(peer)) for a in addresses):
            address, interface = next(iter(addresses.items()))
            told, peer_host = f"{interface}:{address}" if interface else address, state.processes.host_at(peer)
            yield derive_record("other_subnet", record, host=host, own=told, peer=peer, peer_host=peer_host)
            return


def _network(address: str) -> str:
    """Return the first two numbers of an IPv4 address, else ""."""
    parts = address.split(".")
    return ".".join(parts[:2]) if len(parts) == 4 and all(p.isdigit() for p in parts) else ""
