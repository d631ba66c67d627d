"""The names that stand for other names: ``host-1``, ``ip-1``, ``user-1``, the same one wherever the same is meant."""

from __future__ import annotations

from collections.abc import Mapping

from logdoctor.redaction.found import Found


class Pseudonyms:
    """Numbers hosts, addresses, users and e-mail addresses in the order in which they are met."""

    def __init__(self) -> None:
        """Nobody is known yet."""
        self._numbers: dict[tuple[str, str], str] = {}
        self._meant: dict[str, list[str]] = {}
        self._count: dict[str, int] = {}

    def of(self, found: Found) -> str:
        """What is put in the place of ``found``; of a secret nothing but its kind is left."""
        if found.sort == "secret":
            return f"<redacted:{found.name}>"
        name = found.name.lower()
        key = found.sort, name.partition(".")[0] if found.sort == "host" and _is_telling(name) else name
        known = self._numbers.get(key)
        if known is None:
            number = self._count[found.sort] = self._count.get(found.sort, 0) + 1
            known = self._numbers[key] = f"{found.sort}-{number}"
        meant = self._meant.setdefault(known, [])
        if found.name not in meant:
            meant.append(found.name)
        return known

    @property
    def key(self) -> Mapping[str, tuple[str, ...]]:
        """What each pseudonym stands for, in all spellings; secrets are not in it."""
        return {pseudonym: tuple(names) for pseudonym, names in self._meant.items()}


def _is_telling(name: str) -> bool:
    """Whether the first part of a full name is enough to know the host: ``node07.cluster.local`` is ``node07``."""
    first = name.partition(".")[0]
    return any(c.isdigit() for c in first) and any(c.isalpha() for c in first)
