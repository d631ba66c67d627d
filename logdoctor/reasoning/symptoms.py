"""From one event to the symptoms of rules that it shows, and the bounded memory of them."""

from __future__ import annotations

import fnmatch
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import regex
from msgspec import Struct, field
from msgspec.structs import replace

from logdoctor.catalogues import explain
from logdoctor.model import Event, Rule, Symptom, Value
from logdoctor.regexes import compiled

FIRST_KEPT = 64
LAST_KEPT = 16
RANKS_KEPT = 4096
_WILD = frozenset("*?[")
_Sort = tuple[str, str, str]
"""Kind, dialect and level of events: what a symptom may ask for without a look at the text."""
SEARCH_SECONDS = 0.2
"""A single search that takes longer is given up: the text is hostile."""


class Shown(Struct, frozen=True):
    """An event that shows a symptom, and what the symptom's regular expression captured."""

    event: Event
    captured: dict[str, Value]
    width: int = 0
    """How much of the text the symptom's expression matched: the more, the more specific it is."""


class Hits(Struct):
    """The events that show one symptom, bounded: the first ones, the last ones, each rank's first, and how many."""

    count: int = 0
    first: list[Shown] = field(default_factory=list)
    last: deque[Shown] = field(default_factory=lambda: deque(maxlen=LAST_KEPT))
    by_rank: dict[int, Shown] = field(default_factory=dict)
    spoken_by: dict[tuple[str | None, int | None], Shown] = field(default_factory=dict)

    def add(self, shown: Shown) -> None:
        """Take one more event in."""
        self.count += 1
        (self.first if len(self.first) < FIRST_KEPT else self.last).append(shown)
        rank, who = shown.event.rank, (shown.event.host, shown.event.pid)
        if rank is not None and len(self.by_rank) < RANKS_KEPT:
            self.by_rank.setdefault(rank, shown)
        if len(self.spoken_by) < RANKS_KEPT:
            self.spoken_by.setdefault(who, shown)

    def all(self) -> list[Shown]:
        """Every event that was kept, in reading order, each once."""
        kept = {s.event.order: s for s in (*self.first, *self.spoken_by.values(), *self.by_rank.values(), *self.last)}
        return [kept[order] for order in sorted(kept)]

    def only(self, wanted: Callable[[Event], bool]) -> Hits:
        """The same without the events that are not ``wanted``."""
        left = Hits()
        for shown in self.all():
            if wanted(shown.event):
                left.add(shown)
        return left

    def without(self, orders: Collection[int]) -> Hits:
        """The same without the events of these orders."""
        left = Hits()
        for shown in self.all():
            if shown.event.order not in orders:
                left.add(shown)
        left.count += max(0, self.count - len(self.all())) if left.count else 0
        return left


