"""Questions over facts: what lines near a proof show together.

A question is a function of a module of this package that `asks` marks, so there is no list to extend. It reads the
lines around one proof and their facts, keeps nothing, and yields answers. An answer becomes a record of the format
``examined``, which rules match like any other, and a sentence ``examined.<kind>`` of the catalogues.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from msgspec import Struct, field

from logdoctor.examination.extractors import facts_of
from logdoctor.model import Fact, FactType, Line, Record, Rule, Said, Value
from logdoctor.pack.module_names import module_names


class Scene(Struct, frozen=True):
    """A proof and the lines around it."""

    rule: Rule
    record: Record
    """The decisive record."""
    lines: tuple[Said, ...]
    """The lines in the order of the log: up to 30 above, the proof and its block, up to 30 below."""
    _facts: dict[int, tuple[Fact, ...]] = field(default_factory=dict)

    def facts(self, said: Said, *types: FactType) -> tuple[Fact, ...]:
        """Return the facts of a line, or those of some types."""
        found = self._facts.get(said.line.number)
        if found is None:
            found = self._facts[said.line.number] = facts_of(said)
        return tuple(fact for fact in found if fact.type in types) if types else found

    def own(self, *types: FactType) -> tuple[Fact, ...]:
        """Return the facts of the proof, then those of the other lines of its block."""
        proof = [said for said in self.lines if said.place == "proof"]
        block = [said for said in self.lines if said.place == "block"]
        return tuple(fact for said in (*proof, *block) for fact in self.facts(said, *types))

    def above(self) -> Iterator[Said]:
        """Yield the lines of the process above the proof, the nearest first."""
        return (said for said in reversed(self.lines) if said.place == "above" and said.kin != "other")

    def below(self) -> Iterator[Said]:
        """Yield the lines of the process below the proof, the nearest first."""
        return (said for said in self.lines if said.place == "below" and said.kin != "other")

    def block(self) -> Iterator[Said]:
        """Yield the lines of the proof and its block, in the order of the log."""
        return (said for said in self.lines if said.is_of_proof)

    def at(self, number: int) -> Said | None:
        """Return the line with this number."""
        return next((said for said in self.lines if said.line.number == number), None)


class Answer(Struct, frozen=True):
    """What a question found."""

    kind: str
    """The name of the answer: the record is ``examined.<kind>``, the sentence has the same key."""
    base: Said
    """The line on which the record stands."""
    fields: Mapping[str, Value]
    """The fields of the record, and the places of the sentence. An empty one is left out."""
    lines: tuple[Line, ...] = ()
    """The lines that show it, if the proof is not enough."""
    facts: tuple[Fact, ...] = ()
    """The facts of other lines that the question joined to the proof."""
    form: str = ""
    """The variant of the sentence: ``examined.<kind>.<form>``."""
    silent: bool = False
    """Whether only a rule tells it: it has no sentence of its own."""


Ask = Callable[[Scene], Iterable[Answer]]


class Question(Struct, frozen=True):
    """A question over the facts around one proof."""

    ask: Ask

    def __call__(self, scene: Scene) -> Iterable[Answer]:
        return self.ask(scene)


def asks(ask: Ask) -> Question:
    """Make a question of a function."""
    return Question(ask)


@cache
def questions() -> tuple[Question, ...]:
    """Return all questions in the order of their files, and of one file as they stand there."""
    modules = (importlib.import_module(f"{__name__}.{name}") for name in module_names(__path__))
    return tuple(q for module in modules for q in vars(module).values() if isinstance(q, Question))


def ask_all(scene: Scene) -> tuple[Answer, ...]:
    """Return the answers of all questions."""
    return tuple(answer for question in questions() for answer in question(scene))
