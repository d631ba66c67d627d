"""The lines above and below the evidence, from the excerpts of the logs, for reports that show them."""

from __future__ import annotations

from msgspec.structs import replace

from logdoctor.model import Cause, Diagnosis, Evidence, Line, SymptomSeen
from logdoctor.pipeline.excerpts import Excerpts


def add_context(diagnosis: Diagnosis, excerpts: Excerpts, lines: int) -> Diagnosis:
    """Add up to ``lines`` lines around each evidence, as far as they were kept."""

    def add_around(evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
        return tuple(_add_lines(e, excerpts, lines) for e in evidence)

    def with_cause_lines(cause: Cause) -> Cause:
        return replace(cause, evidence=add_around(cause.evidence))

    def with_symptom_lines(symptom: SymptomSeen) -> SymptomSeen:
        return replace(symptom, evidence=add_around(symptom.evidence))

    return replace(
        diagnosis,
        causes=tuple(map(with_cause_lines, diagnosis.causes)),
        unexplained=add_around(diagnosis.unexplained),
        symptoms=tuple(map(with_symptom_lines, diagnosis.symptoms)),
    )


def _add_lines(evidence: Evidence, excerpts: Excerpts, lines: int) -> Evidence:
    near = excerpts.around(evidence.line, lines, lines)
    if not any(line.number == evidence.line.number for line in near):
        return evidence
    around = [Line(line.file, line.number, line.text.rpartition("\r")[2].rstrip()) for line in near]
    while not around[-1].text and around[-1].number > evidence.line.number:
        around.pop()
    return replace(evidence, around=tuple(around))
