"""Matching of record kinds (``nccl.error``) with globs (``nccl.*``)."""

from __future__ import annotations

from fnmatch import fnmatchcase

_WILD = frozenset("*?[")


def is_glob(glob: str) -> bool:
    return not _WILD.isdisjoint(glob)


def fits(kind: str, glob: str) -> bool:
    """Report whether a kind matches a glob. Most globs end with their only ``*``. Others cost a regular expression."""
    if not is_glob(glob):
        return kind == glob
    if glob[-1] == "*" and not is_glob(glob[:-1]):
        return kind.startswith(glob[:-1])
    return fnmatchcase(kind, glob)
