"""From one event to the symptoms of rules that it shows, and the bounded memory of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence

import regex
from msgspec import Struct, field
from msgspec.structs import replace

from logdoctor.codes import explain
from logdoctor.model import Record, Rule, Source, Symptom, Value, without_impossible_rank
from logdoctor.model.kinds import fits, is_glob
from logdoctor.pack.regexes import later

FIRST_KEPT = 64
LAST_KEPT = 16
RANKS_KEPT = 4096
_Sort = tuple[str, str, str]
"""Kind, format and level of events: what a symptom may ask for without a look at the text."""
_FLAGS = regex.MULTILINE.value
_REMEMBERED = 4096
"""So many sorts of events, with what the scan saw in them, are remembered."""
ENOUGH_TO_FIND = 24
"""Letters of a line of a match by which its place in the log is sure: the first such line is quoted, its head.

A line that ends with a colon only announces what the next one says.
"""
_OF_SOURCE = {name: name for name in Source.__struct_fields__} | {"source": "logger"}
"""What a rule may ask of the source of a line. Rules and ``logdoctor events`` call the logger ``source``."""
SEARCH_SECONDS = 0.2
"""A single search that takes longer is given up: the text is hostile."""


class Match(Struct, frozen=True):
    """An event that shows a symptom, and what the symptom's regular expression captured."""

    record: Record
    captured: dict[str, Value]
    width: int = 0
    """How much of the text the symptom's expression matched: the more, the more specific it is."""


class Matches(Struct):
    """The events that show one symptom, bounded: the first ones, the last ones, each rank's first, and how many."""

    count: int = 0
    first: list[Match] = field(default_factory=list)
    last: deque[Match] = field(default_factory=lambda: deque(maxlen=LAST_KEPT))
    by_rank: dict[int, Match] = field(default_factory=dict)
    spoken_by: dict[tuple[str | None, int | None], Match] = field(default_factory=dict)

    def add(self, shown: Match) -> None:
        """Take one more event in."""
        record = shown.record
        self.count += 1
        (self.first if len(self.first) < FIRST_KEPT else self.last).append(shown)
        rank, who = record.rank, (record.host, record.pid)
        if rank is not None and len(self.by_rank) < RANKS_KEPT:
            self.by_rank.setdefault(rank, shown)
        if len(self.spoken_by) < RANKS_KEPT:
            self.spoken_by.setdefault(who, shown)

    def all(self) -> list[Match]:
        """Every event that was kept, in reading order, each once."""
        kept = {s.record.order: s for s in (*self.first, *self.spoken_by.values(), *self.by_rank.values(), *self.last)}
        return [kept[order] for order in sorted(kept)]

    def only(self, wanted: Callable[[Record], bool]) -> Matches:
        """The same without the events that are not ``wanted``."""
        left = Matches()
        for shown in self.all():
            if wanted(shown.record):
                left.add(shown)
        return left

    def without(self, orders: Collection[int]) -> Matches:
        """The same without the events of these orders."""
        kept = self.all()
        wanted = [shown for shown in kept if shown.record.order not in orders]
        if len(wanted) == len(kept):
            return self
        left = Matches()
        for shown in wanted:
            left.add(shown)
        left.count += max(0, self.count - len(kept)) if wanted else 0
        return left


class _Asked(Struct, frozen=True):
    """A condition on a field: one of some values, or an expression that all of the value matches.

    With a ``column`` it is on what the catalogues know of the field's value.
    """

    name: str
    column: str
    values: tuple[Value, ...]
    shape: regex.Pattern[str] | None

    @classmethod
    def of(cls, asked: str, wanted: tuple[Value, ...] | str) -> _Asked:
        """As a rule writes it: ``field`` or ``field.column``."""
        name, _, column = asked.partition(".")
        if isinstance(wanted, str):
            return cls(name, column, (), later(f"^(?:{wanted})$", _FLAGS))
        return cls(name, column, wanted, None)

    def holds(self, kind: str, value: Value | None) -> bool:
        """Whether the ``value`` that an event of ``kind`` has is as wanted."""
        if self.column:
            known = explain(kind, self.name, value)
            value = known.columns.get(self.column) if known else None
        if value is None:
            return False
        return value in self.values if self.shape is None else _search(self.shape, str(value)) is not None


