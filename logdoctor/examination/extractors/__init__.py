"""Extractors: each turns the words of a line into typed facts, and names no failure.

An extractor is a function of a module of this package that `extracts` marks, so there is no list to extend. Each module
has `SAMPLES`: lines, and the facts that they tell, as ``type.role=value unit (of)``; `tests/test_extractors.py` checks
them all. A line that tells none guards against a misreading.

Most lines tell nothing to most extractors, so each names the words without one of which it finds nothing. The words of
a line are looked up once for all of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from msgspec import Struct

from logdoctor.model import Fact, FactType, Said, Value
from logdoctor.pack.module_names import module_names

MOST_FACTS = 12
"""Facts of one line, at most."""
LONGEST = 2000
"""Characters of a line that are searched."""


class Found(Struct, frozen=True):
    """A fact of a text. See `Fact` for the fields."""

    role: str
    value: Value
    unit: str = ""
    of: str = ""
    said: str = ""
    type: FactType | None = None
    """Another type than that of the extractor."""


Extract = Callable[[str], Iterable[Found]]


class Extractor(Struct, frozen=True):
    """A function that yields the facts of one type that a text tells."""

    type: FactType
    extract: Extract
    words: frozenset[str] = frozenset()
    """Words in lower case; a line without any of them tells no fact. Empty: each line may tell one."""

    def __call__(self, said: Said) -> Iterator[Fact]:
        for found in self.extract(said.text[:LONGEST]):
            yield Fact(found.type or self.type, found.role, found.value, said.line, found.unit, found.of, found.said)


def extracts(type: FactType, words: str = "") -> Callable[[Extract], Extractor]:
    """Make an extractor of a function of a text. A word of ``words`` consists of letters only."""
    return lambda extract: Extractor(type, extract, frozenset(words.split()))


_OTHER_THAN_LETTERS = str.maketrans({chr(code): " " for code in range(128) if not chr(code).isalpha()})


def words_of(text: str) -> frozenset[str]:
    """Return the words in lower case; digits and signs end a word."""
    return frozenset(text.lower().translate(_OTHER_THAN_LETTERS).split())


@cache
def extractors() -> tuple[Extractor, ...]:
    """Return all extractors in the order of their files, and of one file as they stand there."""
    modules = (importlib.import_module(f"{__name__}.{name}") for name in module_names(__path__))
    return tuple(e for module in modules for e in vars(module).values() if isinstance(e, Extractor))


@cache
def _by_word() -> Mapping[str, tuple[int, ...]]:
    """Return the places of extractors by the words that they ask for; those that read each line stand at ""."""
    places: dict[str, tuple[int, ...]] = {}
    for place, extractor in enumerate(extractors()):
        for word in extractor.words or ("",):
            places[word] = (*places.get(word, ()), place)
    return places


def facts_of(said: Said) -> tuple[Fact, ...]:
    """Return the facts that a line tells, each once."""
    by_word = _by_word()
    words = words_of(said.text[:LONGEST]) & by_word.keys()
    asked = {place for word in ("", *words) for place in by_word.get(word, ())}
    found = dict.fromkeys(fact for place in sorted(asked) for fact in extractors()[place](said))
    return tuple(found)[:MOST_FACTS]
