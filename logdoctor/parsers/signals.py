"""Signals by the names and words that programs print, as Linux numbers (x86-64 and arm64; signal(7), glibc strsignal).

The ``signal`` module is no help here: its numbers are those of the machine that reads the log.
"""

from __future__ import annotations

NUMBERS = {
    "SIGHUP": 1,
    "SIGINT": 2,
    "SIGQUIT": 3,
    "SIGILL": 4,
    "SIGTRAP": 5,
    "SIGABRT": 6,
    "SIGIOT": 6,
    "SIGBUS": 7,
    "SIGFPE": 8,
    "SIGKILL": 9,
    "SIGUSR1": 10,
    "SIGSEGV": 11,
    "SIGUSR2": 12,
    "SIGPIPE": 13,
    "SIGALRM": 14,
    "SIGTERM": 15,
    "SIGCONT": 18,
    "SIGSTOP": 19,
    "SIGXCPU": 24,
    "SIGXFSZ": 25,
}
"""Name to number."""

WORDS = {
    "hangup": 1,
    "interrupt": 2,
    "illegal instruction": 4,
    "trace/breakpoint trap": 5,
    "aborted": 6,
    "abort": 6,
    "bus error": 7,
    "floating point exception": 8,
    "floating-point exception": 8,
    "floating-point error": 8,
    "killed": 9,
    "user defined signal 1": 10,
    "segmentation fault": 11,
    "user defined signal 2": 12,
    "broken pipe": 13,
    "terminated": 15,
    "cpu time limit exceeded": 24,
    "file size limit exceeded": 25,
}
"""What strsignal(), shells and Python say, in lower case, to number."""


def signal_number(text: str) -> int | None:
    """The number for ``SIGKILL``, ``Signals.SIGKILL``, ``9``, ``Bus error`` or ``Killed``; None for anything else."""
    word = text.strip().rstrip(".").removeprefix("Signals.")
    if word.isdecimal():
        return int(word) if 0 < int(word[:4]) < 65 else None
    return NUMBERS.get(word.upper()) or NUMBERS.get("SIG" + word.upper()) or WORDS.get(word.lower())
