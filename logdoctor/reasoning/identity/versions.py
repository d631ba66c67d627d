"""Versions of products by run and by rank."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from logdoctor.model import Record
from logdoctor.reasoning.lifecycle.attempts import Attempts

MAX_CHANGES = 64
"""Bound of the changes kept for a product."""
MAX_RANKS = 1 << 16


class Versions:
    """Collected versions of each product."""

    READS = ("tells version",)

    def __init__(self, attempts: Attempts) -> None:
        self._attempts = attempts
        self.first: dict[str, str] = {}
        """The first version of each product in the log."""
        self._changes: dict[str, list[Record]] = {}
        """Records of each product that begin a run or differ from the version before."""
        self._spans: dict[str, int] = {}
        self._ranks: dict[str, dict[str, set[int]]] = {}
        """Ranks by product and version."""

    def observe(self, record: Record) -> None:
        version, product = record.fields.get("version"), str(record.fields.get("product", record.format))
        if version is None:
            return
        self.first.setdefault(product, str(version))
        if record.source.rank is not None:
            ranks = self._ranks.setdefault(product, {}).setdefault(str(version), set())
            if len(ranks) < MAX_RANKS:
                ranks.add(record.source.rank)
        changes = self._changes.setdefault(product, [])
        is_change = (
            not changes
            or changes[-1].fields["version"] != version
            or self._attempts.spans > self._spans.get(product, 0)
        )
        if is_change and len(changes) < MAX_CHANGES:
            changes.append(record)
            self._spans[product] = self._attempts.spans

    def of_run(self, wanted: Callable[[Record], bool]) -> Iterator[tuple[str, str]]:
        """Return each product's version in the run that ``wanted`` selects.

        A product without a record in that run keeps its first version.
        """
        for product, first in sorted(self.first.items()):
            last = next((record for record in reversed(self._changes[product]) if wanted(record)), None)
            yield product, str(last.fields["version"]) if last else first

    def records(self, is_wanted: Callable[[str], bool]) -> Iterator[Record]:
        """Return the records that tell a version of the wanted products, each change once."""
        return (record for product in sorted(self.first) if is_wanted(product) for record in self._changes[product])

    def differing(self) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
        """Return product, version and ranks where ranks run different versions."""
        differing = ((p, v, tuple(sorted(r))) for p, by in self._ranks.items() if len(by) > 1 for v, r in by.items())
        return tuple(sorted(differing))
