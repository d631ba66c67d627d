"""A search for any of a few words, where no word has to be named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any


def any_of(words: Iterable[str]) -> Callable[[bytes], bool]:
    """Return a function that says whether a text holds one of the words, in letters of any case."""
    lower = [word.lower().encode() for word in words]
    try:
        import hyperscan
    except ImportError:
        return lambda text: _holds_any(text.lower(), lower)
    database = hyperscan.Database()
    expressions = [b"".join(b"\\x%02x" % byte for byte in word) for word in lower]
    database.compile(expressions=expressions, flags=[hyperscan.HS_FLAG_CASELESS] * len(lower))

    def holds(text: bytes) -> bool:
        found: list[int] = []

        def stop(number: int, *_: Any) -> bool:
            found.append(number)
            return True

        with suppress(hyperscan.ScanTerminated):
            database.scan(text, match_event_handler=stop)
        return bool(found)

    return holds


def _holds_any(text: bytes, words: Sequence[bytes]) -> bool:
    return any(word in text for word in words)
