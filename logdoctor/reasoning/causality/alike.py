"""Ranks that show what the ranks of a cause show.

A rule may hold on one rank only because that rank was the first to give up, and the others were ended before. Another
rule of the signature then tells the same of all of them. Nobody of them stands apart.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from logdoctor.model import Culprit, Finding, Record, Reporters
from logdoctor.reasoning.findings.culprits import MOST_NAMED, is_everybody
from logdoctor.reasoning.findings.slots import OF_ONE
from logdoctor.reasoning.findings.speakers import is_told_by_other
from logdoctor.reasoning.findings.wording import mask_numbers
from logdoctor.reasoning.job_state import JobState


def speak_of_all(cause: Finding, followers: Iterable[Finding], state: JobState) -> Finding:
    """Return the cause with the ranks that show the same failure, as ``followers`` of its signature tell it."""
    culprit = cause.culprit
    if culprit.why != "own-mouth" or not culprit.ranks:
        return cause
    same = [f for f in followers if f.rule.signature == cause.rule.signature]
    ranks = {rank for f in same for rank in _alike(f, culprit.ranks, state)}.union(culprit.ranks)
    if len(ranks) == len(culprit.ranks):
        return cause
    ordered = tuple(sorted(ranks))
    values = {name: value for name, value in cause.values.items() if name not in OF_ONE}
    values |= {"rank": ordered, "ranks": ordered}
    return replace(cause, ranks=ordered, speakers=ordered, values=values, culprit=_blame(cause, ordered, state))


def _alike(finding: Finding, ranks: Iterable[int], state: JobState) -> set[int]:
    """Return the ranks whose lines differ from lines of ``ranks`` by their numbers only."""
    shapes: dict[str, set[int]] = {}
    for record in finding.records:
        if not is_told_by_other(record):
            shapes.setdefault(_shape(record), set()).update(state.places.ranks_of(record))
    return {rank for told in shapes.values() if told.intersection(ranks) for rank in told}


def _shape(record: Record) -> str:
    return f"{record.kind} {mask_numbers(record.text)}"


def _blame(cause: Finding, ranks: tuple[int, ...], state: JobState) -> Culprit:
    """Blame all of them for what took place inside them. What they see of others sets only their host apart."""
    culprit = replace(cause.culprit, hosts=state.places.hosts_with(ranks) or cause.culprit.hosts, probably=False)
    if cause.rule.side == "own":
        everybody = is_everybody(ranks, state)
        return replace(
            culprit, ranks=ranks, scope="all" if everybody else "some", why="all-alike" if everybody else "own-mouth"
        )
    hosts = culprit.hosts if len(culprit.hosts) == 1 < len(state.places.hosts) else ()
    known = bool(hosts or culprit.peers)
    reporters = Reporters(ranks[:MOST_NAMED], len(ranks))
    return replace(
        culprit,
        ranks=(),
        hosts=hosts,
        reporters=reporters,
        scope="one" if known else "not-told",
        why="own-mouth" if known else "only-reports",
    )
