"""NCCL's own libraries of many versions, without a GPU: the network of the bootstrap, and the missing driver."""

from __future__ import annotations

from collections.abc import Mapping

from bench import Bench
from experiment import Experiment, Needs

INFO = {"NCCL_DEBUG": "INFO"}


def ranks(bench: Bench, *arguments: str, env: Mapping[str, str] | None = None, hosts: int = 1) -> None:
    """Start two ranks, each with a log of its own; they find each other by a file in the shared folder."""
    started = [
        bench.host(f"gpu-a0{rank % hosts + 1}").start(
            "python", "nccl_ranks.py", "--rank", str(rank), "--nranks", "2", *arguments,
            log=f"rank{rank}.log", env={**INFO, **(env or {})},
        )
        for rank in range(2)
    ]  # fmt: skip
    for rank in started:
        rank.wait(8)


def no_interface(version: str, also: tuple[str, ...] = ()) -> Experiment:
    """Rank 0 looks for an interface of a name that the host lacks."""
    return Experiment(
        case=f"no-interface-nccl-{version}",
        label="net.no-interface",
        also=also,
        title=f"NCCL {version} is told to use an interface that does not exist",
        story="""The job's environment, copied from another cluster, says NCCL_SOCKET_IFNAME=ib0. The host has only eth0. Rank 0 cannot make the
        communicator's id; the other rank waits for it until the job is ended.""",
        run=lambda bench: ranks(bench, env={"NCCL_SOCKET_IFNAME": "ib0"}),
        needs=Needs(environment=f"nccl-{version}"),
        culprit={"rank": 0, "host": "gpu-a01"},
        evidence=("no socket interface found", "driver version is insufficient"),
    )


def no_driver(version: str) -> Experiment:
    """Both ranks run where no GPU driver is."""
    return Experiment(
        case=f"no-driver-nccl-{version}",
        label="cuda.driver",
        title=f"NCCL {version} on hosts without a GPU driver",
        story="""Two ranks on two hosts were scheduled to a partition without GPUs. The bootstrap network is found, then the CUDA runtime says that
        there is no driver that suffices, on both ranks.""",
        run=lambda bench: ranks(bench, hosts=2),
        needs=Needs(environment=f"nccl-{version}"),
        evidence=("CUDA driver version is insufficient",),
    )


def other_subnet(version: str) -> Experiment:
    """The root's address is on a network that the host is not on."""
    return Experiment(
        case=f"root-address-elsewhere-nccl-{version}",
        label="net.no-interface",
        also=("rdzv.config", "net.wrong-interface"),
        title=f"NCCL {version} is given a root address of a network that the host is not on",
        story="""NCCL_COMM_ID names 10.99.0.7, an address of the storage network of another cluster. No interface of this host is in its subnet,
        so rank 0 has nothing to listen on.""",
        run=lambda bench: ranks(bench, env={"NCCL_COMM_ID": "10.99.0.7:29400"}),
        needs=Needs(environment=f"nccl-{version}"),
        evidence=("No usable listening interface found",),
    )


def smoke(version: str, **env: str) -> Experiment:
    """The id is made and handed on; the network plugin that is asked for does not exist, which NCCL survives."""
    return Experiment(
        case=f"smoke-nccl-{version}",
        label="healthy",
        title=f"A smoke test of NCCL {version}'s bootstrap",
        story="""Two ranks on two hosts make and exchange the communicator's id, and stop there. NCCL looks for plugins that are not installed and
        falls back to its own network, as it should.""",
        run=lambda bench: ranks(bench, "--only-id", env=env, hosts=2),
        needs=Needs(environment=f"nccl-{version}"),
    )


EXPERIMENTS = (
    no_interface("2.14.3", also=("cuda.driver",)),  # which it says first, and is true as well
    *map(no_interface, ("2.18.3", "2.21.5", "2.26.5", "2.32.3")),
    *map(no_driver, ("2.14.3", "2.18.3", "2.21.5", "2.28.9", "2.32.3")),
    *map(other_subnet, ("2.18.3", "2.26.5", "2.32.3")),
    smoke("2.18.3", NCCL_NET_PLUGIN="aws-ofi", NCCL_SOCKET_IFNAME="eth"),
    smoke("2.21.5", NCCL_NET_PLUGIN="aws-ofi", NCCL_IB_HCA="mlx5"),
    smoke("2.28.9", NCCL_SOCKET_IFNAME="^lo,docker", NCCL_IB_DISABLE="1"),
    smoke("2.32.3", NCCL_SOCKET_FAMILY="AF_INET"),
)
