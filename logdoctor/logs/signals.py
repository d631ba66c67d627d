"""Linux signal numbers for the names and words that programs print.

They come from the signal codes, because the ``signal`` module has the numbers of the machine that reads the log.
"""

from __future__ import annotations

from logdoctor.codes import catalogue
from logdoctor.model.numbers import number


def signal_number(text: str) -> int | None:
    """Return 9 for ``SIGKILL``, ``Signals.SIGKILL``, ``9`` and ``Killed``; None for other text."""
    word = text.strip().rstrip(".").removeprefix("Signals.")
    if word.isdecimal():
        return found if (found := number(word)) and found < 65 else None
    signals = catalogue("signal")
    entry = signals.find(word) or signals.find(f"SIG{word}")
    return number(entry.code) if entry else None
