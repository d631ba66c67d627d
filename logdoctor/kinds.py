"""Kinds of events (``nccl.error``) and what rules and catalogues ask for: a kind, or a glob over kinds."""

from __future__ import annotations

from fnmatch import fnmatchcase

_WILD = frozenset("*?[")


def is_glob(asked: str) -> bool:
    """Whether more than one kind may be as asked."""
    return not _WILD.isdisjoint(asked)


def fits(kind: str, asked: str) -> bool:
    """Whether the kind is as asked.  Few globs are more than a beginning: those alone cost a regular expression."""
    if not is_glob(asked):
        return kind == asked
    if asked[-1] == "*" and not is_glob(asked[:-1]):
        return kind.startswith(asked[:-1])
    return fnmatchcase(kind, asked)
