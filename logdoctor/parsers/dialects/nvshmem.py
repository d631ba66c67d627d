r"""NVSHMEM, the one-sided communication library under DeepEP and other GPU-initiated exchanges.

Kinds and their fields:

- ``nvshmem.error``   file, func, line, code (its status); a failed set-up or transfer; level error
- ``nvshmem.info``    what it says of itself; the list of CUDA's error names in it is no error

Source: NVSHMEM 2.10 to 3.4, src/host (init.cu, topo.cpp, transport.cpp) and src/modules/transport.
"""

from __future__ import annotations

from logdoctor.parsers.record import Record

RECORDS: tuple[Record, ...] = (
    Record(
        "nvshmem.info",
        r"(?P<by_host>[\w.-]{1,80}):(?P<by_pid>\d+):\d+ \[-?\d+\] NVSHMEM (?:INFO|TRACE|VERSION) (?P<text>[^\n]*)",
        level="info",
        priority=6,
        scan=r" NVSHMEM (?:INFO|TRACE) ",
        note="NVSHMEM says what it does.",
    ),
    Record(
        "nvshmem.error",
        r"(?P<file>[^\s:]{0,60}\bsrc/(?:host|modules|comm|init|util|device|include)/[^\s:]{1,80}\.(?:cpp|cu|h|c)):"
        r"(?:(?P<func>\w+):)?(?P<line>\d+): (?P<text>(?:(?:non-zero|error) status: (?P<code>-?\d+) )?[^\n]{0,200}?"
        r"(?:failed|exiting|not accessible|[uU]nable to|[aA]bort|error|non-zero|NULL value|[cC]annot |"
        r"No devices selected|called before NVSHMEM)[^\n]*)",
        level="error",
        priority=4,
        scan=r"\bsrc/(?:host|modules|comm|init|util|device|include)/[^\s:]{1,200}\.(?:cpp|cu|h|c):(?:\w+:)?\d+: ",
        note="NVSHMEM, a library for exchanges between GPUs, reports a failure.",
    ),
    Record(
        "nvshmem.error",
        r"\[(?P<file>[^\s:\]]{1,300}\.(?:cpp|cu|h)):(?P<line>\d+)\] (?P<text>cuda failed with (?P<error>[^\n]{3,160}))",
        level="error",
        priority=1,
        scan="cuda failed with ",
        note="A CUDA call of NVSHMEM failed.",
    ),
    Record(
        "nvshmem.error",
        r"\bnvshmem\w* (?:initialization |setup |bootstrap )?failed\b[^\n]*",
        level="error",
        priority=1,
        scan=r"nvshmem\w* (?:initialization |setup |bootstrap )?failed",
        note="NVSHMEM, a library for exchanges between GPUs, reports a failure.",
    ),
)
