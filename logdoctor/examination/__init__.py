"""Examination: the lines around a proof in, facts and what they show together out.

The rules recognise a failure by one line, cheaply and in the whole log. The examination then reads the neighbourhood of
the first few findings thoroughly. It opens no file and knows no rule by name.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from logdoctor.examination.questions import Answer, Scene, ask_all
from logdoctor.model import Fact, Record, Rule, Said, Source

MOST_FACTS = 24
"""Facts of one proof, at most."""


class Examined(Struct, frozen=True):
    """Facts of one proof, and the answers of the questions."""

    scene: Scene
    facts: tuple[Fact, ...]
    """Facts of the proof, of its block, and of lines that a question joined to it."""
    answers: tuple[Answer, ...]

    def records(self) -> tuple[Record, ...]:
        """Return the answers as records, each in the place of the proof in the reading order."""
        return tuple(_record(answer, self.scene.record) for answer in self.answers)


def examine(rule: Rule, record: Record, lines: Sequence[Said]) -> Examined:
    """Examine a proof. ``lines`` are the lines around it in the order of the log, the lines of the proof among them."""
    scene = Scene(rule, record, tuple(lines))
    answers = ask_all(scene)
    joined = (fact for answer in answers for fact in answer.facts)
    return Examined(scene, tuple(dict.fromkeys((*scene.own(), *joined)))[:MOST_FACTS], answers)


def _record(answer: Answer, proof: Record) -> Record:
    said, fields = answer.base, {name: value for name, value in answer.fields.items() if value not in (None, "", ())}
    source: Source = said.source if said.kin == "other" else proof.source
    return Record(said.line, "examined", f"examined.{answer.kind}", said.text, source, "error", fields, proof.order)
