r"""NCCL 2.0 to 2.3: the head of today's lines without the word NCCL (``HOST:PID:TID [D] FILE:LINE WARN ...``).

Kinds and fields as in ``nccl`` and ``nccl_info``: ``nccl.warn``, ``nccl.warn_harmless``, ``nccl.trail``,
``nccl.comm_init`` (without a phase), ``nccl.interfaces``, ``nccl.plugin``.

Sources: NCCL 2.0 to 2.3 (src/debug.h, src/include/socket.h, src/init.cu, src/transport/net_socket.cu).
"""

from __future__ import annotations

from logdoctor.logs.multiline.nccl_lines import NAME, TRAIL_SCAN, read_message
from logdoctor.logs.record_pattern import LifecycleSigns, RecordPattern

_HEAD = (
    r"(?:(?P<by_host>[\w.-]+):(?P<by_pid>\d+):(?P<tid>\d+) \[(?P<device>-?\d+)\] "
    rf"|^(?P<by_host>{NAME}) \[(?P<device>\d{{1,2}})\] )"
)
_SOURCE = r"(?P<file>[\w./-]{3,120}\.(?:h|cu|cc)):(?P<line>\d+)"


RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "nccl.warn",
        rf"{_HEAD}{_SOURCE} WARN (?P<text>[^\n]*)",
        level="error",
        read_lines=read_message,
        priority=6,
        scan=r"\.(?:h|cu|cc):\d{1,5} WARN ",
        note="NCCL reports a failure inside its own code.",
    ),
    RecordPattern(
        "nccl.warn_harmless",
        rf"{_HEAD}{_SOURCE} WARN (?P<text>nvmlDevice(?:Set|Clear)CpuAffinity\(\) failed[^\n]*)",
        level="warning",
        priority=7,
        scan=r"WARN nvmlDevice(?:Set|Clear)CpuAffinity",
        note="NCCL may not choose the cores of its threads here and goes on without it.",
    ),
    RecordPattern(
        "nccl.trail",
        rf"{_HEAD}INFO (?P<text>{_SOURCE} -> (?P<result>\d+)(?: \[(?P<thread>[^\]\n]*)\])?)",
        level="info",
        priority=6,
        scan=TRAIL_SCAN,
        note="NCCL passes an error code up through its own functions; the first such line is nearest to the fault.",
    ),
    RecordPattern(
        "nccl.comm_init",
        rf"{_HEAD}INFO comm (?P<comm>0x[0-9a-f]+) rank (?P<group_rank>\d+) nranks (?P<nranks>\d+)",
        level="info",
        priority=6,
        scan=r"\] INFO comm 0x[0-9a-f]{4,16} rank \d",
        note="A process enters a communicator.",
    ),
    RecordPattern(
        "nccl.interfaces",
        rf"{_HEAD}(?:NCCL )?INFO NET : Using interface (?P<interfaces>[\w.@-]+):",
        level="info",
        priority=6,
        scan=r"INFO NET : Using interface ",
        note="A network interface that NCCL found.",
    ),
    RecordPattern(
        "nccl.plugin",
        rf"(?:{_HEAD})?(?:NCCL )?INFO (?P<text>(?P<plugin>NET) ?: (?:Unable to load|Failed to find|Found) [^\n]*)",
        level="info",
        priority=6,
        scan=r"INFO NET ?: (?:Unable to load|Failed to find|Found) ",
        note="Which plugin NCCL loaded or did not find.",
    ),
)

SIGNS: LifecycleSigns = {
    "nccl.comm_init": ("comes up",),
}
