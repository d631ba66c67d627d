"""Claims of answers, checked against the log.

Each check asks what must be true of the job if the answer is right. It is confirmed or contradicted by a line, or the
log does not show it. Failure classes have claims, and a rule may add its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from logdoctor.model import Claim, ClaimName, Finding, Record, Tell
from logdoctor.model.numbers import number
from logdoctor.reasoning.causality import lives
from logdoctor.reasoning.causality.failure_classes import FailureClasses
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.ends import End, end_of

Holds = Literal["confirmed", "not-shown", "contradicted"]
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
CALL_FIELDS = ("pg", "op", "seq")
DECISIVE: frozenset[ClaimName] = frozenset({"first"})
"""Claims whose contradiction shows a wrong answer, see docs/accuracy.md."""
OF_OTHERS: tuple[Tell, ...] = ("about peers", "about order")
"""Subjects of ends that other processes brought about."""
PLAIN_TEXT = "generic"
"""Format of lines that anybody may print."""


class Checked(Struct, frozen=True):
    """A claim with its outcome, and the line that shows it."""

    claim: Claim
    holds: Holds
    record: Record | None = None


def find_doubt(checks: Sequence[Checked]) -> Checked | None:
    """Return the claim whose contradiction speaks so much against an answer that it is no cause."""
    return next((c for c in checks if c.holds == "contradicted" and c.claim.name in DECISIVE), None)


Outcome = tuple[Holds, Record | None]
NOT_SHOWN: Outcome = ("not-shown", None)


class Case(Struct, frozen=True):
    """A finding among the others of the job."""

    finding: Finding
    others: Sequence[Finding]
    classes: FailureClasses
    state: JobState

    @property
    def proof(self) -> Record:
        return self.finding.records[0]

    @property
    def ranks(self) -> set[int]:
        """Return the ranks of the culprit, else the only rank that shows the failure."""
        return set(self.finding.culprit.ranks or (self.finding.ranks if len(self.finding.ranks) == 1 else ()))

    def own_ends(self) -> list[End]:
        """Return the ends of the process that the finding is of."""
        pids = {e.pid for e in self.finding.records if e.pid is not None}
        told = [end for end in self.state.ends() if self._is_own(end.record, pids)]
        return [*(end for e in self.finding.records if (end := end_of(e)).signal is not None), *told]

    def _is_own(self, record: Record, pids: set[int]) -> bool:
        rank = self.state.processes.rank_of(record)
        known = rank is not None and bool(self.ranks)
        return rank in self.ranks if known else record.pid in pids or record.order == self.proof.order

    def failures_elsewhere(self) -> Iterable[Finding]:
        """Return the findings that took place inside another process."""
        own = (f for f in self.others if self.classes.of(f).side == "own" and f.rule.role == "cause")
        return (f for f in own if self.state.processes.same(self.finding, f) == "no")


def check_claims(case: Case) -> tuple[Checked, ...]:
    """Check the claims of the finding's class and of its rule. A claim of the rule replaces that of the class."""
    claims = claims_of(case.finding, case.classes).values()
    return tuple(Checked(claim, *CHECKS[claim.name](case, claim.wanted)) for claim in claims)


def claims_of(finding: Finding, classes: FailureClasses) -> dict[ClaimName, Claim]:
    return {claim.name: claim for claim in (*classes.of(finding).claims, *finding.rule.claims)}


def _ended(case: Case, wanted: str) -> Outcome:
    numbers = {n % 128 for text in wanted.split("|") if (n := number(text)) is not None} if wanted else set[int]()
    told = [end for end in case.own_ends() if end.signal is not None or end.code is not None or end.exception]
    fitting = (end for end in told if (end.signal in numbers if numbers else not end.is_well))
    if fits := next(fitting, None):
        return "confirmed", fits.record
    other = next((end for end in told if end.signal is not None or end.code is not None), None)
    return ("contradicted", other.record) if other else NOT_SHOWN


def _uncaught(case: Case, _: str) -> Outcome:
    ends = case.own_ends()
    failed = next((end for end in ends if end.exception or end.code or end.signal), None)
    well = next((end for end in ends if end.is_well), None)
    if failed:
        return "confirmed", failed.record
    return ("contradicted", well.record) if well else NOT_SHOWN


def _gave_up(case: Case, _: str) -> Outcome:
    """Check that an end came of it. If the program worked on instead, the finding is refuted and no answer."""
    bad = (end.record for end in case.state.ends() if not end.is_well)
    end = next((record for record in bad if not case.state.surely_after(case.proof, record)), None)
    return ("confirmed", end) if end else NOT_SHOWN


