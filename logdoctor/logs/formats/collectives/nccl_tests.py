r"""nccl-tests and rccl-tests (all_reduce_perf and its sisters): start, end and failure lines.

Kinds and their fields:

- ``nccl_tests.rank``      a rank's line of the table at the start; group_rank, pid, host, cuda_dev, bus_id; info
- ``nccl_tests.failure``   ``Test NCCL failure``, ``Test CUDA failure``, and the same of NCCL's small examples
                           (``Failed: Cuda error``) and of Legate (``Internal NCCL failure``);
                           what, file, line, error, last_error; fatal
- ``nccl_tests.trail``     ``.. HOST pid P: Test failure FILE:LINE`` back trace; info
- ``nccl_tests.timeout``   ``Test timeout``; seconds; fatal
- ``nccl_tests.values``    ``# Out of bounds values : N OK|FAILED`` (2018: no #); count, state; info, error where FAILED
- ``nccl_tests.slow``      the bandwidth is lower than wanted; gbps (text); error
- ``nccl_tests.too_few``   fewer GPUs than wanted; wanted, found; fatal
- ``nccl_tests.usage``     options that it does not accept; fatal
- ``nccl_tests.done``      ``# Avg bus bandwidth``, the last line of a run; gbps (text); info

Source: nccl-tests src/common.h and src/common.cu, 2.0 to 2.17.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.record_pattern import LifecycleSigns, Message, Multiline, RecordPattern
from logdoctor.model import Value


def _with_bus(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Complete a bus id printed as bus and slot only.

    ``0x1a`` becomes ``0000:1a:00``.
    """
    printed = str(fields.get("bus_id", ""))
    return Multiline(head.text, {"bus_id": f"0000:{printed[2:].rjust(2, '0')}:00"} if printed.startswith("0x") else {})


RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "nccl_tests.rank",
        r"#\s+Rank\s+(?P<group_rank>\d+) (?:Group\s+\d+ )?Pid\s+(?P<pid>\d+) on\s+(?P<host>\S+) device\s+"
        r"(?P<cuda_dev>\d+) \[(?P<bus_id>0x[0-9a-f]{1,2}|[0-9a-f:]{7,12})(?:\.\d)?\]",
        level="info",
        read_lines=_with_bus,
        scan=r" Pid +\d+ on +[\w.-]+ device +\d",
        note="nccl-tests lists which process uses which GPU.",
    ),
    RecordPattern(
        "nccl_tests.failure",
        r"(?:(?P<by_host>[\w.-]+): )?(?P<text>Test (?P<what>NCCL|CUDA|HIP|RCCL) failure (?P<file>[^\s:]+):(?P<line>\d+)"
        r" '(?P<error>[^\n]*?)(?: / (?P<last_error>[^\n]*?))?'?\s*$)",
        level="fatal",
        priority=6,
        scan="Test (?:NCCL|CUDA|HIP|RCCL) failure ",
        note="The test program ends because a call failed.",
    ),
    RecordPattern(
        "nccl_tests.failure",
        r"(?P<text>(?:Failed: )?(?P<what>CUDA|Cuda|HIP|Hip) (?:failure|error) (?P<file>[^\s:]+\.\w{1,4}):(?P<line>\d+)"
        r" '(?P<error>[^'\n]{3,120})'?\s*$)",
        level="fatal",
        priority=1,
        scan=r"(?:CUDA|Cuda|HIP|Hip) (?:failure|error) [\w./-]{1,200}:\d+ '",
        note="A program with the error check of NCCL's examples ends because a call failed.",
    ),
    RecordPattern(
        "nccl_tests.failure",
        r"(?P<text>Internal (?:Legate )?(?P<what>NCCL|CUDA) failure with error (?P<error>[^\n]{3,160}?) in file "
        r"(?P<file>\S{1,200}) at line (?P<line>\d+))",
        level="fatal",
        priority=1,
        scan=r" failure with error \w",
        note="A program with the error check of NVIDIA's Legate ends because a call failed.",
    ),
    RecordPattern(
        "nccl_tests.trail",
        r"\.\. (?P<by_host>\S+)(?: pid (?P<by_pid>\d+))?: (?P<text>Test failure (?P<file>[^\s:]+):(?P<line>\d+))",
        level="info",
        priority=6,
        scan=r": Test failure \w",
        note="The test program passes a failure up through its own functions.",
    ),
    RecordPattern(
        "nccl_tests.timeout",
        r"(?:(?P<by_host>[\w.-]+): )?(?P<text>Test timeout \((?P<seconds>\d+)s\)[^\n]*)",
        level="fatal",
        priority=6,
        scan=r"Test timeout \(\d",
        note="The test program ends because a collective took too long.",
    ),
    RecordPattern(
        "nccl_tests.values",
        r"(?:# |^ {0,3})Out of bounds values : (?P<count>\d+) (?P<state>FAILED)",
        level="error",
        priority=1,
        scan=r"Out of bounds values : \d+ FAILED",
        note="The test program read back wrong numbers.",
    ),
    RecordPattern(
        "nccl_tests.slow",
        r"# Avg bus bandwidth\s+: (?P<gbps>\S+) FAILED",
        level="error",
        priority=1,
        scan="# Avg bus bandwidth",
        note="The test program measured less bandwidth than it was told to expect.",
    ),
    RecordPattern(
        "nccl_tests.too_few",
        r"Invalid number of GPUs: (?P<wanted>\d+) requested but only (?P<found>\d+) were found",
        level="fatal",
        priority=1,
        scan="Invalid number of GPUs: ",
        note="The test program was told to use more GPUs than it sees.",
    ),
    RecordPattern(
        "nccl_tests.usage",
        r"invalid sizes? (?:specified )?for '(?:min|max|step)[bB]ytes'[^\n]*|"
        r"Device implementation \d+ is not supported by this test|device implementation \(-D > 0\) requires[^\n]*",
        level="fatal",
        priority=1,
        scan=r"invalid sizes? (?:specified )?for '|Device implementation \d|device implementation \(-D > 0\) requires",
        note="The test program does not accept its options.",
    ),
    RecordPattern(
        "nccl_tests.values",
        r"(?:# |^ {0,3})Out of bounds values : (?P<count>\d+) (?P<state>OK)",
        level="info",
        scan=r"Out of bounds values : \d+ OK",
        note="The test program read back right numbers.",
    ),
    RecordPattern(
        "nccl_tests.done",
        r"# Avg bus bandwidth\s+: (?P<gbps>\S+)",
        level="info",
        scan="# Avg bus bandwidth",
        note="The test program came to its end.",
    ),
)

SIGNS: LifecycleSigns = {
    "nccl_tests.done": ("done",),
}
