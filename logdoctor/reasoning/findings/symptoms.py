"""Symptoms of rules, and their matches in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence

import regex
from msgspec import Struct, field

from logdoctor.codes import explain
from logdoctor.model import NO_SPAN, Level, Record, Rule, Source, Span, Symptom, Value, without_impossible_rank
from logdoctor.model.kinds import fits, is_glob
from logdoctor.model.numbers import ZERO_DIGITS, number_or_text
from logdoctor.pack.regexes import later, names_digits
from logdoctor.reasoning.processes import Process, process_of

MAX_FIRST = 64
MAX_LAST = 16
MAX_SOURCES = 4096
_Sort = tuple[str, str, Level | None]
"""Kind, format and told level of a record.  A symptom may test them without the text."""
_FLAGS = regex.MULTILINE.value
_CODE = later(r"\s*(?:except\b[^\n]*:\s*$|raise [\w.]+\(|def \w+\(|from [\w.]+ import |import [\w.]+\s*$)")
"""A statement of a program, as a traceback, ``grep`` or ``set -x`` shows it."""
_CACHE_SIZE = 4096
"""Number of combinations of a sort and scan patterns whose possible symptoms are cached, also with a shape."""
_OF_SOURCE = {"source" if name == "logger" else name: name for name in Source.__struct_fields__}
"""Fields of the source that a rule may test, by their name in rules, which call the logger ``source``."""
MAX_KNOWN = 256
"""Values of a field whose answers are remembered, and characters of a value."""
MAX_SHAPES, MAX_SHAPED = 1024, 4000
"""Shapes that are remembered, and characters of their texts."""
SEARCH_SECONDS = 0.2
"""Time limit of one search.  The text is hostile, so a longer search counts as no match."""


class Match(Struct, frozen=True):
    """A record that matches a symptom, with the captured groups."""

    record: Record
    captured: dict[str, Value]
    span: Span = NO_SPAN
    """Part of `Record.text` that the symptom's expression matched.  A longer match is more specific."""


class Matches(Struct):
    """Matches of one symptom, and their count.

    Stored are the first, the last, and the first of each process. Only a bounded number is stored. ``count``
    is the number of all matches.
    """

    count: int = 0
    first: list[Match] = field(default_factory=list)
    last: deque[Match] = field(default_factory=lambda: deque(maxlen=MAX_LAST))
    by_process: dict[Process, Match] = field(default_factory=dict)

    def add(self, match: Match, process: Process) -> None:
        """Add a match. ``process`` is that of its record."""
        self.count += 1
        (self.first if len(self.first) < MAX_FIRST else self.last).append(match)
        if len(self.by_process) < MAX_SOURCES:
            self.by_process.setdefault(process, match)

    def copy(self) -> Matches:
        return Matches(self.count, [*self.first], self.last.copy(), {**self.by_process})

    def all(self) -> list[Match]:
        """Return each stored match once, in reading order."""
        stored = (*self.first, *self.by_process.values(), *self.last)
        by_order = {m.record.order: m for m in stored}
        return [by_order[order] for order in sorted(by_order)]

    def filter(self, wanted: Callable[[Record], bool]) -> Matches:
        """Return the stored matches whose records pass ``wanted``."""
        left = Matches()
        for match in self.all():
            if wanted(match.record):
                left.add(match, process_of(match.record))
        return left

    def without(self, orders: Collection[int]) -> Matches:
        """Return the matches without the records with these `Record.order` numbers.

        Matches that are counted but not stored stay in the count, unless no stored match is left.
        """
        stored = len(self.all())
        left = self.filter(lambda record: record.order not in orders)
        if left.count == stored:
            return self
        left.count += max(0, self.count - stored) if left.count else 0
        return left


class _FieldCondition(Struct, frozen=True):
    """A condition on the value of a field.

    It is a list of values, or an expression that matches the whole value. With a ``column`` the condition tests that
    column of the code table for the field's value.
    """

    name: str
    column: str
    values: tuple[Value, ...]
    expression: regex.Pattern[str] | None
    known: dict[str, bool] = field(default_factory=dict)
    """Answers of the expression, because the ranks of a job print the same values."""

    @classmethod
    def of(cls, path: str, wanted: tuple[Value, ...] | str) -> _FieldCondition:
        """Build the condition of a rule's ``field`` or ``field.column``.

        ``wanted`` is a tuple of values or an expression.
        """
        name, _, column = path.partition(".")
        if isinstance(wanted, str):
            return cls(name, column, (), later(f"^(?:{wanted})$", _FLAGS))
        return cls(name, column, wanted, None)

    def matches(self, kind: str, value: Value | None) -> bool:
        """Return whether a value satisfies the condition. ``kind`` is the kind of the record."""
        if self.column:
            entry = explain(kind, self.name, value)
            value = entry.columns.get(self.column) if entry else None
        if value is None:
            return False
        return value in self.values if self.expression is None else self._fits(self.expression, str(value))

    def _fits(self, expression: regex.Pattern[str], value: str) -> bool:
        fits = self.known.get(value)
        if fits is None:
            if len(self.known) >= MAX_KNOWN:
                self.known.clear()
            fits = _search(expression, value) is not None
            if len(value) <= MAX_KNOWN:
                self.known[value] = fits
        return fits


