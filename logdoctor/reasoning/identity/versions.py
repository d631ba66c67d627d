"""Which version of which product took part: what was told first, what each run told, and which ranks differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from logdoctor.model import Record
from logdoctor.reasoning.lifecycle.attempts import Attempts

KEPT = 64
"""So many changes of a product's version are kept."""
MAX_RANKS = 1 << 16


class Versions:
    """Folds what events tell of versions."""

    def __init__(self, attempts: Attempts) -> None:
        """Start with none; ``attempts`` tells the runs apart."""
        self._attempts = attempts
        self.first: dict[str, str] = {}
        """By product, the version that was told first."""
        self._told: dict[str, list[Record]] = {}
        """Where each product's version was told first in a run, or another one than before."""
        self._spans: dict[str, int] = {}
        self._ranks: dict[str, dict[str, set[int]]] = {}
        """By product and version, the ranks that told it."""

    def observe(self, record: Record) -> None:
        """Take one event in that tells a version."""
        version, product = record.fields.get("version"), str(record.fields.get("product", record.format))
        if version is None:
            return
        self.first.setdefault(product, str(version))
        if record.source.rank is not None:
            ranks = self._ranks.setdefault(product, {}).setdefault(str(version), set())
            if len(ranks) < MAX_RANKS:
                ranks.add(record.source.rank)
        told = self._told.setdefault(product, [])
        other = not told or told[-1].fields["version"] != version or self._attempts.spans > self._spans.get(product, 0)
        if other and len(told) < KEPT:
            told.append(record)
            self._spans[product] = self._attempts.spans

    def of_run(self, wanted: Callable[[Record], bool]) -> Iterator[tuple[str, str]]:
        """Each product's version: the last of those whose events are ``wanted``, else the first of all."""
        for product, first in sorted(self.first.items()):
            told = next((e for e in reversed(self._told[product]) if wanted(e)), None)
            yield product, str(told.fields["version"]) if told else first

    def apart(self) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
        """Product, version and ranks, for the products of which ranks run different versions."""
        apart = ((p, v, tuple(sorted(r))) for p, of in self._ranks.items() if len(of) > 1 for v, r in of.items())
        return tuple(sorted(apart))
