"""All patterns as the engines want them: worked out once, and kept with the rules."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
from msgspec import Struct

from logdoctor.digests import blake2b
from logdoctor.prefilter.pattern import Pattern


class Expressions(Struct, frozen=True):
    """What one engine looks for, in order; ``often`` are the places of those that healthy logs are full of.

    A compiled engine is found by the ``digest`` alone: the thousands of texts are only read where it must be compiled.
    """

    digest: str
    count: int
    often: tuple[int, ...]
    written: bytes

    @classmethod
    def of(cls, texts: Collection[str], often: Sequence[int] = ()) -> Expressions:
        """The expressions ``texts``."""
        written = msgspec.json.encode(texts)
        digest = blake2b(written + msgspec.json.encode(often), digest_size=16).hexdigest()
        return cls(digest, len(texts), tuple(often), written)

    def forms(self) -> list[bytes]:
        """The texts, as bytes."""
        return [text.encode() for text in msgspec.json.decode(self.written, type=list[str])]


class Plan(Struct, frozen=True):
    """What is looked for in all lines (``scanned``), and in the lines that it finds (``common``, then ``own``).

    ``common`` is the same for everyone, ``own`` is of somebody's own rules and may change more often.  ``alone`` are
    the patterns that make a line worth a look by themselves.
    """

    scanned: Expressions
    common: Expressions
    own: Expressions
    alone: tuple[int, ...]


def plan_of(patterns: Sequence[Pattern], common: int | None = None) -> Plan:
    """How to find ``patterns``, of which the first ``common`` (None: all) are everyone's."""
    shared = len(patterns) if common is None else common
    owners: dict[str, list[int]] = {}
    for number, pattern in enumerate(patterns):
        for atom in pattern.atoms:
            owners.setdefault(atom, []).append(number)
    often = [i for i, own in enumerate(owners.values()) if all(patterns[n].often for n in own)]
    wholes = [pattern.whole for pattern in patterns]
    return Plan(
        Expressions.of(tuple(owners), often),
        Expressions.of(wholes[:shared]),
        Expressions.of(wholes[shared:]),
        tuple(n for n, pattern in enumerate(patterns) if pattern.atoms),
    )
