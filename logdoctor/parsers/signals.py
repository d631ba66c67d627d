"""Signals by the names and words that programs print, as Linux numbers (the catalogue of signals).

The ``signal`` module is no help here: its numbers are those of the machine that reads the log.
"""

from __future__ import annotations

from logdoctor.catalogues import catalogue

SIGNAL_NAME = r"SIG(?:SEGV|ABRT|BUS|ILL|FPE|KILL|TERM|TRAP|SYS|HUP|INT|XCPU|USR1|USR2)"
"""The names of signals that end a process, as an expression."""


def signal_number(text: str) -> int | None:
    """The number for ``SIGKILL``, ``Signals.SIGKILL``, ``9``, ``Bus error`` or ``Killed``; None for anything else."""
    word = text.strip().rstrip(".").removeprefix("Signals.")
    if word.isdecimal():
        return int(word) if 0 < int(word[:4]) < 65 else None
    signals = catalogue("signal")
    entry = signals.find(word) or signals.find(f"SIG{word}")
    return int(entry.code) if entry and entry.code.isdecimal() else None
