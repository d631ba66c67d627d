"""The culprit as an answer shows it, and the values that its lines measured."""

from __future__ import annotations

from msgspec.structs import replace

from logdoctor.model import Culprit, Finding, Scope
from logdoctor.model.log import Scalar
from logdoctor.reasoning.findings.culprits import blamed
from logdoctor.reasoning.identity.places import Seat
from logdoctor.reasoning.job_state import JobState

MEASURED = ("exit_code", "signal", "exception", "pid", "xid", "limit", "rss", "wanted", "free", "reason")
"""Values of a finding that are facts of the failure."""


def culprit_of(finding: Finding, state: JobState) -> Culprit:
    """Return the culprit with its scope, and with what is known of the places of its ranks."""
    culprit = blamed(finding)
    if culprit.scope == "nobody":
        return culprit
    seats = state.places.seats()
    of_ranks = [seats.get(rank, Seat()) for rank in culprit.ranks]
    return replace(
        culprit,
        scope=_scope(culprit),
        local_ranks=tuple(dict.fromkeys(s.local_rank for s in of_ranks if s.local_rank is not None)),
        pids=tuple(dict.fromkeys(s.pid for s in of_ranks if s.pid is not None)),
    )


def _scope(culprit: Culprit) -> Scope:
    count = max(len(culprit.ranks), len(culprit.hosts))
    return "some" if count > 1 else "one" if count or culprit.gpus or culprit.peers else "not-told"


def measured_values(finding: Finding) -> tuple[tuple[str, Scalar], ...]:
    values = ((name, finding.values.get(name)) for name in MEASURED)
    return tuple((name, value) for name, value in values if isinstance(value, str | int | float) and value != "")
