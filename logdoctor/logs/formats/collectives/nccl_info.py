r"""NCCL and RCCL: the facts that a healthy start and end print (failures are in ``nccl``).

All are level info.  Kinds and their fields:

- ``nccl.version``      version, and cuda or hip where printed; ``library`` is NCCL or RCCL
- ``nccl.driver``       version of the CUDA or HIP driver as a number (12040)
- ``nccl.comm_init``    group_rank, nranks, cuda_dev, nvml_dev, bus_id ("0000:1a:00"), comm_id, comm, api, parent,
  color, key, phase (START or COMPLETE)
- ``nccl.comm_end``     group_rank, nranks, cuda_dev, bus_id, how (Abort, Destroy, Finalize, Revoke), phase
- ``nccl.comm_layout``  group_rank, nranks, nnodes, local_ranks, group_local_rank
- ``nccl.bootstrap``    interface, address ("ip:port")
- ``nccl.network``      network (IB, Socket, AWS Libfabric, a plugin's name)
- ``nccl.interfaces``   transport (IB or Socket), interfaces (tuple of names), oob
- ``nccl.no_ib``        no RDMA device or library was found; the text says which
- ``nccl.env``          name, value
- ``nccl.plugin``       ``NET/Plugin`` and its sisters; plugin (the family: NET, TUNER ...), name where one was loaded
- ``nccl.ofi``          aws-ofi-nccl: plugin_version, provider, libfabric
- ``nccl.gdr``          GPU Direct RDMA; state (Enabled or Disabled), hca
- ``nccl.shared_gpu``   two ranks share a GPU; group_ranks, bus_id

``group_rank`` is the rank inside the communicator: the global one only if the communicator spans the whole job.
``comm_id`` is equal on all ranks of a communicator, ``comm`` means something inside one process only.
Sources: NCCL 2.3.5 to 2.30.7 (src/init.cc, src/bootstrap.cc, src/transport, src/plugin), RCCL 2.18 to 2.27.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.multiline.nccl_lines import HEAD, format_address, format_bus_id
from logdoctor.logs.record_pattern import LifecycleSigns, Message, Multiline, RecordPattern
from logdoctor.model import Value
from logdoctor.pack.regexes import compiled

_INFO = HEAD + "NCCL INFO "
_RANK = r"rank (?P<group_rank>-?\d+) n[rR]anks (?P<nranks>-?\d+)"
_GPU = r"(?: cudaDev (?P<cuda_dev>-?\d+))?(?: nvmlDev (?P<nvml_dev>-?\d+))?(?: busId (?P<bus_id>[0-9a-f]+))?"
_CHILD = r"(?: parent (?P<parent>\S+)(?: \w+Count \d+)? color (?P<color>-?\d+) key (?P<key>-?\d+))?"


def _with_bus(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Write the bus id as the kernel does."""
    printed = fields.get("bus_id")
    return Multiline(head.text, {} if printed is None else {"bus_id": format_bus_id(printed)})