class _Test:
    """A symptom made ready to be tried on many events."""

    def __init__(self, symptom: Symptom) -> None:
        self._text = None if symptom.text is None else later(symptom.text, _FLAGS)
        self._asked = [_Asked.of(*asked) for asked in symptom.fields]
        own = [a.name for a in self._asked if self._text is None and a.name not in _OF_SOURCE]
        self.needed = own[0] if own else None
        """A field without which no event shows the symptom: few have it, and to ask for it costs next to nothing."""

    def __call__(self, record: Record) -> tuple[dict[str, Value], str] | None:
        """What the symptom's text captured, and what it matched; None if the event does not show it."""
        fields, unseen = record.fields, list[_Asked]()
        for asked in self._asked:  # what is known without a search comes first
            if asked.name not in fields:
                unseen.append(asked)
            elif not asked.holds(record.kind, fields[asked.name]):
                return None
        captured, matched = dict[str, Value](), ""
        if self._text is not None:
            found = _search(self._text, record.text)
            if found is None:
                return None
            captured = without_impossible_rank({k: as_value(v) for k, v in found.groupdict().items() if v is not None})
            matched = found.group()
        for asked in unseen:  # captured by the text, or of the source
            if not asked.holds(
                record.kind, captured.get(asked.name, getattr(record.source, _OF_SOURCE.get(asked.name, ""), None))
            ):
                return None
        return captured, matched


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
                (self._globs if is_glob(kind) else self._named.setdefault(kind, [])).append(n)
        self._tests: dict[int, _Test] = {}
        self._possible: dict[tuple[_Sort, tuple[int, ...]], tuple[tuple[int, _Test], ...]] = {}

    def shown_by(self, record: Record) -> Iterator[tuple[int, Match]]:
        """The symptoms that ``event`` shows, with what their texts captured."""
        like = (record.kind, record.format, record.level), record.patterns
        possible = self._possible.get(like)
        if possible is None:
            if len(self._possible) >= _REMEMBERED:
                self._possible.clear()
            possible = self._possible[like] = tuple((n, self._test(n)) for n in self._numbers_for(*like))
        fields = record.fields
        for number, test in possible:
            if test.needed is not None and test.needed not in fields:
                continue
            found = test(record)
            if found is not None:
                captured, at = found
                yield number, Match(_quoted(record, at) if record.lines and at else record, captured, len(at))

    def _test(self, number: int) -> _Test:
        """Made when it is first needed: most never are."""
        if number not in self._tests:
            self._tests[number] = _Test(self.symptoms[number][1])
        return self._tests[number]

    def _numbers_for(self, sort: _Sort, patterns: Sequence[int]) -> list[int]:
        """The symptoms that may be in an event of this ``sort`` in which the scan saw ``patterns``, in their order."""
        numbers = {*self._named.get(sort[0], ()), *self._globs}
        numbers.update(n for pattern in patterns for n in self.owners[pattern])
        return sorted(n for n in numbers if _allows(self.symptoms[n][1], sort))


def _allows(symptom: Symptom, sort: _Sort) -> bool:
    """Whether the symptom may be in events of this kind, format and level."""
    kind, log_format, level = sort
    return (
        (symptom.kind is None or fits(kind, symptom.kind))
        and (symptom.format is None or fits(log_format, symptom.format))
        and (not symptom.level or level in symptom.level)
    )


def _search(pattern: regex.Pattern[str], text: str) -> regex.Match[str] | None:
    try:
        return pattern.search(text, timeout=SEARCH_SECONDS)
    except TimeoutError:
        return None


_made: list[SymptomIndex] = []


def index_of(rules: Sequence[Rule], owners: Sequence[Sequence[int]]) -> SymptomIndex:
    """The index, kept from job to job as long as they are diagnosed by the same rules: a scan has millions of jobs."""
    if not _made or _made[0].rules is not rules or _made[0].owners is not owners:
        _made[:] = [SymptomIndex(rules, owners)]
    return _made[0]


def _telling_line(matched: str) -> str:
    lines = matched.splitlines()
    long = [line for line in lines if len(line.strip()) >= ENOUGH_TO_FIND]
    said = [line for line in long if not line.rstrip().endswith(":")]
    return (said or long or [max(lines, key=len, default="")])[0].strip()


def _quoted(record: Record, matched: str) -> Record:
    """The event with the line of its record that holds what matched: its own before the source lines above it."""
    wanted = _telling_line(matched)
    for part in (wanted, wanted[:40], wanted[-40:]):
        line = next((line for line in (record.line, *record.lines) if part and part in line.text), None)
        if line is not None:
            return replace(record, line=line)
    return record


def as_value(text: str) -> Value:
    """A captured text, as a whole number where it is one."""
    digits = text[1:] if text[:1] == "-" else text
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 19 else text
