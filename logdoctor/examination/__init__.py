"""Examination: the lines around a proof in, facts and what they show together out.

The rules recognise a failure by one line, cheaply and in the whole log. The examination then reads the neighbourhood of
the first few findings thoroughly. It opens no file and knows no rule by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from logdoctor.examination.absences import Absences
from logdoctor.examination.questions import Answer, Scene, ask_all
from logdoctor.model import Examination, Fact, LifecycleSign, Line, Record

SHARED = LifecycleSign(tells=("values",))
"""Sign of an answer of which the words of any rule may tell the values."""
MOST_FACTS = 24
"""Facts of one proof, at most."""
ABSENCE_OF: Mapping[str, str] = {"members": "names", "identity": "names", "reason": "reason"}
"""Sort of evidence that is there where a question joined a fact of this type to the proof."""


class Examined(Struct, frozen=True):
    """Facts around one proof, and answers of the questions."""

    scene: Scene
    own: tuple[Fact, ...]
    """Facts of the proof and of its block."""
    answers: tuple[Answer, ...]
    known: Examination
    """The facts, those of other lines that a question joined among them, and what was not found."""

    def records(self) -> Iterator[Record]:
        """Yield the answers as records, each in the place of the proof in the reading order."""
        proof = self.scene.record
        for answer in self.answers:
            fields = {name: value for name, value in answer.fields.items() if value not in (None, "", ())}
            line, text, kind = answer.base.line, answer.base.text, f"examined.{answer.kind}"
            signs = (SHARED,) if answer.shared else ()
            yield Record(line, "examined", kind, text, proof.source, "error", fields, proof.order, signs=signs)

    def lines(self) -> Iterator[Line]:
        """Yield the lines on which the proof or an answer may stand."""
        yield from (said.line for said in self.scene.block)
        yield from (answer.base.line for answer in self.answers)


def examine(scene: Scene) -> Examined:
    """Examine a proof."""
    own, answers = scene.own(), ask_all(scene)
    joined = [fact for answer in answers for fact in answer.facts]
    facts = tuple(dict.fromkeys((*own, *joined)))[:MOST_FACTS]
    absent = Absences(scene, (ABSENCE_OF[fact.type] for fact in joined if fact.type in ABSENCE_OF))
    return Examined(scene, own, answers, Examination(facts, absent))
