"""A diagnosis with all that led to it: which symptoms were shown by which lines, which rules held, what was left."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

from msgspec import Struct

from logdoctor.diagnosis import JobReader, observe
from logdoctor.knowledge import Knowledge
from logdoctor.model import Diagnosis, Event, Finding, Job, Problem
from logdoctor.reasoning import Reasoner


class Trace(Struct, frozen=True):
    """A diagnosis and what it rests on.

    ``shown``: rule id -> symptom -> the lines that show it.  ``unsolved``: the job failed and no rule names the cause,
    or only a catch-all does.  ``unaccounted``: the failure lines that no rule knows, in an unsolved job those of a
    catch-all too.
    """

    diagnosis: Diagnosis
    findings: tuple[Finding, ...]
    harmless: tuple[Finding, ...]
    shown: Mapping[str, Mapping[str, Sequence[Event]]]
    unsolved: bool
    unaccounted: tuple[Event, ...]
    problems: tuple[Problem, ...]


def trace(job: Job, known: Knowledge, *, hung: bool = False) -> Trace:
    """Diagnose ``job`` by the rules alone.  Raises `InputError` where nothing could be read."""
    reasoner = Reasoner(known.rules, known.owners, hung=hung)
    reading = JobReader(job, known)
    for _ in observe(reading, reasoner):
        pass
    diagnosis = reasoner.conclude(job.name)
    findings, harmless = reasoner.findings()
    shown = {
        known.rules[number].id: {name: [s.event for s in hits.all()] for name, hits in table.items()}
        for number, table in reasoner.shown().items()
    }
    benign = {f.rule.id: f for f in harmless.values()}
    unsolved = _unsolved(diagnosis, findings)
    left = tuple(reasoner.unaccounted(("fallback",) if unsolved else ()))
    return Trace(diagnosis, tuple(findings), tuple(benign.values()), shown, unsolved, left, tuple(reading.problems))


def _unsolved(diagnosis: Diagnosis, findings: Sequence[Finding]) -> bool:
    roles = {f.rule.id: f.rule.role for f in findings}
    answer = diagnosis.causes[0].rule if diagnosis.causes else ""
    return roles[answer] == "fallback" if answer else diagnosis.verdict == "unknown"


def trace_text(log: str, known: Knowledge) -> Trace:
    """Trace a log that is at hand as text; ``# hung`` as its first line says that the job hangs."""
    job = Job("example", (io.BytesIO(log.encode("utf-8", "replace")),))
    return trace(job, known, hung=log.startswith("# hung\n"))
