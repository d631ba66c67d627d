"""The plan of a scan: its atoms, and the patterns that own each of them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from logdoctor.matcher.pattern import Atom, Pattern
from logdoctor.model.digests import blake2b


class Plan(Struct, frozen=True, array_like=True):
    """The atoms of all patterns.

    ``owners[a]`` are the ids of the patterns that a line with atom ``a`` may hold. ``often`` are the atoms that healthy
    logs are full of, ``expressions`` those of the others that are no plain texts. ``encoded`` are the atoms as
    MessagePack, which are decoded only to compile. ``digest`` is the key of the compiled engine in the cache.
    """

    digest: str
    owners: tuple[tuple[int, ...], ...]
    often: tuple[int, ...]
    expressions: tuple[int, ...]
    encoded: bytes

    @property
    def atoms(self) -> list[Atom]:
        return msgspec.msgpack.decode(self.encoded, type=list[Atom])


def make_plan(patterns: Sequence[Pattern]) -> Plan:
    """Plan the search for ``patterns``. The id of a pattern is its index."""
    owners: dict[Atom, list[int]] = {}
    for number, pattern in enumerate(patterns):
        for atom in pattern.atoms:
            owners.setdefault(atom, []).append(number)
    often = [i for i, numbers in enumerate(owners.values()) if all(patterns[n].often for n in numbers)]
    expressions = [i for i, atom in enumerate(owners) if atom.is_expression and i not in often]
    encoded = msgspec.msgpack.encode([*owners])
    digest = blake2b(encoded + msgspec.msgpack.encode(often), digest_size=16).hexdigest()
    return Plan(digest, tuple(map(tuple, owners.values())), tuple(often), tuple(expressions), encoded)
