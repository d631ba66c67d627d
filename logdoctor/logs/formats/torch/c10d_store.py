r"""PyTorch's key-value store (TCPStore) and its sockets: how the ranks of a job meet.

``peer`` is "host:port" of the store.  Kinds and their fields:

- ``c10d.store_connect_retry``    warning; one attempt to connect failed; peer, errno, error.  An attempt over IPv6 that
  fails (97, 99, 22) before IPv4 succeeds is harmless
- ``c10d.store_connect_timeout``  error; peer, seconds or timeout_ms
- ``c10d.store_resolve``          warning; the store's host name does not resolve (may be IPv6 only); peer, family,
  gai, error
- ``c10d.store_bind_failed``      warning; one address could not be bound; peer, errno, error
- ``c10d.store_listen_failed``    error; no address could be bound; port, errno, error
- ``c10d.store_ipv6``             info; a socket of one address family is not to be had; harmless
- ``c10d.store_clients``          error; not all clients joined; joined, expected, seconds
- ``c10d.store_wait_timeout``     error; keys did not appear; timeout_ms, keys
- ``c10d.store_silent``           error; the store did not answer in time; peer, timeout_ms
- ``c10d.store_lost``             error, or warning where the line says W; operation, peer, error
- ``c10d.store_dump_flag``        warning; the watchdog could not read the store (it ended earlier); error
- ``c10d.store_foreign``          warning; a client spoke another protocol; error
- ``c10d.store_daemon``         error; the thread that serves the store ended; error
- ``c10d.unique_id``              error; group_rank could not get NCCL's unique id from from_rank; key, error
- ``c10d.barrier_wait``           info; rank (global), world, joined; waiting in the store based barrier
- ``c10d.barrier_timeout``        error; rank (global), world, joined
- ``c10d.barrier_done``           info; rank (global), world
- ``c10d.env_missing``            error; variable
- ``c10d.listening``              info; peer

Sources: PyTorch 1.8 to 2.15, torch/csrc/distributed/c10d (socket.cpp, TCPStore.cpp,
TCPStoreLibUvBackend.cpp, Utils.hpp, ProcessGroupNCCL.cpp), torch/distributed/distributed_c10d.py, rendezvous.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex

from logdoctor.logs.error_numbers import errno_texts
from logdoctor.logs.multiline.c10d_lines import GROUP_PREFIX, read_error
from logdoctor.logs.record_pattern import LifecycleSigns, Message, Multiline, RecordPattern
from logdoctor.model import Level, Value

_AT = r"\[?(?P<store_host>[^\s\[\](),?]{1,200}|\?UNKNOWN\?)\]?(?:, |:)(?P<port>\d+)"
_ERRNO = r"\((?:errno|system error): (?P<errno>-?\d+) - (?P<error>[^)\n]+)\)"
_LOST = (
    r"[Ff]ailed to recv, got 0 bytes|Connection was likely closed|Connection reset by peer|Broken pipe|Socket Timeout|"
    r"Connection timed out|Connection refused"
)


def _with_peer(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Join host and port to the field ``peer`` and make errno positive.

    Lines of a C++ stack below are read as well.
    """
    multiline = read_error(head, fields, below)
    more = {name: value for name, value in multiline.fields.items() if name not in ("peer", "errno")}
    if "store_host" in fields and "port" in fields:
        host = str(fields["store_host"])
        more["peer"] = f"[{host}]:{fields['port']}" if ":" in host else f"{host}:{fields['port']}"
    if "uv_port" in fields:
        more["port"] = fields["uv_port"]
    errno = fields.get("errno", fields.get("code")) or errno_texts().get(str(fields.get("error", "")).strip())
    if isinstance(errno, int):
        more["errno"] = abs(errno)
    if "keys" in fields:
        more["keys"] = tuple(regex.split(r",\s*", str(fields["keys"]).strip())[:64])
    return Multiline(multiline.text, more, multiline.taken)


def _store(
    kind: str,
    pattern: str,
    level: Level | None,
    note: str,
    *,
    scan: str | None = None,
    priority: int = 4,
) -> RecordPattern:
    return RecordPattern(kind, pattern, level, _with_peer, note, priority, scan=scan)


