"""The exit codes by which Windows tells that a process crashed (NTSTATUS), as the signals they would be elsewhere.

Source: [MS-ERREF] 2.3.1.  Programs print them as an unsigned number, as a signed one or in hexadecimal digits.
"""

from __future__ import annotations

_SIGNALS = {
    0xC0000005: 11,  # access violation
    0xC00000FD: 11,  # stack overflow
    0xC000001D: 4,  # illegal instruction
    0xC000008E: 8,  # division by zero
    0xC0000094: 8,
    0xC000013A: 2,  # Ctrl-C
    0xC0000374: 6,  # damaged heap
    0xC0000409: 6,  # the run-time aborted the program
}


def exit_code_elsewhere(code: int) -> int:
    """-11 for an access violation, as Python tells the end by a signal; any other code as it is."""
    signal = _SIGNALS.get(code & 0xFFFFFFFF)
    return code if signal is None else -signal
