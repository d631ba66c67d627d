"""Questions over facts: what lines near a proof show together.

A question is a function of a module of this package that `asks` marks, so there is no list to extend. It reads the
lines around one proof and their facts, keeps nothing, and yields answers. An answer becomes a record of the format
``examined``, which rules match like any other, and a sentence ``examined.<kind>`` of the catalogues.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property

from msgspec import Struct

from logdoctor.examination.extractors import facts_of
from logdoctor.model import Fact, FactType, Kin, Line, Place, Record, Rule, Said, Source, Value
from logdoctor.pack.module_names import module_names

IDENTITY = ("rank", "local_rank", "host", "pid", "tag")
"""Fields of a source that tell processes apart."""
Read = Callable[[str], tuple[str, Source]]
"""Function that strips the prefixes off the text of a line, and tells their source."""


class Scene:
    """A proof and the lines around it, read as far as somebody asks for them."""

    def __init__(
        self,
        rule: Rule | None,
        record: Record,
        proof: Line,
        lines: Sequence[Line],
        read: Read,
        told: Container[tuple[str, int]] = (),
        start: Sequence[Line] = (),
    ) -> None:
        """Prepare to read ``lines``, those around the record in the order of the log, its own among them.

        ``rule`` holds by ``record``, or is None for a failure without a rule. ``proof`` is the line that is quoted.
        ``read`` strips the prefixes off a line. ``told`` are file and number of lines that a rule explains.
        ``start`` are the first lines of the log.
        """
        self._told = told
        self.rule, self.record, self.proof, self._read = rule, record, proof, read
        self._own = {line.number: line for line in (*record.lines, record.line, proof)}
        first, last = min(self._own), max(self._own)
        self._above = [line for line in reversed(lines) if line.number < first]
        self._below = [line for line in lines if line.number > last]
        self._start = [line for line in start if line.number < first]
        self._said: dict[int, Said] = {}
        self._facts: dict[int, tuple[Fact, ...]] = {}
        self._identity = {**_identity(read(record.line.text)[1]), **_identity_of_record(record)}

    @property
    def quoted(self) -> Said:
        """Return the proof, the line that is quoted."""
        return next(said for said in self.block if said.place == "proof")

    def facts(self, said: Said, *types: FactType) -> tuple[Fact, ...]:
        """Return the facts of a line, or those of some types."""
        found = self._facts.get(said.line.number)
        if found is None:
            found = self._facts[said.line.number] = facts_of(said)
        return tuple(fact for fact in found if fact.type in types) if types else found

    def own(self, *types: FactType) -> tuple[Fact, ...]:
        """Return the facts of the proof, then those of the other lines of its block."""
        lines = sorted(self.block, key=lambda said: said.place != "proof")
        return tuple(fact for said in lines for fact in self.facts(said, *types))

    def above(self) -> Iterator[Said]:
        """Yield the lines of the process above the block, the nearest first."""
        return self._of_process(self._above, "above")

    def below(self) -> Iterator[Said]:
        """Yield the lines of the process below the block, the nearest first."""
        return self._of_process(self._below, "below")

    @cached_property
    def block(self) -> tuple[Said, ...]:
        """The lines of the proof and its block, in the order of the log."""
        places: Iterator[tuple[int, Place]]
        places = ((number, "proof" if number == self.proof.number else "block") for number in sorted(self._own))
        return tuple(self._say(self._own[number], place) for number, place in places)

    def around(self) -> Iterator[Said]:
        """Yield the lines above and below the block in the order of the log, those of other processes among them."""
        yield from (self._say(line, "above") for line in reversed(self._above))
        yield from (self._say(line, "below") for line in self._below)

    def head(self) -> Iterator[Said]:
        """Yield the first lines of the log that are above the block and of no other process."""
        return self._of_process(self._start, "above")

    def is_told(self, said: Said) -> bool:
        """Return whether a rule explains the line: a finding of its own, or a harmless one."""
        return (said.line.file, said.line.number) in self._told

    def _of_process(self, lines: Iterable[Line], place: Place) -> Iterator[Said]:
        return (said for line in lines if (said := self._say(line, place)).kin != "other")

    def _say(self, line: Line, place: Place) -> Said:
        said = self._said.get(line.number)
        if said is None:
            text, source = self._read(line.text)
            kin = self._kin(source) if place in ("above", "below") else "same"
            said = self._said[line.number] = Said(line, text, source, place, kin)
        return said

    def _kin(self, source: Source) -> Kin:
        """Return whether a line of the file is of the process of the proof."""
        told, known = _identity(source), self._identity
        shared = told.keys() & known.keys()
        if any(told[name] != known[name] for name in shared):
            return "other"
        if shared or not (told or known):
            return "same"
        return "other" if told and self._has_several_processes else "open"

    @cached_property
    def _has_several_processes(self) -> bool:
        """Return whether the lines around the proof are of several processes, told by their prefixes."""
        sources = [_identity(self._read(line.text)[1]) for line in (*self._above, *self._below)]
        return any(len({source[name] for source in sources if name in source}) > 1 for name in IDENTITY)


def _identity(source: Source) -> dict[str, object]:
    return {name: value for name in IDENTITY if (value := getattr(source, name)) is not None}


def _identity_of_record(record: Record) -> dict[str, object]:
    told = {"rank": record.rank, "host": record.host, "pid": record.pid}
    return {name: value for name, value in told.items() if value is not None}


class Answer(Struct, frozen=True):
    """A finding of a question."""

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
    shared: bool = False
    """True if the words of any rule may tell its values, and those named in it may be the culprit."""
    silent: bool = False
    """True if only a rule tells it: it has no sentence of its own."""
    beside: bool = False
    """True if it is not about the failure itself, so the facts of the proof are told as well."""


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
