"""Windows exit codes of crashed processes (NTSTATUS) as POSIX signals.

Source: [MS-ERREF] 2.3.1.  Programs print the codes as unsigned, signed or hexadecimal numbers.
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


def posix_exit_code(code: int) -> int:
    """Return -11 for an access violation, as Python reports signals. Other codes stay."""
    signal = _SIGNALS.get(code & 0xFFFFFFFF)
    return code if signal is None else -signal