class _Hit(Struct, frozen=True):
    """Part of a text that an expression matched, and its named groups that hold something."""

    span: Span
    groups: tuple[tuple[str, Span], ...]


_UNKNOWN = _Hit(NO_SPAN, ())


class _SymptomTest(Struct, frozen=True):
    """A symptom that is prepared for tests on many records."""

    text: regex.Pattern[str] | None
    is_blind: bool
    """The expression does not ask for the value of a digit."""
    conditions: Sequence[_FieldCondition]
    required_field: str | None
    """A field that each matching record has.  Few records have it, and the test costs almost nothing."""
    hits: dict[int, _Hit | None] = field(default_factory=dict)
    """Hits of a blind expression by the number of the text's shape."""

    @classmethod
    def of(cls, symptom: Symptom) -> _SymptomTest:
        text = None if symptom.text is None else later(symptom.text, _FLAGS)
        conditions = [_FieldCondition.of(*condition) for condition in symptom.fields]
        own = [c.name for c in conditions if text is None and c.name not in _OF_SOURCE]
        is_blind = symptom.text is not None and not names_digits(symptom.text)
        return cls(text, is_blind, conditions, own[0] if own else None)

    def is_ruled_out(self, shape: int | None) -> bool:
        """Return whether no text of this shape shows the symptom, as far as it is known."""
        return self.hits.get(shape, _UNKNOWN) is None  # type: ignore[arg-type]  # no shape is no key

    def search(self, text: str, shape: int | None) -> _Hit | None:
        """Search a text. Texts of one shape differ in digits only, so one search serves for all of them."""
        if self.text is None:
            return None
        if shape is None or not self.is_blind:
            return self._search(self.text, text)
        if shape not in self.hits:
            self.hits[shape] = self._search(self.text, text)
        return self.hits[shape]

    def _search(self, expression: regex.Pattern[str], text: str) -> _Hit | None:
        match = _search(expression, text)
        if match is None:
            return None
        spans = ((name, match.span(name)) for name in match.re.groupindex)
        return _Hit(match.span(), tuple((name, span) for name, span in spans if span[0] >= 0))

    def __call__(self, record: Record, shape: int | None) -> tuple[dict[str, Value], Span] | None:
        """Return the captured groups and the matched part of the text. Return None if the record does not match."""
        fields, missing = record.fields, list[_FieldCondition]()
        for condition in self.conditions:  # fields first, because they need no search
            if condition.name not in fields:
                missing.append(condition)
            elif not condition.matches(record.kind, fields[condition.name]):
                return None
        captured, span = dict[str, Value](), NO_SPAN
        if self.text is not None:
            hit, text = self.search(record.text, shape), record.text
            if hit is None:
                return None
            span = hit.span
            if hit.groups:
                groups: dict[str, Value] = {name: number_or_text(text[start:end]) for name, (start, end) in hit.groups}
                captured = without_impossible_rank(groups)
        for condition in missing:  # captured by the text, or a field of the source
            value = captured.get(condition.name, getattr(record.source, _OF_SOURCE.get(condition.name, ""), None))
            if not condition.matches(record.kind, value):
                return None
        return captured, span


_Key = tuple[_Sort, tuple[int, ...]]
"""Sort of a record, and the symptoms that the scan found in it."""
_Tests = tuple[tuple[int, _SymptomTest], ...]
"""Numbers and tests of symptoms."""


