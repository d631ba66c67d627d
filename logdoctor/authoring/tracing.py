"""A diagnosis and the way to it: matched lines, rules that held, unexplained lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from logdoctor.authoring.example_files import example_files
from logdoctor.model import Diagnosis, Finding, Job, Problem, Record
from logdoctor.pipeline.closer_look import look_closer
from logdoctor.pipeline.diagnosis import Analysis, JobReader
from logdoctor.pipeline.knowledge import Knowledge
from logdoctor.render.catalogue import catalogue


class Trace(Struct, frozen=True):
    """A diagnosis and its reasons.

    - ``matches``: rule id -> symptom -> records that match the symptom
    - ``unsolved``: the job failed, and no rule or only a catch-all names the cause
    - ``undecided``: pairs of findings of one line between which only the length of the match decides, the winner first
    - ``unaccounted``: the failure lines that no rule explains; if the job is unsolved, a catch-all does not count
    """

    diagnosis: Diagnosis
    findings: tuple[Finding, ...]
    harmless: tuple[Finding, ...]
    matches: Mapping[str, Mapping[str, Sequence[Record]]]
    undecided: tuple[tuple[Finding, Finding], ...]
    unsolved: bool
    unaccounted: tuple[Record, ...]
    problems: tuple[Problem, ...]


def trace(job: Job, knowledge: Knowledge, *, hung: bool = False) -> Trace:
    """Diagnose ``job`` by the rules alone. Raise `InputError` if nothing could be read."""
    reader = JobReader(job, knowledge)
    analysis = Analysis(reader, hung=hung)
    analysis.read_all()
    reasoner = analysis.observed().reasoner
    reasoner = reasoner.knowing(look_closer(reasoner, reader.excerpts).records())
    diagnosis = reasoner.conclude(job.name, catalogue("en"))
    findings, harmless = reasoner.findings()
    matches = {
        knowledge.rules[number].id: {name: [s.record for s in hits.all()] for name, hits in table.items()}
        for number, table in reasoner.matches.items()
    }
    benign = {f.rule.id: f for f in harmless.values()}
    unsolved = _unsolved(diagnosis, findings)
    rest = tuple(reasoner.unaccounted(("fallback",) if unsolved else ()))
    undecided = tuple(reasoner.undecided(findings))
    problems = tuple(reader.problems)
    return Trace(diagnosis, tuple(findings), tuple(benign.values()), matches, undecided, unsolved, rest, problems)


def _unsolved(diagnosis: Diagnosis, findings: Sequence[Finding]) -> bool:
    roles = {f.rule.id: f.rule.role for f in findings}
    answer = diagnosis.causes[0].rule if diagnosis.causes else ""
    return roles[answer] == "fallback" if answer else diagnosis.verdict == "unknown"


def trace_text(log: str, knowledge: Knowledge) -> Trace:
    """Trace a log that is given as text. The first line ``# hung`` marks a job that hangs."""
    job = Job("example", tuple(example_files(log)))
    return trace(job, knowledge, hung=log.startswith("# hung\n"))
