"""Failure classes of findings, and which class of failure can bring about which."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property

from msgspec import Struct

from logdoctor.model import Arrow, FailureClass, Finding, Mechanism

END_OF_LIFE = "process ends"
"""Row of the tables for the end of a process, whatever ended it.  No signature has this class."""
UNKNOWN = FailureClass("", "own", "process", "yes")
"""Class of a rule whose class is in no table."""
Reach = dict[str, Arrow]
"""Classes to which one leads, each with the first arrow of the way."""


class FailureClasses(Struct, frozen=True, dict=True):
    """The tables of mechanism, in the form in which the laws ask them."""

    mechanism: Mechanism

    @cached_property
    def _arrows(self) -> dict[str, list[Arrow]]:
        arrows: dict[str, list[Arrow]] = {}
        for arrow in self.mechanism.arrows:
            arrows.setdefault(arrow.source, []).append(arrow)
        return arrows

    @cached_property
    def _reach(self) -> Callable[..., Reach]:
        return cache(self._follow)  # a job asks for few classes

    def of(self, finding: Finding) -> FailureClass:
        """Return the class of a finding. A catch-all whose last words are about others only gave up.

        A failed assertion of its own is a reason, so the process did not give up.
        """
        name, catch_all = finding.rule.failure_class, finding.rule.role == "fallback"
        about_peers = finding.records[0].tells("about peers")
        has_reason = any(record.kind.endswith(".assertion") for record in finding.records)
        gave_up = {
            "program fails": catch_all and about_peers,
            "process crashes": about_peers or (catch_all and not has_reason),
        }
        return self.mechanism.classes.get("gives up" if gave_up.get(name) else name, UNKNOWN)

    def is_narrower(self, a: Finding, b: Finding) -> bool:
        """Return whether the signature of ``a`` tells that of ``b`` more exactly."""
        name = a.rule.signature
        while name := self.mechanism.wider.get(name, ""):
            if name == b.rule.signature:
                return True
        return False

    def inside(self, a: FailureClass, b: FailureClass) -> Arrow | None:
        """Return the first arrow of the way from ``a`` to ``b`` in one process."""
        return self._reach(a.id).get(b.id)

    def seen(self, a: FailureClass, b: FailureClass) -> Arrow | None:
        """Return the first arrow of the way from ``a`` to what other processes see of it."""
        return self._reach(a.id, elsewhere=True).get(b.id) if b.side == "seen" else None

    def at(self, a: FailureClass, b: FailureClass, place: str) -> Arrow | None:
        """Return the arrow from ``a`` to ``b`` in a shared place."""
        sources = (a.id,) if a.ends == "no" else (a.id, END_OF_LIFE)
        rows = (arrow for source in sources for arrow in self._from(source, place))
        return next((arrow for arrow in rows if arrow.target == b.id), None)

    def _from(self, source: str, *places: str) -> list[Arrow]:
        return [arrow for arrow in self._arrows.get(source, ()) if arrow.where in places]

    def _seen_elsewhere(self, name: str) -> list[Arrow]:
        own, end = (self._from(source, "group", "peers", "launcher") for source in (name, END_OF_LIFE))
        return own if self.mechanism.classes[name].ends == "no" else [*own, *end]

    def _follow(self, name: str, *, elsewhere: bool = False) -> Reach:
        """Return what a class leads to inside a process, and in others too if ``elsewhere``."""
        reached: Reach = {}
        if name not in self.mechanism.classes:
            return reached
        todo = [(arrow, arrow) for arrow in (self._seen_elsewhere(name) if elsewhere else self._from(name, "process"))]
        for first, last in todo:
            if last.target in self.mechanism.classes and last.target not in reached:
                reached[last.target] = first
                more = self._seen_elsewhere(last.target) if elsewhere else []
                todo += [(first, arrow) for arrow in (*self._from(last.target, "process"), *more)]
        return reached