def _with_address(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Write the address as ``ip:port``."""
    return Multiline(head.text, {"address": format_address(str(fields.get("address", "")))})


def _with_names(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Cut the list ``[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE`` or ``[0]eth0:10.0.0.1<0>`` into its names."""
    listed = str(fields.get("listed", ""))
    names = tuple(dict.fromkeys(compiled(r"(?:\[\d+\])?\b([A-Za-z][\w.@-]*):[^\s;]+").findall(listed)))
    return Multiline(head.text, {"interfaces": names})


def _with_ranks(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Join the two ranks."""
    ranks = tuple(int(str(fields[name])) for name in ("first", "second") if name in fields)
    return Multiline(head.text, {"group_ranks": ranks, "bus_id": format_bus_id(fields.get("bus_id", ""))})


RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "nccl.version",
        HEAD + r"(?:NCCL INFO )?(?<!, )\b(?P<library>NCCL|RCCL) version ?:? ?(?P<version>\d+\.\d+(?:\.\d+)?[\w.]*)"
        r"(?:(?:\+cuda| compiled with CUDA )(?P<cuda>[\d.]+))?(?:[+-]hip(?P<hip>[\d.]+))?",
        level="info",
        scan=r"[NR]CCL version ?:? ?\d",
        note="The version of the NCCL library that the job runs.",
    ),
    RecordPattern(
        "nccl.driver",
        _INFO + r"(?:cuda|hip)DriverVersion (?P<version>\d+)",
        level="info",
        scan=r"NCCL INFO (?:cuda|hip)DriverVersion \d",
        note="The version of the GPU driver's interface.",
    ),
    RecordPattern(
        "nccl.comm_init",
        rf"{_INFO}(?:\[Rank -?\d+\] )?(?:(?P<api>ncclComm\w+) )?comm (?P<comm>\S+) {_RANK}{_GPU}{_CHILD}"
        r"(?: commId (?P<comm_id>0x[0-9a-f]+))? ?- Init (?P<phase>START|COMPLETE)",
        level="info",
        read_lines=_with_bus,
        priority=6,
        scan="- Init (?:START|COMPLETE)",
        note="A process enters or has joined a communicator.",
    ),
    RecordPattern(
        "nccl.comm_end",
        rf"{_INFO}(?:\[Rank -?\d+\] )?(?:(?P<api>ncclComm\w+) )?comm (?P<comm>\S+) {_RANK}{_GPU}[^\n]{{0,60}}? ?- "
        r"(?P<how>Abort|Destroy|Finalize|Revoke) (?P<phase>START|COMPLETE)",
        level="info",
        read_lines=_with_bus,
        priority=6,
        scan="- (?:Abort|Destroy|Finalize|Revoke)(?: START| COMPLETE)",
        note="A communicator was taken down; normal at the end of a job.",
    ),
    RecordPattern(
        "nccl.comm_layout",
        rf"{_INFO}comm \S+ {_RANK} nNodes (?P<nnodes>\d+) localRanks (?P<local_ranks>\d+)"
        r" localRank (?P<group_local_rank>\d+)",
        level="info",
        priority=6,
        scan=r" nNodes \d+ localRanks \d",
        note="How many nodes a communicator spans.",
    ),
    RecordPattern(
        "nccl.bootstrap",
        rf"{_INFO}Bootstrap ?: Using (?:\[0\])?(?P<interface>[\w.@-]+):(?P<address>[^\s<>]+<\d+>)",
        level="info",
        read_lines=_with_address,
        priority=6,
        scan="NCCL INFO Bootstrap ?: Using ",
        note="The network interface over which NCCL's processes find each other.",
    ),
    RecordPattern(
        "nccl.network",
        _INFO + r"(?:Using network (?P<network>[^\n]{1,60})|Assigned NET plugin (?P<plugin>\S+) to comm)",
        level="info",
        priority=6,
        scan="NCCL INFO (?:Using network |Assigned NET plugin )",
        note="The network over which NCCL moves data between nodes.",
    ),
    RecordPattern(
        "nccl.interfaces",
        _INFO + r"NET/(?P<transport>IB|Socket) ?: Using (?P<listed>[^\n;]*)"
        r"(?:; ?OOB (?P<oob>[\w.@-]+):(?P<oob_address>[^\s<>]+)(?:<\d+>)?)?",
        level="info",
        read_lines=_with_names,
        priority=6,
        scan="NCCL INFO NET/(?:IB|Socket) ?: Using ",
        note="The network interfaces that NCCL found.",
    ),
    RecordPattern(
        "nccl.no_ib",
        _INFO
        + r"(?P<text>NET/IB ?: No device found|[^\n]{0,60}Failed to open libibverbs\S*|[^\n]{0,60}libibverbs\S* not "
        r"found)",
        level="info",
        priority=7,
        scan="NCCL INFO (?:NET/IB ?: No device found|[^\n]{0,60}libibverbs)",
        note="NCCL found no RDMA network on this host and will use TCP.",
    ),
    RecordPattern(
        "nccl.env",
        _INFO + r"(?P<name>[NR]CCL_\w+) set (?:by (?:environment|env|user) )?to (?P<value>[^\n]*?)\.?\s*$",
        level="info",
        priority=6,
        scan=r"NCCL INFO [NR]CCL_\w{2,60} set (?:by \w+ )?to ",
        note="A variable that changes NCCL's behaviour is set.",
    ),
    RecordPattern(
        "nccl.plugin",
        _INFO
        + r"(?P<text>(?P<plugin>[A-Z]{2,12})/Plugin ?: ?(?:Loaded \w+ plugin (?P<name>[^\n(]+?) ?\([^\n]*|[^\n]*))",
        level="info",
        priority=6,
        scan="NCCL INFO [A-Z]{2,12}/Plugin ?:",
        note="Which plugin NCCL loaded or did not find.",
    ),
    RecordPattern(
        "nccl.plugin",
        _INFO + r"(?P<text>(?:ncclOsDl(?:open|sym)\(|dlopen|P2P plugin|Plugin Path|Plugin version|"
        r"Successfully loaded external plugin)[^\n]*)",
        level="info",
        priority=6,
        scan="NCCL INFO (?:ncclOsDlopen|ncclOsDlsym|P2P plugin|Plugin Path|Plugin version|Successfully loaded)",
        note="Which plugin NCCL loaded or did not find.",
    ),
    RecordPattern(
        "nccl.ofi",
        _INFO + r"(?P<text>NET/OFI (?:Initializing aws-ofi-nccl (?P<plugin_version>[\w.-]+)"
        r"|Selected [pP]rovider is (?P<provider>[\w;-]+)|Using Libfabric version (?P<libfabric>[\w.]+))[^\n]*)",
        level="info",
        priority=6,
        scan="NET/OFI (?:Initializing aws-ofi|Selected [pP]rovider|Using Libfabric)",
        note="Which libfabric and provider the AWS plugin uses.",
    ),
    RecordPattern(
        "nccl.gdr",
        _INFO + r"NET/\w+ ?: GPU Direct RDMA (?P<state>Enabled|Disabled) for (?:HCA|GPU) (?P<index>\d+)(?: '"
        r"(?P<hca>[^'\n]+)')?",
        level="info",
        priority=6,
        scan="GPU Direct RDMA (?:Enabled|Disabled) for (?:HCA|GPU) ",
        note="Whether a network card can reach GPU memory directly.",
    ),
    RecordPattern(
        "nccl.shared_gpu",
        _INFO + r"Detected ranks (?P<first>\d+) and (?P<second>\d+) sharing GPU with bus (?P<bus_id>\w+)",
        level="info",
        read_lines=_with_ranks,
        priority=6,
        scan=r"Detected ranks \d+ and \d+ sharing GPU ",
        note="Two ranks of a communicator use the same GPU.",
    ),
)

SIGNS: LifecycleSigns = {
    "nccl.version": ("launch",),
}
