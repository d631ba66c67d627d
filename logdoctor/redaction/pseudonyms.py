"""Pseudonyms: ``<host-a>``, ``<ip-a>``, ``<user-a>``. The same name always gets the same pseudonym.

They have letters, because host-18 may be the name of a real host. A shell refuses a command that holds one.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_lowercase

from logdoctor.redaction.spans import Span


class Pseudonyms:
    """Pseudonyms by name. Each kind is lettered in the order of first use."""

    def __init__(self) -> None:
        self._by_name: dict[tuple[str, str], str] = {}
        self._names: dict[str, list[str]] = {}
        self._count: dict[str, int] = {}

    def of(self, span: Span) -> str:
        """Return the text that replaces ``span``. A secret is replaced by its type: ``<redacted:password>``."""
        if span.kind == "secret":
            return f"<redacted:{span.name}>"
        name = span.name.lower()
        key = span.kind, name.partition(".")[0] if span.kind == "host" and _has_short_name(name) else name
        pseudonym = self._by_name.get(key)
        if pseudonym is None:
            number = self._count[span.kind] = self._count.get(span.kind, 0) + 1
            pseudonym = self._by_name[key] = f"<{span.kind}-{letters(number)}>"
        names = self._names.setdefault(pseudonym, [])
        if span.name not in names:
            names.append(span.name)
        return pseudonym

    @property
    def key(self) -> Mapping[str, tuple[str, ...]]:
        """All names behind each pseudonym, in every spelling. Secrets are not in it."""
        return {pseudonym: tuple(names) for pseudonym, names in self._names.items()}


def letters(number: int) -> str:
    """Return a for 1, z for 26, aa for 27."""
    text = ""
    while number:
        number, digit = divmod(number - 1, len(ascii_lowercase))
        text = ascii_lowercase[digit] + text
    return text


def _has_short_name(name: str) -> bool:
    """Return True if the first label identifies the host: ``node07`` of ``node07.local``."""
    first = name.partition(".")[0]
    return any(c.isdigit() for c in first) and any(c.isalpha() for c in first)
