"""Evaluates a rule's ``when`` against what was shown."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from logdoctor.model import Rule
from logdoctor.reasoning.findings.symptoms import Match, Matches
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.outlived import went_on

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}

Seen = Mapping[str, Sequence[Match]]


class Conditions:
    """Evaluates conditions in the light of one job."""

    def __init__(self, state: JobState, *, hung: bool) -> None:
        """``hung``: the user says that the job hangs."""
        self.state, self.hung = state, hung

    def hold(self, rule: Rule, matches: Mapping[str, Matches], there: Mapping[str, Matches]) -> Seen | None:
        """The events that count, by symptom in the order of ``when``, if the rule holds; else None.

        ``hits`` are what it may stand on, ``there`` is all that was seen: what `none` forbids may be another rule's.
        """
        when = rule.when
        seen = {name: h.all() for name, h in matches.items()}
        counted = self._narrow(when, seen)
        if counted is None:
            return None
        checks: tuple[tuple[str, Callable[[Any], bool]], ...] = (
            ("none", lambda names: not any(there[n].all() for n in names if n in there)),
            ("count", lambda table: all(_compare(_count(matches, n), str(c)) for n, c in table.items())),
            ("ranks", lambda table: all(self._quantity(seen.get(n, ()), q) for n, q in table.items())),
            ("apart", lambda names: self._apart([seen.get(n, ()) for n in names])),
            ("together", lambda names: self._together([seen.get(n, ()) for n in names])),
            ("agree", lambda table: all(len(_values(seen.get(n, ()), f)) == 1 for n, f in table.items())),
            ("differ", lambda table: all(len(_values(seen.get(n, ()), f)) > 1 for n, f in table.items())),
            ("phase", lambda phases: self._phase(counted, phases)),
            ("job", lambda facts: self._job(facts, counted)),
        )
        for key, check in checks:
            if key in when and not check([when[key]] if isinstance(when[key], str) else when[key]):
                return None
        return counted

    def _narrow(self, when: Mapping[str, Any], seen: Seen) -> dict[str, Sequence[Match]] | None:
        """Which events satisfy any/all/sequence, or None where they don't."""
        names: list[str] = []
        chain = when.get("sequence")
        found = _chain([seen.get(n, ()) for n in chain], _seconds(when.get("within"))) if chain else None
        if chain and found is None:
            return None
        required = when.get("all", [])
        if not all(seen.get(n) for n in required):
            return None
        if (
            required
            and "within" in when
            and not chain
            and not _close([seen[n] for n in required], _seconds(when["within"]))
        ):
            return None
        wanted = [n for n in when.get("any", []) if seen.get(n)]
        if when.get("any") and not wanted:
            return None
        names += [*(chain or ()), *required, *wanted]
        counted = {n: seen[n] for n in dict.fromkeys(names)}
        if chain and found:
            counted.update({n: [s] for n, s in zip(chain, found, strict=True)})
        return counted

    def _ranks(self, shown: Sequence[Match]) -> set[int]:
        return {r for s in shown if (r := self.state.places.rank_of(s.record)) is not None}

    def _quantity(self, shown: Sequence[Match], wanted: str | int) -> bool:
        ranks = self._ranks(shown)
        total = self.state.places.expected or len(self.state.places.ranks)
        if isinstance(wanted, int):
            return len(ranks) == wanted
        if not ranks:  # nobody knows who spoke: a quantifier cannot be refused
            return wanted == "none" or bool(shown)
        return {
            "one": len(ranks) == 1,
            "some": True,
            "most": len(ranks) * 2 > total,
            "all": len(ranks) >= total,
            "all-but-one": len(ranks) == total - 1,
            "none": False,
        }[wanted]

    def _apart(self, groups: Sequence[Sequence[Match]]) -> bool:
        """No rank that showed the first also showed the others (ranks that nobody knows do not count)."""
        first, *others = (self._ranks(g) for g in groups)
        return not any(first & other for other in others)

    def _together(self, groups: Sequence[Sequence[Match]]) -> bool:
        """Some rank (where known) showed all of them."""
        known = [ranks for g in groups if (ranks := self._ranks(g))]
        return not known or bool(set.intersection(*known))

    def _phase(self, counted: Seen, phases: Sequence[str]) -> bool:
        order = min(s.record.order for shown in counted.values() for s in shown)
        phase = self.state.phase_at(order)
        return phase in phases or ("before first step" in phases and phase in ("launch", "init"))

    def _job(self, facts: Mapping[str, Any], counted: Seen) -> bool:
        return all(self._fact(name, wanted, counted) for name, wanted in facts.items())

    def _fact(self, name: str, wanted: Any, counted: Seen) -> bool:
        if name == "went_on":
            shown = [s.record for records in counted.values() for s in records]
            return all(went_on(e, self.state) for e in shown) is bool(wanted)
        if name == "lines_after":
            shown = [s.record for records in counted.values() for s in records]
            return all(_compare(self.state.lines_after(e), str(wanted)) for e in shown)
        if name == "hung":
            return self.hung is bool(wanted)
        if name == "finished":
            return (self.state.good_ends.done is not None) is bool(wanted)
        if name == "launcher":
            return self.state.launcher == str(wanted)
        if name == "ranks":
            return self.state.places.expected is not None and _compare(self.state.places.expected, str(wanted))
        version = self.state.versions.first.get(name)
        return version is not None and version_in(version, str(wanted))


def version_in(version: str, wanted: str) -> bool:
    """Whether ``2.21.5+cuda12.4`` lies in ``>=2.21,<2.23``; False where the version cannot be read."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    found = re.match(r"\d+(?:\.\d+)*", version)
    try:
        return found is not None and SpecifierSet(wanted).contains(Version(found[0]))
    except InvalidVersion:
        return False


def _seconds(text: str | None) -> float | None:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)", text.strip()) if text else None
    return float(found[1]) * UNITS[found[2]] if found else None


def _compare(value: int, wanted: str) -> bool:
    sign, number = re.fullmatch(r"(>=|<=|==|>|<)?\s*(\d+)", wanted.strip()).groups()  # type: ignore[union-attr]
    return COMPARE[sign or "=="](value, int(number))


def _count(matches: Mapping[str, Matches], name: str) -> int:
    return matches[name].count if name in matches else 0


def _values(shown: Sequence[Match], name: str) -> set[Any]:
    return {v for s in shown if (v := s.captured.get(name, s.record.fields.get(name))) is not None}


def _chain(groups: Sequence[Sequence[Match]], within: float | None) -> list[Match] | None:
    """One event of each group in reading order, the last not later than ``within`` seconds after the first."""
    for start in groups[0]:
        chain = [start]
        for group in groups[1:]:
            later = next((s for s in group if s.record.order > chain[-1].record.order), None)
            if later is None:
                return None
            chain.append(later)
        first, last = chain[0].record.time, chain[-1].record.time
        if within is None or first is None or last is None or last - first <= within:
            return chain
    return None


def _close(groups: Sequence[Sequence[Match]], within: float | None) -> bool:
    """Some events, one of each group, lie within that time (unknown times are let pass)."""
    times = [[s.record.time for s in g if s.record.time is not None] for g in groups]
    if within is None or not all(times):
        return True
    return any(all(any(abs(t - start) <= within for t in g) for g in times) for start in times[0])
