"""Error texts of the C library -> Linux error numbers, from the catalogue of errno."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from logdoctor.catalogues import catalogue


@cache
def _numbers() -> Mapping[str, int]:
    return {text: int(entry.code) for text, entry in catalogue("errno").words()}


class _Texts(Mapping[str, int]):
    """The texts with their numbers; nothing is read until somebody looks."""

    def __getitem__(self, text: str) -> int:
        return _numbers()[text]

    def __iter__(self) -> Iterator[str]:
        return iter(_numbers())

    def __len__(self) -> int:
        return len(_numbers())


ERRNO: Mapping[str, int] = _Texts()
"""Texts of strerror on Linux, and UCX's own for the same."""


def errno_of(text: str) -> int | None:
    """The error number whose wording stands in ``text``; None where there is none or more than one."""
    found = [words for words in ERRNO if words in text]
    whole = {ERRNO[words] for words in found if not any(words != w and words in w for w in found)}
    return whole.pop() if len(whole) == 1 else None