class SymptomIndex:
    """Knows which symptoms an event could show, and tries only those.

    ``symptoms`` are all symptoms of all rules, each with the number of its rule; ``owners[p]`` are the symptoms whose
    text pattern is the scan's pattern ``p``.
    """

    def __init__(self, rules: Sequence[Rule], owners: Sequence[Sequence[int]]) -> None:
        """Sort the symptoms by how they are found: by the scan's pattern, or by the kind of the event alone."""
        self.symptoms = [(i, s) for i, rule in enumerate(rules) for s in rule.symptoms]
        self.rules, self.owners = rules, owners
        scanned = {n for numbers in owners for n in numbers}
        self._named: dict[str, list[int]] = {}
        self._globs: list[int] = []
        for n, (_, symptom) in enumerate(self.symptoms):
            kind = symptom.kind or "*"
            if n not in scanned:
                (self._named.setdefault(kind, []) if _WILD.isdisjoint(kind) else self._globs).append(n)
        self._unscanned_of: dict[_Sort, tuple[int, ...]] = {}
        self._owned_by: dict[tuple[int, _Sort], tuple[int, ...]] = {}

    def shown_by(self, event: Event) -> Iterator[tuple[int, Shown]]:
        """The symptoms that ``event`` shows, with what their texts captured."""
        for number in self._possible(event):
            found = self._try(self.symptoms[number][1], event)
            if found is not None:
                captured, at = found
                yield number, Shown(_quoted(event, at) if event.lines and at else event, captured, len(at))

    def _possible(self, event: Event) -> Sequence[int]:
        """The symptoms that may be in an event of its kind, dialect and level, in their order."""
        sort = event.kind, event.dialect, event.level
        found = self._unscanned_of.get(sort)
        if found is None:
            unscanned = sorted((*self._named.get(event.kind, ()), *self._globs))
            found = self._unscanned_of[sort] = self._allowed(unscanned, sort)
        if not event.patterns:
            return found
        numbers = set(found)
        for pattern in event.patterns:
            owned = self._owned_by.get((pattern, sort))
            if owned is None:
                owned = self._owned_by[pattern, sort] = self._allowed(self.owners[pattern], sort)
            numbers.update(owned)
        return sorted(numbers)

    def _allowed(self, numbers: Sequence[int], sort: _Sort) -> tuple[int, ...]:
        """Those of the symptoms ``numbers`` that ask for nothing else."""
        kind, dialect, level = sort
        wanted = ((n, self.symptoms[n][1]) for n in numbers)
        return tuple(
            n
            for n, symptom in wanted
            if (symptom.kind in (None, kind) or fnmatch.fnmatchcase(kind, symptom.kind or ""))
            and (symptom.dialect in (None, dialect) or fnmatch.fnmatchcase(dialect, symptom.dialect or ""))
            and (not symptom.level or level in symptom.level)
        )

    def _try(self, symptom: Symptom, event: Event) -> tuple[dict[str, Value], str] | None:
        """What the symptom's text captured, and what it matched; None if the event does not show it."""
        later = list[tuple[str, "tuple[Value, ...] | str"]]()
        for asked in symptom.fields:  # what is known without a search comes first
            if asked[0].partition(".")[0] not in event.fields:
                later.append(asked)
            elif not self._field_holds(event, {}, *asked):
                return None
        found = self._search(symptom.text, event.text) if symptom.text is not None else ({}, "")
        if found is None or not all(self._field_holds(event, found[0], *asked) for asked in later):
            return None
        return found

    def _field_holds(
        self, event: Event, captured: Mapping[str, Value], asked: str, wanted: tuple[Value, ...] | str
    ) -> bool:
        """Whether a field (of the event, captured by the symptom's text, of the speaker) is as wanted.

        ``field.column`` asks what the catalogues know of the field's value.
        """
        name, _, column = asked.partition(".")
        value = event.fields.get(name, captured.get(name, getattr(event.speaker, name, None)))
        if column:
            known = explain(event.kind, name, value)
            value = known.columns.get(column) if known else None
        if value is None:
            return False
        if isinstance(wanted, str):
            return self._search(f"^(?:{wanted})$", str(value)) is not None
        return value in wanted

    def _search(self, pattern: str, text: str) -> tuple[dict[str, Value], str] | None:
        try:
            found = compiled(pattern, regex.MULTILINE).search(text, timeout=SEARCH_SECONDS)
        except TimeoutError:
            return None
        if not found:
            return None
        return {k: as_value(v) for k, v in found.groupdict().items() if v is not None}, found.group()


_made: list[SymptomIndex] = []


def index_of(rules: Sequence[Rule], owners: Sequence[Sequence[int]]) -> SymptomIndex:
    """The index, kept from job to job as long as they are diagnosed by the same rules: a scan has millions of jobs."""
    if not _made or _made[0].rules is not rules or _made[0].owners is not owners:
        _made[:] = [SymptomIndex(rules, owners)]
    return _made[0]


def _quoted(event: Event, matched: str) -> Event:
    """The event with the line of its record that holds what matched: its own before the source lines above it."""
    wanted = max(matched.splitlines(), key=len, default="").strip()
    for part in (wanted, wanted[:40], wanted[-40:]):
        line = next((line for line in (event.line, *event.lines) if part and part in line.text), None)
        if line is not None:
            return replace(event, line=line)
    return event


def as_value(text: str) -> Value:
    """A captured text, as a whole number where it is one."""
    digits = text[1:] if text[:1] == "-" else text
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 19 else text
