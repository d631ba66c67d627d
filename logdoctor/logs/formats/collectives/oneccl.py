r"""oneCCL, Intel's collectives library (xccl, torch-ccl, DeepSpeed on CPU and XPU).

``oneccl.error``  by_pid, file, line, func, message: a call failed, with ``|CCL_ERROR|`` before it

Source: oneCCL 2021.5 to 2021.17, src/common/log, src/atl.
"""

from __future__ import annotations

from logdoctor.logs.record_pattern import RecordPattern

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "oneccl.error",
        r"(?:\d{4}:\d\d:\d\d-\d\d:\d\d:\d\d:\( *(?P<by_pid>\d+)\) )?\|CCL_ERROR\| "
        r"(?P<file>[\w./-]{3,80}\.(?:cpp|hpp|c|h)):(?P<line>\d+) (?P<func>[\w:~]{1,80}): (?P<message>[^\n]*)",
        level="error",
        priority=2,
        scan=r"\|CCL_ERROR\| ",
        note="oneCCL, a library for collectives, reports a failure; the first of such lines is nearest to the fault.",
    ),
)
