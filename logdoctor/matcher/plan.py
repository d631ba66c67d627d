"""The expressions that engines compile, stored with the rules."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
from msgspec import Struct

from logdoctor.matcher.pattern import Pattern
from logdoctor.model.digests import blake2b


class Expressions(Struct, frozen=True):
    """The expressions of one engine, in order.

    ``often``: indexes of the expressions that healthy logs are full of.
    ``encoded``: the texts as JSON. They are decoded only to compile.
    ``digest``: key of the compiled engine in the cache.
    """

    digest: str
    count: int
    often: tuple[int, ...]
    encoded: bytes

    @classmethod
    def from_texts(cls, texts: Collection[str], often: Sequence[int] = ()) -> Expressions:
        encoded = msgspec.json.encode(texts)
        digest = blake2b(encoded + msgspec.json.encode(often), digest_size=16).hexdigest()
        return cls(digest, len(texts), tuple(often), encoded)

    def texts(self) -> list[bytes]:
        return [text.encode() for text in msgspec.json.decode(self.encoded, type=list[str])]


class Plan(Struct, frozen=True):
    """The expressions of a scan.

    ``atoms``: searched in all lines.
    ``shipped`` and ``site``: whole patterns, searched in picked lines. Those of the site change more often.
    ``standalone``: indexes of the patterns that pick lines by themselves.
    """

    atoms: Expressions
    shipped: Expressions
    site: Expressions
    standalone: tuple[int, ...]


def make_plan(patterns: Sequence[Pattern], shipped: int | None = None) -> Plan:
    """Plan the search for ``patterns``.

    The first ``shipped`` patterns are those of logdoctor itself, None means all.
    """
    shipped_count = len(patterns) if shipped is None else shipped
    patterns_of_atom: dict[str, list[int]] = {}
    for number, pattern in enumerate(patterns):
        for atom in pattern.atoms:
            patterns_of_atom.setdefault(atom, []).append(number)
    often = [i for i, numbers in enumerate(patterns_of_atom.values()) if all(patterns[n].often for n in numbers)]
    wholes = [pattern.whole for pattern in patterns]
    return Plan(
        Expressions.from_texts(tuple(patterns_of_atom), often),
        Expressions.from_texts(wholes[:shipped_count]),
        Expressions.from_texts(wholes[shipped_count:]),
        tuple(n for n, pattern in enumerate(patterns) if pattern.atoms),
    )
