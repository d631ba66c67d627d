"""MPI jobs over two hosts whose networks do not lead to each other."""

from __future__ import annotations

import subprocess
from functools import partial
from typing import Any

from bench import Bench
from experiment import Experiment
from mpi import MPICH, OPENMPI, Mpi, around, hosts, stacks

REMOTE = (
    "-n",
    "4",
    "--hostfile",
    "hosts.txt",
    "--mca",
    "plm_rsh_agent",
    "./remote",
    "--mca",
    "pml",
    "ob1",
    "--mca",
    "btl",
    "tcp,self",
)
HYDRA = ("-n", "4", "-f", "machines.txt", "-launcher", "ssh", "-launcher-exec", "./remote")
BRIDGE = "ip link add docker0 type bridge; ip addr add 172.17.0.1/16 dev docker0; ip link set docker0 up"
SILENT = (
    "ip link add {0} type veth peer name far0; ip link set far0 up; ip addr add {1}/24 dev {0}; ip link set {0} up;"
    "ip neigh add {2} lladdr 02:00:00:00:00:01 dev {0} 2>/dev/null; ip link set far0 arp off"
)
"""An interface that takes every packet and hands none on, as a cable that leads nowhere does."""
DEAF = "ip rule add ipproto tcp sport 46000-46127 blackhole"
"""A firewall that lets no answer of the ranks' ports through."""


def isolated(
    bench: Bench,
    mpi: Mpi,
    arguments: tuple[str, ...],
    prepare: tuple[str, str],
    *,
    program: tuple[str, ...] = ("./heat", "--steps", "100"),
    env: dict[str, str] | None = None,
    after: float = 15,
    traced: bool = False,
) -> None:
    """Run a job over two prepared hosts until it is given up."""
    both = hosts(bench, "cn101", "cn102")
    mpi.build(bench, program[0][2:])
    for host, script in zip(both, prepare, strict=True):
        host.sh("sysctl -qw net.ipv4.tcp_syn_retries=6")
        host.sh(script or "true")
    options: dict[str, Any] = {"env": around(bench, **(env or {}))}
    job = both[0].start(*mpi.command(*(REMOTE if mpi is OPENMPI else HYDRA), *arguments, *program), **options)
    if traced:
        try:
            job.process.wait(after)
        except subprocess.TimeoutExpired:
            stacks(bench, program[0][2:])
        job.stop()
    job.wait(after)


def lost(
    case: str,
    mpi: Mpi,
    label: str,
    title: str,
    description: str,
    evidence: str,
    *,
    also: tuple[str, ...] = (),
    culprit: dict[str, Any] | None = None,
    hung: bool = True,
    expected_wrong: str = "",
    **how: Any,
) -> Experiment:
    """An experiment in which two hosts do not reach each other."""
    return Experiment(
        case=case,
        label=label,
        title=title,
        story=f"A solver in C runs under {mpi.name}, two ranks on each of two hosts. {description}",
        run=partial(isolated, mpi=mpi, **how),
        needs=mpi.needs("gdb") if how.get("traced") else mpi.needs(),
        culprit=culprit or {},
        also=also,
        evidence=(evidence,) if evidence else (),
        hung=hung,
        expected_wrong=expected_wrong,
        seconds=90,
    )


VERBOSE = ("--mca", "btl_base_verbose", "30")
INCLUDE = ("--mca", "btl_tcp_if_include")
WAITING = "The first message between the hosts waits for ever; after a quarter of a minute somebody ends the job."

