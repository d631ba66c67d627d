"""Linux error numbers for the error texts of the C library."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from logdoctor.codes import catalogue


@cache
def errno_texts() -> Mapping[str, int]:
    """Return the texts of strerror and UCX with their Linux error numbers."""
    return {text: int(entry.code) for text, entry in catalogue("errno").words()}


def find_errno(text: str) -> int | None:
    """Return the only error number that ``text`` names, else None."""
    matches = [words for words in errno_texts() if words in text]
    numbers = {errno_texts()[words] for words in matches if not any(words != w and words in w for w in matches)}
    return numbers.pop() if len(numbers) == 1 else None
