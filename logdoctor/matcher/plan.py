"""The plan of a scan: its atoms, and the patterns that own each of them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from logdoctor.matcher.pattern import Atom, Pattern
from logdoctor.model.digests import blake2b

GROUPS = ("often", "inner_expressions", "inner_literals", "expressions", "literals")


class Plan(Struct, frozen=True, array_like=True):
    """The atoms of all patterns.

    ``owners[a]`` are the ids of the patterns that a line with atom ``a`` may hold. Each atom is in one of five groups:
    ``often`` (healthy logs are full of it), ``expressions`` and ``literals``, and both of those that pick no line.
    ``encoded`` are the atoms as MessagePack, which are decoded only to compile. ``digest`` is the key of the compiled
    engine in the cache.
    """

    digest: str
    owners: tuple[tuple[int, ...], ...]
    often: tuple[int, ...]
    inner_expressions: tuple[int, ...]
    inner_literals: tuple[int, ...]
    expressions: tuple[int, ...]
    literals: tuple[int, ...]
    encoded: bytes

    @property
    def inner(self) -> frozenset[int]:
        """The atoms that pick no line."""
        return frozenset(self.inner_expressions + self.inner_literals)

    @property
    def atoms(self) -> list[Atom]:
        return msgspec.msgpack.decode(self.encoded, type=list[Atom])

    def atoms_by_pattern(self) -> dict[int, tuple[Atom, ...]]:
        """Return the atoms of each pattern that has any."""
        found: dict[int, list[Atom]] = {}
        for atom, owners in zip(self.atoms, self.owners, strict=True):
            for owner in owners:
                found.setdefault(owner, []).append(atom)
        return {owner: tuple(atoms) for owner, atoms in found.items()}


def make_plan(patterns: Sequence[Pattern]) -> Plan:
    """Plan the search for ``patterns``. The id of a pattern is its index."""
    owners: dict[Atom, list[int]] = {}
    for number, pattern in enumerate(patterns):
        for atom in pattern.atoms:
            owners.setdefault(atom, []).append(number)
    groups: dict[str, list[int]] = {name: [] for name in GROUPS}
    for number, (atom, ids) in enumerate(owners.items()):
        groups[_group(atom, [patterns[i] for i in ids])].append(number)
    encoded = msgspec.msgpack.encode([*owners])
    digest = blake2b(encoded + msgspec.msgpack.encode(groups), digest_size=16).hexdigest()
    return Plan(digest, tuple(map(tuple, owners.values())), **{k: tuple(v) for k, v in groups.items()}, encoded=encoded)


def _group(atom: Atom, owners: Sequence[Pattern]) -> str:
    if all(pattern.often for pattern in owners):
        return "often"
    kind = "expressions" if atom.is_expression else "literals"
    return kind if any(pattern.picks for pattern in owners) else f"inner_{kind}"
