"""Conditions of the rows of decisions.tsv and defects.tsv."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from logdoctor.model import Cause, Diagnosis, JobSummary


def row_holds(when: str, cause: Cause, diagnosis: Diagnosis) -> bool:
    """Return whether all conditions of a row hold. Without a condition it always holds."""
    return not when or all(_is_true(term, cause, diagnosis) for term in when.split("&"))


def _is_true(term: str, cause: Cause, diagnosis: Diagnosis) -> bool:
    """Return whether one condition of a row holds. A name without a value asks for any but 0, which is off."""
    job = diagnosis.job
    hosts = {*job.hosts, *cause.culprit.hosts}
    match term:
        case "checkpoint":
            return job.last_checkpoint is not None
        case "progress":
            return did_work(job)
        case "one-host":
            return len(hosts) <= 1
        case "one-host-of-many":
            return bool(cause.culprit.hosts) and len(hosts) > 1 and not are_most(cause.culprit.hosts, hosts)
    name, equals, wanted = term.partition("=")
    told = [value.casefold() for value in _values_of(name, cause, diagnosis)]
    if name == "says":
        return any(word in line for line in told for word in wanted.split(","))
    return any(value in wanted.casefold().split(",") for value in told) if equals else bool({*told} - {"", "0"})


def _values_of(name: str, cause: Cause, diagnosis: Diagnosis) -> Iterator[str]:
    """Yield the values of a name: a measured value, a setting of the job, a fact, the owner or a frame."""
    yield from (str(value) for key, value in cause.values if key == name)
    yield from (value for key, value in diagnosis.job.environment if key == name)
    yield from (str(fact.value) for fact in cause.facts if f"{fact.type}.{fact.role}" == name)
    if name == "owner":
        yield cause.owner.who
    if name == "frame":
        yield cause.owner.frame
    if name == "says":
        yield from proof_lines(diagnosis)


def proof_lines(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield the lines that prove the answer, without the line of the last progress."""
    progress = diagnosis.job.last_progress
    for evidence in diagnosis.causes[0].evidence:
        if progress is None or evidence.line != progress.evidence.line:
            yield evidence.line.text


def are_most(blamed: Collection[str], hosts: Collection[str]) -> bool:
    """Return whether ``blamed`` are more than half of several hosts."""
    return len(hosts) > 1 and len(blamed) * 2 > len(hosts)


def did_work(job: JobSummary) -> bool:
    """Return whether the job did a step, so that it did not fail at its start.

    Collectives alone show no step, because one step may take hundreds of them.
    """
    stepped = job.last_progress is not None and job.last_progress.value.partition("/")[0].strip("0.")
    return bool(stepped) or job.last_checkpoint is not None
