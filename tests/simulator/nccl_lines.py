"""Lines as NCCL prints them (2.18 to 2.27: src/init.cc, bootstrap.cc, misc/socket.cc, transport/net_ib.cc)."""

from __future__ import annotations

from collections.abc import Iterator

from simulator.cluster import Cluster, Rank

REMOTE = "remote process exited or there was a network error"


def _at_least(cluster: Cluster, version: str) -> bool:
    return [int(p) for p in cluster.nccl.split(".")] >= [int(p) for p in version.split(".")]


def info(rank: Rank, text: str, thread: int = 0) -> str:
    return f"{rank.host}:{rank.pid}:{rank.pid + thread} [{rank.local}] NCCL INFO {text}"


def warn(cluster: Cluster, time: float, rank: Rank, place: str, text: str) -> tuple[str, str]:
    """Return a warning. Up to 2.25 an empty line comes first, from 2.26 a time stamp."""
    stamp = f"[{cluster.moment(time, rank.host):%Y-%m-%d %H:%M:%S}] " if _at_least(cluster, "2.26") else ""
    return "", f"{stamp}{rank.host}:{rank.pid}:{rank.pid + 400} [{rank.local}] {place} NCCL WARN {text}"


def hello(cluster: Cluster, rank: Rank, interface: str = "eth0", address: str | None = None) -> Iterator[str]:
    """Yield the lines of a healthy start."""
    ip = address or rank.address
    colon, listed = (": Using", "") if _at_least(cluster, "2.24") else (" : Using", "")
    if rank.number == 0 or _at_least(cluster, "2.22"):
        yield f"NCCL version {cluster.nccl}+cuda12.4"
    yield info(rank, f"Bootstrap{colon} {listed}{interface}:{ip}<0>")
    yield info(rank, "cudaDriverVersion 12040")
    if cluster.network == "IB":
        yield info(rank, f"NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB {interface}:{ip}<0>")
    else:
        yield info(rank, f"NET/Socket : Using [0]{interface}:{ip}<0>")
    yield info(rank, f"Using network {cluster.network}")


def comm(cluster: Cluster, rank: Rank) -> Iterator[str]:
    """Yield the lines of a rank's world communicator."""
    api = "ncclCommInitRank " if _at_least(cluster, "2.21") else ""
    head = f"{api}comm 0x55d{rank.pid:07x}0 rank {rank.number} nranks {cluster.size} cudaDev {rank.local} "
    head += f"nvmlDev {rank.local} busId {rank.bus} commId 0x{cluster.jobid * 7919:x} - Init "
    nodes = len(cluster.hosts)
    yield info(rank, head + "START", 90)
    if _at_least(cluster, "2.20"):
        yield info(
            rank,
            f"comm 0x55d{rank.pid:07x}0 rank {rank.number} nRanks {cluster.size} nNodes {nodes} localRanks "
            f"{cluster.per_node} localRank {rank.local} MNNVL 0",
            90,
        )
    ahead = (rank.number + 1) % cluster.size
    yield info(
        rank, f"Channel 00/0 : {rank.number}[{rank.local}] -> {ahead}[{ahead % cluster.per_node}] via P2P/CUMEM", 90
    )
    yield info(rank, head + "COMPLETE", 90)


def closed_by(cluster: Cluster, time: float, rank: Rank, peer: Rank) -> tuple[str, ...]:
    """Return a neighbour's lines about a connection to a dead process."""
    text = f"socketProgress: Connection closed by remote peer {peer.host}.cluster.example<{peer.port}>"
    return (
        *warn(cluster, time, rank, "misc/socket.cc:58", text),
        info(rank, "misc/socket.cc:752 -> 6", 400),
        info(rank, "transport/net_socket.cc:474 -> 6", 400),
    )


def completion_error(
    cluster: Cluster, time: float, rank: Rank, peer: Rank, status: int = 12, vendor: int = 129
) -> tuple[str, ...]:
    """Return the lines of a failed work request. Status 12: no answer, 5: flushed after a failure."""
    if _at_least(cluster, "2.20"):
        tail = " hca mlx5_0" if _at_least(cluster, "2.22") else ""
        text = f"NET/IB: Got completion from peer {peer.address}<{peer.port}> with status={status} opcode=0 len=0 vendor err {vendor} (Send){tail}"
    else:
        text = f"NET/IB : Got completion from peer {peer.address}<{peer.port}> with error {status}, opcode 0, len 0, vendor err {vendor} (Send)"
    return (
        *warn(cluster, time, rank, "transport/net_ib.cc:1901", text),
        info(rank, "transport/net.cc:1134 -> 6", 400),
        info(rank, "proxy.cc:694 -> 6", 400),
    )


def connect_failed(cluster: Cluster, time: float, rank: Rank, address: str, port: int, why: str) -> tuple[str, ...]:
    """Return the lines of a connection that failed at the start."""
    if not _at_least(cluster, "2.24"):
        text = f"socketStartConnect: Connect to {address}<{port}> failed : {why}"
    elif not _at_least(cluster, "2.27"):
        text = f"socketPollConnect: connect returned {why}, exceeded error retry count (35)"
    else:
        text = f"socketPollConnect: connect to {address}<{port}> returned {why}, exceeded error retry count after 35 attempts"
    return (
        *warn(cluster, time, rank, "misc/socket.cc:567", text),
        info(rank, "misc/socket.cc:603 -> 6", 90),
        info(rank, "bootstrap.cc:338 -> 6", 90),
        info(rank, "init.cc:1369 -> 6", 90),
    )
