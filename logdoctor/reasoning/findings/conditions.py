"""Evaluation of a rule's ``when``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from logdoctor.model import Record, Rule
from logdoctor.model.numbers import number
from logdoctor.pack.regexes import compiled
from logdoctor.reasoning.findings.symptoms import Match, Matches
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.refutation import goes_on

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}

MatchLists = Mapping[str, Sequence[Match]]
"""Matches of each symptom, by the symptom's name."""


class Conditions(Struct, frozen=True):
    """Evaluation of conditions for one job. ``hung`` means that the user reports a hang."""

    state: JobState
    hung: bool

    def match(
        self, rule: Rule, matches: Mapping[str, Matches], all_matches: Mapping[str, Matches]
    ) -> MatchLists | None:
        """Return the matches that make the rule hold.

        They are sorted as the symptoms in ``when``. Return None if the rule does not hold. The rule may rest on
        ``matches``. Its ``none`` is tested on ``all_matches``, because a forbidden record may belong to another rule.
        """
        when = rule.when
        lists = {name: m.all() for name, m in matches.items()}
        counted = _narrow(when, lists)
        if counted is None:
            return None
        records = [m.record for group in counted.values() for m in group]
        checks: tuple[tuple[str, Callable[[Any], bool]], ...] = (
            ("none", lambda names: not any(all_matches[n].all() for n in names if n in all_matches)),
            ("count", lambda table: all(_compare(_count(matches, n), str(c)) for n, c in table.items())),
            ("apart", lambda names: self._apart([lists.get(n, ()) for n in names])),
            ("together", lambda names: self._together([lists.get(n, ()) for n in names])),
            ("differ", lambda table: all(len(_field_values(lists.get(n, ()), f)) > 1 for n, f in table.items())),
            ("phase", lambda phases: self._phase(records, phases)),
            ("job", lambda facts: all(self._fact(name, wanted, records) for name, wanted in facts.items())),
        )
        for key, check in checks:
            if key in when and not check([when[key]] if isinstance(when[key], str) else when[key]):
                return None
        return counted

    def _ranks(self, matches: Sequence[Match]) -> set[int]:
        return {r for m in matches if (r := self.state.processes.rank_of(m.record)) is not None}

    def _apart(self, groups: Sequence[Sequence[Match]]) -> bool:
        """Return whether no other group has ranks of the first. Unknown ranks do not count."""
        first, *others = (self._ranks(g) for g in groups)
        return not any(first & other for other in others)

    def _together(self, groups: Sequence[Sequence[Match]]) -> bool:
        """Return whether a rank is in all groups. Groups without known ranks do not count."""
        rank_sets = [ranks for g in groups if (ranks := self._ranks(g))]
        return not rank_sets or bool(set.intersection(*rank_sets))

    def _phase(self, records: Sequence[Record], phases: Sequence[str]) -> bool:
        phase = self.state.phase_at(min(record.order for record in records))
        return phase in phases or ("before first step" in phases and phase in ("launch", "init"))

    def _fact(self, name: str, wanted: Any, records: Sequence[Record]) -> bool:
        lives, expected = self.state.lives, self.state.processes.expected
        match name:
            case "went_on":
                return all(goes_on(e, lives) for e in records) is bool(wanted)
            case "lines_after":
                return all(_compare(lives.lines_after(e), str(wanted)) for e in records)
            case "hung":
                return self.hung is bool(wanted)
            case "finished":
                return (lives.program.well is not None) is bool(wanted)
            case "launcher":
                return self.state.launcher == str(wanted)
            case "ranks":
                return expected is not None and _compare(expected, str(wanted))
        version = self.state.versions.first.get(name)
        return version is not None and version_in(version, str(wanted))


def _narrow(when: Mapping[str, Any], lists: MatchLists) -> dict[str, Sequence[Match]] | None:
    """Return the matches that satisfy ``any``, ``all`` and ``sequence``. Return None if one of the three fails."""
    chain, required, within = when.get("sequence", ()), when.get("all", ()), _seconds(when.get("within"))
    present = [n for n in when.get("any", ()) if lists.get(n)]
    ordered = _chain([lists.get(n, ()) for n in chain], within) if chain else []
    if ordered is None or not all(lists.get(n) for n in required) or ("any" in when and not present):
        return None
    if required and not chain and not _close([lists[n] for n in required], within):
        return None
    counted = {n: lists[n] for n in (*chain, *required, *present)}
    return {**counted, **{n: [m] for n, m in zip(chain, ordered, strict=True)}}


def version_in(version: str, wanted: str) -> bool:
    """Return whether a version is in a range.

    Return False if the version cannot be read. Example: ``2.21.5+cuda12.4`` is in ``>=2.21,<2.23``.
    """
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    number = re.match(r"\d+(?:\.\d+)*", version)
    try:
        return number is not None and SpecifierSet(wanted).contains(Version(number[0]))
    except InvalidVersion:
        return False


def _seconds(text: str | None) -> float | None:
    """Return the seconds of a duration. ``500ms`` gives 0.5, and ``2 m`` gives 120."""
    duration = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)", text.strip()) if text else None
    return float(duration[1]) * UNITS[duration[2]] if duration else None


def _compare(value: int, wanted: str) -> bool:
    """Return whether ``value`` satisfies ``wanted``, for example ``>=3`` or ``3``."""
    sign, digits = re.fullmatch(r"(>=|<=|==|>|<)?\s*([0-9]{1,9})", wanted.strip()).groups()  # type: ignore[union-attr]
    return COMPARE[sign or "=="](value, number(digits) or 0)


def _count(matches: Mapping[str, Matches], name: str) -> int:
    return matches[name].count if name in matches else 0


def _field_values(matches: Sequence[Match], name: str) -> set[Any]:
    return {v for m in matches if (v := m.captured.get(name, m.record.fields.get(name))) is not None}


def _chain(groups: Sequence[Sequence[Match]], within: float | None) -> list[Match] | None:
    """Return one match of each group, in reading order.

    Return None if there is no such chain. The last match is at most ``within`` seconds after the first. Unknown times
    pass.
    """
    for start in groups[0]:
        chain = [start]
        for group in groups[1:]:
            later = next((m for m in group if m.record.order > chain[-1].record.order), None)
            if later is None:
                return None
            chain.append(later)
        first, last = chain[0].record.time, chain[-1].record.time
        if within is None or first is None or last is None or last - first <= within:
            return chain
    return None


def _close(groups: Sequence[Sequence[Match]], within: float | None) -> bool:
    """Return whether matches of all groups lie within ``within`` seconds.

    The time of one match of the first group is the reference. Return True if a group has no times.
    """
    times = [[m.record.time for m in g if m.record.time is not None] for g in groups]
    if within is None or not all(times):
        return True
    return any(all(any(abs(t - start) <= within for t in g) for g in times) for start in times[0])


def has_words(expression: str, text: str) -> bool:
    """Return whether a text holds an expression of a table of the rules, in upper or lower case."""
    return compiled(f"(?i){expression}").search(text) is not None
