r"""NVSHMEM, the one-sided communication library under DeepEP and other GPU-initiated exchanges.

Kinds and their fields:

- ``nvshmem.error``   file, func, line, code (its status); a failed set-up or transfer; level error
- ``nvshmem.closing`` what it could not tidy up at its end; level warning
- ``nvshmem.info``    what it says of itself; the list of CUDA's error names in it is no error

Source: NVSHMEM 2.10 to 3.4, src/host (init.cu, topo.cpp, transport.cpp) and src/modules/transport.
"""

from __future__ import annotations

from logdoctor.logs.record_pattern import RecordPattern

_SOURCE = r"\bsrc/(?:host|modules|comm|init|util|device|include)/"
_PLACE = (
    rf"(?P<file>[^\s:]{{0,60}}{_SOURCE}[^\s:]{{1,80}}\.(?:cpp|cu|h|c)):"
    r"(?:(?P<func>[A-Za-z_]\w*):)?(?P<line>\d+): "
)
_PLACE_SCAN = rf"{_SOURCE}[^\s:]{{1,200}}\.(?:cpp|cu|h|c):(?:[A-Za-z_]\w*:)?\d+: "
_BY_FORM = (
    r"(?P<file>[^\s:]{0,60}\bsrc/(?:host/(?:bootstrap|coll|comm|init|launch|mem|proxy|stream|team|topo|transport|util)"
    r"|modules/(?:bootstrap|transport)|device/(?:init|launch)|include/(?:internal|non_abi))/[^\s:]{1,80}\.(?:cpp|cuh?|h|c)):"
    r"(?:(?P<func>[A-Za-z_]\w*):(?P<line>\d+): (?P<text>[^\n]{3,400})"
    r"|(?P<line>\d+): (?P<text>(?:(?:non-zero|error) status: (?P<code>-?\d+)|NULL value) [^\n]{3,400}))"
)
"""Its macros print a place for errors alone; those that name the function there have no other mark of one."""

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "nvshmem.info",
        r"(?P<by_host>[\w.-]{1,80}):(?P<by_pid>\d+):\d+ \[-?\d+\] NVSHMEM (?:INFO|TRACE|VERSION) (?P<text>[^\n]*)",
        level="info",
        priority=6,
        scan=r" NVSHMEM (?:INFO|TRACE) ",
        note="NVSHMEM says what it does.",
    ),
    RecordPattern(
        "nvshmem.closing",
        rf"{_PLACE}(?P<text>[^\n]{{0,60}}(?:\b|_)(?:destroy|dealloc|dereg|close|finalize|cleanup|release)\w*[^\n]{{0,40}}"
        r" failed[^\n]*|[^\n]{0,80}(?:[Uu]nable to (?:destroy|dealloc|dereg|close|properly unregister)|[Ss]kipping\b"
        r"|[Ii]gnoring\b|[Cc]annot (?:destroy|finalize)|show info not implemented|Requested Heap Kind|Destroying team)"
        r"[^\n]*)",
        level="warning",
        priority=5,
        scan=_PLACE_SCAN,
        note="NVSHMEM could not tidy up at its end, or does without something.",
    ),
    RecordPattern(
        "nvshmem.error",
        _BY_FORM,
        level="error",
        priority=4,
        scan=_PLACE_SCAN,
        note="NVSHMEM, a library for exchanges between GPUs, reports a failure.",
    ),
    RecordPattern(
        "nvshmem.error",
        rf"{_PLACE}(?P<text>(?:(?:non-zero|error) status: (?P<code>-?\d+) )?[^\n]{{0,200}}?"
        r"(?:failed|exiting|not accessible|[uU]nable to|[aA]bort|error|non-zero|NULL value|[cC]annot |"
        r"No devices selected|called before NVSHMEM)[^\n]*)",
        level="error",
        priority=4,
        scan=_PLACE_SCAN,
        note="NVSHMEM, a library for exchanges between GPUs, reports a failure.",
    ),
    RecordPattern(
        "nvshmem.error",
        r"\[(?P<file>[^\s:\]]{1,300}\.(?:cpp|cu|h)):(?P<line>\d+)\] (?P<text>cuda failed with (?P<error>[^\n]{3,160}))",
        level="error",
        priority=1,
        scan="cuda failed with ",
        note="A CUDA call of NVSHMEM failed.",
    ),
    RecordPattern(
        "nvshmem.error",
        r"\bnvshmem\w* (?:initialization |setup |bootstrap )?failed\b[^\n]*",
        level="error",
        priority=1,
        scan=r"nvshmem\w* (?:initialization |setup |bootstrap )?failed",
        note="NVSHMEM, a library for exchanges between GPUs, reports a failure.",
    ),
)