RECORDS: tuple[RecordPattern, ...] = (
    _store(
        "c10d.store_connect_retry",
        rf"The client socket has failed to connect to {_AT}(?: {_ERRNO})?",
        "warning",
        "One attempt to reach the store failed; it is tried again.",
        scan="The client socket has failed to connect to ",
    ),
    _store(
        "c10d.store_connect_retry",
        r"TCP client failed to connect/validate to host (?P<store_host>\S{1,200}):(?P<port>\d+) - retrying"
        r"(?:[^\n]{0,60}\): (?P<error>[^\n]+))?",
        "warning",
        "One attempt to reach the store failed; it is tried again.",
        scan="TCP client failed to connect/validate to host ",
        priority=5,
    ),
    _store(
        "c10d.store_connect_timeout",
        r"The client socket has timed out after (?:(?P<seconds>\d+)s|(?P<timeout_ms>\d+)ms) while trying to connect to "
        rf"\(?{_AT}",
        "error",
        "The process that keeps the store could not be reached in time.",
        scan="The client socket has timed out after ",
    ),
    _store(
        "c10d.store_connect_timeout",
        rf"client socket has failed to connect to any network address of \(?{_AT}(?:[^\n]{{0,300}}?{_ERRNO})?",
        "error",
        "No address of the host that keeps the store could be reached.",
        scan="client socket has failed to connect to any network address",
        priority=5,
    ),
    _store(
        "c10d.store_connect_timeout",
        r"TCP client failed to connect/validate to host (?P<store_host>\S{1,200}):(?P<port>\d+) - timed out "
        r"\(try=\d+, timeout=(?P<timeout_ms>\d+)ms\)",
        "error",
        "The process that keeps the store could not be reached in time.",
        scan="TCP client failed to connect/validate to host ",
        priority=5,
    ),
    _store(
        "c10d.store_connect_timeout",
        r"connect\(\) timed out\. Original timeout was (?P<timeout_ms>\d+) ms",
        "error",
        "The process that keeps the store could not be reached in time.",
        scan=r"connect\(\) timed out\. Original timeout was ",
    ),
    _store(
        "c10d.store_resolve",
        rf"The (?P<family>IPv[46]) network addresses of \({_AT}\) cannot be retrieved"
        r"(?: \((?:gai )?error: (?P<gai>-?\d+) - (?P<error>[^)\n]+)\))?",
        "warning",
        "The name of the host that keeps the store does not resolve for one address family.",
        scan=r"The IPv[46] network addresses of \(",
    ),
    _store(
        "c10d.store_bind_failed",
        rf"^(?!.*failed to listen on any)[^\n]{{0,40}}?The server socket has failed to (?:bind to|"
        rf"listen on) {_AT}(?: {_ERRNO})?",
        "warning",
        "One address could not be used for listening.",
        scan="The server socket has failed to (?:bind to|listen on) ",
    ),
    _store(
        "c10d.store_listen_failed",
        r"The server socket has failed to listen on any local network address"
        rf"(?:[^\n]*?(?:failed to (?:bind to|listen on) {_AT} {_ERRNO}|"
        r"port: (?P<uv_port>\d+), useIpv6: \w+, code: (?P<code>-?\d+), name: (?P<name>\w+)(?:, message: "
        r"(?P<message>[^\n]+))?))?",
        "error",
        "No address could be used for listening, so the store could not start.",
        scan="The server socket has failed to listen on any local",
        priority=5,
    ),
    _store(
        "c10d.store_ipv6",
        rf"The (?:client|server) socket cannot be initialized (?:to connect to|on) {_AT}(?: {_ERRNO})?"
        r"|The hostname of the client socket cannot be retrieved",
        "info",
        "A socket of one address family is not to be had; the other one is tried.",
        scan="The (?:client|server) socket cannot be initialized |The hostname of the client socket cannot be "
        "retrieved",
    ),
    _store(
        "c10d.store_clients",
        r"Timed out after (?P<seconds>\d+) seconds waiting for clients\. (?P<joined>\d+)/(?P<expected>\d+) clients "
        r"joined",
        "error",
        "Not all processes came to the store in time.",
        scan=r"Timed out after \d+ seconds waiting for clients",
    ),
    _store(
        "c10d.store_wait_timeout",
        r"wait timeout after (?P<timeout_ms>\d+) ?ms,? keys: (?P<keys>[^\n]{1,2000})",
        "error",
        "Another process did not write what this one waits for.",
        scan=r"wait timeout after \d+ ?ms,? keys: ",
    ),
    _store(
        "c10d.store_silent",
        r"waitForInput: (?:poll for )?socket SocketImpl\((?:fd=-?\d+, )?(?:addr=[^,)\n]*, )?(?:remote=\[?"
        r"(?P<store_host>[^\s\],)]+)\]?:(?P<port>\d+))?\) (?:returned 0, likely a timeout"
        r"|timed out after (?P<timeout_ms>\d+)ms)",
        "error",
        "The store did not answer in time: another process has not written what this one waits for.",
        scan="waitForInput: (?:poll for )?socket SocketImpl",
    ),
    _store(
        "c10d.store_lost",
        r"(?P<operation>recvValue|recvVector|recvBytes|sendBytes|sendValue|recvString|sendString|"
        r"sendVector)\w* failed on SocketImpl\((?:fd=-?\d+, )?(?:addr=[^,)\n]*, )?(?:remote=\[?"
        r"(?P<store_host>[^\s\],)]+)\]?:(?P<port>\d+))?\)?(?:: (?P<error>[^\n]+))?",
        None,
        "The connection to the store broke.",
        scan=r"(?:recv|send)\w{4,8} failed on SocketImpl",
    ),
    _store(
        "c10d.store_lost",
        r"(?:DistNetworkError|DistStoreError|TCPStore)\b[^\n]{0,200}?(?P<error>" + _LOST + ")",
        "error",
        "The connection to the store broke.",
        scan=r"(?:DistNetworkError|DistStoreError|TCPStore)\b[^\n]{0,200}(?:" + _LOST + ")",
        priority=2,
    ),
    _store(
        "c10d.store_lost",
        r"(?P<error>[Ff]ailed to recv, got 0 bytes|Connection was likely closed\. Did the remote server shutdown or "
        r"crash)",
        None,
        "The connection to the store broke.",
        scan="(?:ailed to recv, got 0 bytes|Did the remote server shutdown or crash)",
        priority=1,
    ),
    _store(
        "c10d.store_dump_flag",
        GROUP_PREFIX + r"Failed to (?:check|get|set) the [\"']?should dump[\"']? flag on TCPStore[^\n]*?(?:with error: "
        r"(?P<error>[^\n]*))?$",
        "warning",
        "The process that keeps the store had already ended.",
        scan=r"Failed to (?:check|get|set) the [^\n]{0,3}should dump",
        priority=6,
    ),
    _store(
        "c10d.store_foreign",
        r"(?P<error>(?:Invalid|Unexpected|Unknown) query type|[Vv]alidation (?:packet|magic|number)|"
        r"ping failed, invalid)[^\n]*",
        "warning",
        "Something that is not a process of the job talked to the store.",
        scan="(?:(?:Invalid|Unexpected|Unknown) query type|alidation (?:packet|magic|number)|ping failed, invalid)",
    ),
    RecordPattern(
        "c10d.store_daemon",
        r"TCPStoreMasterDaemon::run\(\) failed with (?:unknown )?exception(?:: (?P<error>[^\n]+))?",
        "error",
        note="The thread that serves the store ended on an error.",
        priority=5,
        scan=r"TCPStoreMasterDaemon::run\(\) failed",
    ),
    RecordPattern(
        "c10d.unique_id",
        r"\[(?P<group_rank>\d+)\] is setting up \w+ communicator and retr(?:ie|ei)ving \w+Id from \["
        r"(?P<from_rank>\d+)\] via (?:c10d|\w+) key-value store by key '(?P<key>[^'\n]*)', but "
        r"(?:store->\w+\('[^'\n]*'\)|it) got error: (?P<error>[^\n]+)",
        "error",
        read_error,
        "A rank could not learn from another one how to set up NCCL.",
        6,
        scan=r"is setting up \w{3,6} communicator and retr(?:ie|ei)ving ",
    ),
    RecordPattern(
        "c10d.barrier_timeout",
        r"Timed out initializing process group in store based barrier on rank:? (?P<rank>\d+)[^\n]{0,200}?world_size="
        r"(?P<world>\d+), (?:num_workers_joined|worker_count)=(?P<joined>\d+)",
        "error",
        note="Not all processes came to the first barrier in time.",
        priority=6,
        scan="Timed out initializing process group in store based barrier",
    ),
    RecordPattern(
        "c10d.barrier_wait",
        r"Waiting in store based barrier to initialize process group for rank:? (?P<rank>\d+)[^\n]{0,200}?world_size="
        r"(?P<world>\d+), (?:num_workers_joined|worker_count)=(?P<joined>\d+)",
        "info",
        note="A process waits for the others before the job starts.",
        priority=4,
        scan="Waiting in store based barrier to initialize process group",
    ),
    RecordPattern(
        "c10d.barrier_done",
        r"Rank (?P<rank>\d+): Completed store-based barrier for key:\S+ with (?P<world>\d+) nodes",
        "info",
        note="All processes of the group have met.",
        priority=4,
        scan=r"Rank \d+: Completed store-based barrier",
    ),
    RecordPattern(
        "c10d.env_missing",
        r"Error initializing torch\.distributed using \w+:// rendezvous: (?:environment variable (?P<variable>\w+)|"
        r"[^\n]+)",
        "error",
        note="The process was not told its rank, the number of processes or the address of the first one.",
        priority=5,
        scan="Error initializing torch\\.distributed using ",
    ),
    _store(
        "c10d.listening",
        rf"The server socket has started to listen on {_AT}",
        "info",
        "The store is up.",
        scan="The server socket has started to listen on ",
    ),
)

SIGNS: LifecycleSigns = {
    "c10d.barrier_done": ("comes up",),
    "c10d.store_lost": ("gave up",),
    "c10d.store_wait_timeout": ("gave up", "timed out"),
}