class SymptomIndex:
    """Index of all symptoms.

    A record is tested only on symptoms that it could match. ``symptoms`` holds each symptom with the number of its
    rule. ``scanned`` are the numbers of the symptoms that the scan finds by their texts (`Record.patterns`). The others
    are found by the kind of the record.
    """

    def __init__(self, rules: Sequence[Rule], scanned: Collection[int]) -> None:
        self.symptoms = [(i, s) for i, rule in enumerate(rules) for s in rule.symptoms]
        self.rules, self.scanned = rules, scanned
        self._by_kind: dict[str, list[int]] = {}
        self._globs: list[int] = []
        for n, (_, symptom) in enumerate(self.symptoms):
            kind = symptom.kind or "*"
            if n not in scanned:
                (self._globs if is_glob(kind) else self._by_kind.setdefault(kind, [])).append(n)
        self._tests: dict[int, _SymptomTest] = {}
        self._possible: dict[_Key, _Tests] = {}
        self._left: dict[tuple[_Key, int | None], _Tests] = {}
        """The possible tests without those that the shape of the text rules out."""
        self._shapes: dict[bytes, int] = {}
        """Numbers of the shapes of texts."""

    def confirm(self, text: str, numbers: Sequence[int], level: Level | None) -> tuple[int, ...]:
        """Return those of the symptoms that ``text`` shows if it is no record of a format.  None is any level."""
        sort = ("text.line", "text", level or _level_of_code(text))
        of_text = (n for n in numbers if _allows(self.symptoms[n][1], sort))
        shape = self._shape_of(text)
        return tuple(n for n in of_text if self._test(n).search(text, shape))

    def find_matches(self, record: Record) -> list[tuple[int, Match]]:
        """Return the number and the match of each matching symptom."""
        shape = self._shape_of(record.text)
        level = record.told_level or _level_of_code(record.text)
        key = (record.kind, record.format, level), record.patterns
        left = self._left.get((key, shape))
        tests = self._tests_for(key) if left is None else left
        fields, found = record.fields, list[tuple[int, Match]]()
        for number, test in tests:
            if test.required_field is not None and test.required_field not in fields:
                continue
            result = test(record, shape)
            if result is not None:
                found.append((number, Match(record, *result)))
        if left is None:
            if len(self._left) >= _CACHE_SIZE:
                self._left.clear()
            self._left[key, shape] = tuple((n, test) for n, test in tests if not test.is_ruled_out(shape))
        return found

    def _tests_for(self, key: _Key) -> _Tests:
        """Return the tests of the symptoms that fit a sort and scan patterns."""
        tests = self._possible.get(key)
        if tests is None:
            if len(self._possible) >= _CACHE_SIZE:
                self._possible.clear()
            tests = self._possible[key] = tuple((n, self._test(n)) for n in self._numbers_for(*key))
        return tests

    def _shape_of(self, text: str) -> int | None:
        """Return the number of the text's shape: the text with zeros for its digits. Long texts have none."""
        if len(text) > MAX_SHAPED:
            return None
        shape = text.encode(errors="replace").translate(ZERO_DIGITS)
        number = self._shapes.get(shape)
        if number is None:
            if len(self._shapes) >= MAX_SHAPES:
                self._shapes.clear()
                self._left.clear()
                for test in self._tests.values():
                    test.hits.clear()
            number = self._shapes[shape] = len(self._shapes)
        return number

    def _test(self, number: int) -> _SymptomTest:
        """Return the test of a symptom. It is built at first use, because most are never used."""
        if number not in self._tests:
            self._tests[number] = _SymptomTest.of(self.symptoms[number][1])
        return self._tests[number]

    def _numbers_for(self, sort: _Sort, patterns: Sequence[int]) -> list[int]:
        """Return the numbers of the symptoms that may match. They fit the record's sort and scan patterns."""
        numbers = {*self._by_kind.get(sort[0], ()), *self._globs, *patterns}
        return sorted(n for n in numbers if _allows(self.symptoms[n][1], sort))


def _level_of_code(text: str) -> Level | None:
    """Return ``info`` for a statement of a program, and None for any other text."""
    return "info" if _CODE.match(text) else None


def _allows(symptom: Symptom, sort: _Sort) -> bool:
    """Return whether a symptom accepts this kind, format and level. None is any level."""
    kind, log_format, level = sort
    return _allows_kind(symptom, kind, log_format) and (level is None or not symptom.level or level in symptom.level)


def _allows_kind(symptom: Symptom, kind: str, log_format: str) -> bool:
    return (symptom.kind is None or fits(kind, symptom.kind)) and (
        symptom.format is None or fits(log_format, symptom.format)
    )


def _search(pattern: regex.Pattern[str], text: str) -> regex.Match[str] | None:
    try:
        return pattern.search(text, timeout=SEARCH_SECONDS)
    except TimeoutError:
        return None


_cache: list[SymptomIndex] = []


def load_index(rules: Sequence[Rule], scanned: Collection[int]) -> SymptomIndex:
    """Return the index of the symptoms.

    It is reused while the rules stay the same, because a scan has millions of jobs.
    """
    if not _cache or _cache[0].rules is not rules or _cache[0].scanned is not scanned:
        _cache[:] = [SymptomIndex(rules, scanned)]
    return _cache[0]