def _first(case: Case, _: str) -> Outcome:
    """Check that no other process failed by itself before.

    The ends of processes count too, because no rule may know their reason.
    """
    inside = [f.records[0] for f in case.failures_elsewhere()]
    own_failures = (end.record for end in case.state.ends() if _is_own_failure(end))
    ends = [e for e in own_failures if case.state.processes.same(e, case.finding) == "no"]
    if earlier := next((e for e in (*inside, *ends) if case.state.surely_after(case.proof, e)), None):
        return "contradicted", earlier
    later = next((e for e in inside if case.state.surely_after(e, case.proof)), None)
    return ("confirmed", later) if later else NOT_SHOWN


def _is_own_failure(end: End) -> bool:
    """Return whether a process surely did not end because of others."""
    if end.signal is not None:
        return end.signal in lives.FAULTS
    told = end.record.reports_end_of_other or any(map(end.record.tells, OF_OTHERS))
    return bool(end.exception) and not told


def _others(case: Case, _: str) -> Outcome:
    died = case.state.named_ends.first_death
    lines = [e.line for e in case.finding.records]
    if died is not None and died.rank is not None and case.ranks and died.line not in lines:
        return ("contradicted" if died.rank in case.ranks else "confirmed"), died
    earlier = (f.records[0] for f in case.failures_elsewhere() if case.state.surely_after(case.proof, f.records[0]))
    record = next(earlier, None)
    return ("confirmed", record) if record else NOT_SHOWN


def _waited(case: Case, _: str) -> Outcome:
    waiting = [e for e in case.finding.records if e.has("waits") or e.has("gives up")]
    if not waiting:
        return NOT_SHOWN
    culprits = case.finding.culprit.ranks
    for record in waiting:
        if case.state.processes.rank_of(record) in culprits:
            return "contradicted", record
    return "confirmed", waiting[0]


def _call(case: Case, _: str) -> Outcome:
    agreed = False
    for name in CALL_FIELDS:
        values = [(e.fields[name], e) for e in case.finding.records if name in e.fields]
        if other := next((e for value, e in values if value != values[0][0]), None):
            return "contradicted", other
        agreed = agreed or len(values) > 1
    return ("confirmed", case.proof) if agreed else NOT_SHOWN


def _peer(case: Case, _: str) -> Outcome:
    processes, culprit = case.state.processes, case.finding.culprit
    hosts = {case.state.processes.host_at(peer) for peer in culprit.peers} - {None, processes.host_of(case.proof)}
    ranks = {rank for host in hosts if host for rank in processes.ranks_on(host)}
    for end in case.state.ends():
        if processes.rank_of(end.record) in ranks or (hosts and processes.host_of(end.record) in hosts):
            return "confirmed", end.record
    steps = (step for rank, step in case.state.steps.by_rank().items() if rank in ranks)
    later = next((step for step in steps if case.state.surely_after(step, case.finding.latest)), None)
    return ("contradicted", later) if later else NOT_SHOWN


def _same_place(place: Callable[[Case, Record], object]) -> Check:
    """Return a check that failures inside processes or devices lie at the place of the finding."""

    def check(case: Case, _: str) -> Outcome:
        own = {place(case, e) for e in case.finding.records} - {None}
        rest = (f for f in case.others if f is not case.finding and case.classes.of(f).side == "own")
        found = [(where, f.records[0]) for f in rest if (where := place(case, f.records[0])) is not None]
        if not own or not found:
            return NOT_SHOWN
        here = next((record for where, record in found if where in own), None)
        return ("confirmed", here) if here else ("contradicted", found[0][1])

    return check


def _told(case: Case, _: str) -> Outcome:
    proof = case.proof
    if proof.has("is ended", "job") or proof.tells("reason") or proof.reports_end_of_other:
        return "confirmed", case.proof
    return ("contradicted", proof) if proof.format == PLAIN_TEXT else NOT_SHOWN


def _time(case: Case, wanted: str) -> Outcome:
    limit, spans = float(wanted[:-1]) * UNITS[wanted[-1]], case.state.lives.times
    time = case.proof.time
    span = spans.get(False) if len(spans) == 1 and False in spans else spans.get(True)
    if time is None or span is None:
        return NOT_SHOWN
    return "confirmed" if span[0] - limit <= time <= span[1] + limit else "contradicted", case.proof


Check = Callable[[Case, str], Outcome]
CHECKS: Mapping[ClaimName, Check] = {
    "ended": _ended,
    "uncaught": _uncaught,
    "gave_up": _gave_up,
    "first": _first,
    "others": _others,
    "waited": _waited,
    "call": _call,
    "peer": _peer,
    "device": _same_place(lambda _, record: record.fields.get("bus_id")),
    "host": _same_place(lambda case, record: case.state.processes.host_of(record)),
    "told": _told,
    "time": _time,
}
