r"""Summaries of test runners.

The runners are pytest, unittest, CTest, GoogleTest, Catch2, Automake, ReFrame, GROMACS and fabtests.

Kinds and their fields:

- ``tests.failed`` failed, name: so many tests failed, or this one did; message: what it met; level error

Sources: pytest 7 and 8 (terminal.py), Python 3.12 (unittest/runner.py), CMake 3.28 (cmCTestTestHandler.cxx), GoogleTest
1.14 (gtest.cc), Catch2 2 and 3 (reporter_console, fatal_condition_handler), Automake 1.16 (test-driver,
parallel-tests), ReFrame 3 and 4 (frontend/printer.py), GROMACS 2021 (gmxtest.pl), fabtests 2 (runfabtests.sh).
"""

from __future__ import annotations

from logdoctor.logs.record_pattern import RecordPattern

_NOTE = "A runner of tests says that tests failed."
_FAILED = r"(?P<failed>[1-9]\d{0,6})"

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern("tests.failed", rf"^(?:=+ )?(?:{_FAILED} failed(?:, \d+ \w+)*|(?:\d+ \w+, )*{_FAILED} errors?(?:, \d+ \w+)*)"
           r"(?:, \d+ \w+)* in [\d.]+s\b", "error", note=_NOTE,
           scan=r"\d (?:failed|errors?|passed|skipped|warnings?) in \d"),
    RecordPattern("tests.failed", r"^(?:FAILED|ERROR) (?P<name>[\w./-]{1,300}\.py::\S{1,300})", "error", note=_NOTE,
           scan=r"(?:FAILED|ERROR) [\w./-]{1,300}\.py::"),
    RecordPattern("tests.failed", r"^FAILED \((?:failures=(?P<failed>\d+)|errors=(?P<failed>\d+))", "error", note=_NOTE),
    RecordPattern("tests.failed", rf"^\d{{1,3}}% tests passed, {_FAILED} tests? failed out of \d+", "error", note=_NOTE),
    RecordPattern("tests.failed", r"^\s*\d+ - (?P<name>\S{1,300}) \((?:Failed|Timeout|SEGFAULT|Not Run|Subprocess (?:aborted|"
           r"killed)|Exit code \S+|ILLEGAL|NUMERICAL|OTHER_FAULT)\)", "error", note=_NOTE,
           scan=r"\((?:Failed|Timeout|SEGFAULT|Not Run|Subprocess (?:aborted|killed)|NUMERICAL|OTHER_FAULT)\)"),
    RecordPattern("tests.failed", rf"^\[ +FAILED +\] {_FAILED} tests?, listed below:", "error", note=_NOTE),
    RecordPattern("tests.failed", r"^\[  FAILED  \] (?P<name>[\w./]{3,200})(?:, where .{1,300})? \(\d+ ms\)", "error",
           note=_NOTE, scan=r"\[  FAILED  \] [\w./]{3,200}(?: \(|, where )"),
    RecordPattern("tests.failed", r"^(?:unknown file|[\w./+-]{1,300}\.(?:cpp|cc|cu|cxx|h|hpp|hip)(?::\d+|\(\d+\))): "
           r"Failure$", "error", note=_NOTE, scan=r": Failure\r?$"),
    RecordPattern("tests.failed", r"C\+\+ exception with (?:description \"(?P<message>.{2,2000}?)(?:\" thrown in the "
           r"\w+ ?\w*\.)?$|type .{1,200} thrown in the)", "error", note="A test ended with a C++ exception.",
           scan=r"C\+\+ exception with (?:description \"|type .{1,200} thrown in the)"),
    RecordPattern("tests.failed", rf"^test cases: +\d+ \|.{{0,60}}\b{_FAILED} failed\b", "error", note=_NOTE,
           scan=r"test cases: +\d+ \|.{0,60}failed"),
    RecordPattern("tests.failed", r"^FAIL (?P<name>[\w./-]{1,200}) \(exit status: \d{1,3}\)$", "error", note=_NOTE,
           scan=r"^FAIL [\w./-]{1,200} \(exit status: "),
    RecordPattern("tests.failed", rf"^# (?:FAIL|ERROR): +{_FAILED}$", "error", note=_NOTE, scan="^# (?:FAIL|ERROR): +[1-9]"),
    RecordPattern("tests.failed", r"^(?P<name>fi_\w{2,40}\b[^\n]{0,200}):\s+Fail(?: \[\d+/\d+\])?\s*$", "error", note=_NOTE,
           scan=r"fi_\w{2,40}\b.{0,200}:\s+Fail"),
    RecordPattern("tests.failed", rf"^# Total Fail +{_FAILED}\s*$", "error", note=_NOTE, scan=r"# Total Fail +[1-9]"),
    RecordPattern("tests.failed", rf"^{_FAILED} out of \d+ \w+ tests FAILED$", "error", note=_NOTE,
           scan=r"\d out of \d+ \w+ tests FAILED"),
    RecordPattern("tests.failed", r"^\[ {1,5}FAIL \] (?:\( *\d+/\d+\) )?(?P<name>[\w.]{3,200})", "error", note=_NOTE,
           scan=r"\[     FAIL \] "),
    RecordPattern("tests.failed", rf"^\[  FAILED  \] Ran \d+(?:/\d+)? test case\(s\) from \d+ check\(s\) \({_FAILED} failure",
           "error", note=_NOTE, scan=r"\[  FAILED  \] Ran \d"),
    RecordPattern("tests.failed", r"^FAILED\. Check \S.{2,120}file\(s\) in (?P<name>\S{1,200})", "error", note=_NOTE),
)  # fmt: skip