EXPERIMENTS = (
    lost(
        "docker-bridge-hang-openmpi",
        OPENMPI,
        "mpi.hang-interface",
        "Open MPI talks over docker0, which is another network on each host",
        f"Both hosts have a docker0 with the address 172.17.0.1, and btl_tcp_if_include names it. {WAITING}",
        "172.17.0.1",
        also=("mpi.hang", "net.wrong-interface"),
        arguments=(*INCLUDE, "docker0", *VERBOSE),
        prepare=(BRIDGE, BRIDGE),
    ),
    lost(
        "unrouted-interface-hang-openmpi",
        OPENMPI,
        "mpi.hang-interface",
        "Open MPI talks over a second network whose cable leads nowhere",
        f"btl_tcp_if_include names the second interface of the hosts; both have addresses of one subnet there, but no packet gets through. {WAITING}",
        "192.168.50.",
        also=("mpi.hang", "net.wrong-interface", "mpi.tcp"),
        arguments=(*INCLUDE, "ens1f1", *VERBOSE),
        prepare=(
            SILENT.format("ens1f1", "192.168.50.11", "192.168.50.12"),
            SILENT.format("ens1f1", "192.168.50.12", "192.168.50.11"),
        ),
        expected_wrong="connections that are begun and never completed are not matched with each other",
    ),
    lost(
        "different-subnets-openmpi",
        OPENMPI,
        "mpi.tcp",
        "The interfaces that Open MPI may use have different subnets on the two hosts",
        "btl_tcp_if_include names an interface that both hosts have, with addresses of two subnets without a route between them.",
        "unreachable",
        also=("net.wrong-interface", "mpi.fabric", "mpi.tcp", "mpi.hang"),
        hung=False,
        arguments=(*INCLUDE, "ens1f1"),
        prepare=(
            SILENT.format("ens1f1", "192.168.50.11", "192.168.50.1"),
            SILENT.format("ens1f1", "192.168.60.12", "192.168.60.1"),
        ),
    ),
    lost(
        "silent-firewall-hang-openmpi",
        OPENMPI,
        "mpi.hang",
        "A firewall drops what the ranks send each other",
        f"The second host drops every packet to the ports of the ranks, and only to them, so the daemons start. {WAITING} Stacks of all ranks were taken by gdb.",
        "opal_progress",
        also=("mpi.tcp", "mpi.hang-interface"),
        traced=True,
        arguments=(
            "--mca",
            "btl_tcp_port_min_v4",
            "46000",
            "--mca",
            "btl_tcp_port_range_v4",
            "100",
            "--mca",
            "btl_tcp_if_include",
            "eth0",
        ),
        prepare=(DEAF, DEAF),
    ),
    lost(
        "docker-bridge-daemons-openmpi",
        OPENMPI,
        "mpi.hang-interface",
        "Open MPI's daemons call home over docker0",
        "Both hosts have a docker0 with the address 172.17.0.1, and oob_tcp_if_include names it; the daemon of the second host cannot call back.",
        "unable to complete a TCP connection",
        also=("mpi.launch", "mpi.tcp", "net.wrong-interface"),
        hung=False,
        arguments=("--mca", "oob_tcp_if_include", "docker0"),
        prepare=(BRIDGE, BRIDGE),
        after=30,
    ),
    lost(
        "docker-bridge-ucx-mpich",
        MPICH,
        "mpi.fabric",
        "UCX may only use docker0, which leads nowhere",
        "UCX_NET_DEVICES names docker0, a bridge without a carrier; UCX does not take it, and MPI_Init fails for want of a transport.",
        "Destination is unreachable",
        also=("net.wrong-interface", "net.no-interface"),
        hung=False,
        arguments=(),
        prepare=(BRIDGE, BRIDGE),
        env={"UCX_NET_DEVICES": "docker0", "UCX_TLS": "tcp,self"},
    ),
    lost(
        "no-such-device-ucx-mpich",
        MPICH,
        "net.no-interface",
        "UCX_NET_DEVICES names no device of these hosts",
        "UCX_NET_DEVICES names an InfiniBand card that the hosts do not have.",
        "Destination is unreachable",
        also=("mpi.fabric",),
        hung=False,
        arguments=(),
        prepare=("", ""),
        env={"UCX_NET_DEVICES": "mlx5_0:1", "UCX_TLS": "tcp,self"},
    ),
)
