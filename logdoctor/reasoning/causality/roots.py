"""Roots: findings that no other finding explains, and what they explain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from logdoctor.model import Finding, Record
from logdoctor.reasoning.causality import lives
from logdoctor.reasoning.causality.arrows import Why, explain, sort_key
from logdoctor.reasoning.causality.claims import Case, Checked, check_claims, claims_of, find_doubt
from logdoctor.reasoning.causality.failure_classes import FailureClasses
from logdoctor.reasoning.findings.match import tell_of_all
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.refutation import Refutation, fell_back, is_refuted


class Explained(Struct, frozen=True):
    """A finding that is no root, the root that explains it, and why.

    ``by`` is None for a finding that is refuted or that no listed root explains.
    """

    finding: Finding
    by: Finding | None = None
    why: Why | None = None
    """Law by which ``by``, or a consequence of it, explains the finding."""
    refuted: Refutation | None = None
    """The reason why the job got over the finding."""


class Ranking(Struct, frozen=True):
    """Roots as causes, best first, and all other findings."""

    causes: tuple[Finding, ...]
    explained: tuple[Explained, ...]
    checked: Mapping[str, tuple[Checked, ...]] = field(default_factory=dict)
    """The checked claims of each cause, by the id of its rule."""

    @property
    def answer(self) -> Finding | None:
        """Return the first cause, if no line speaks against it."""
        return self.causes[0] if self.causes and not self.doubt(self.causes[0]) else None

    def doubt(self, cause: Finding) -> Checked | None:
        return find_doubt(self.checked.get(cause.rule.id, ()))


def rank_findings(
    findings: Sequence[Finding],
    classes: FailureClasses,
    state: JobState,
    run: Callable[[Record], bool] | None = None,
) -> Ranking:
    """Split ``findings`` into causes and consequences.

    With ``run``, only records that pass it show that a failure was survived.
    """
    refuted = {id(f): refutation for f in findings if (refutation := _refute(f, classes, state, run))}
    alive = [f for f in findings if id(f) not in refuted]
    whys = {(id(a), id(b)): why for b in alive for a in alive if (why := explain(a, b, classes, state))}
    roots = [f for f in alive if not any((id(other), id(f)) in whys for other in alive)] or alive
    for f in roots:  # a file server that answers again, and of which nothing came, is no cause beside another
        back = lives.find_recovery(f, state)
        if back and len(roots) > 1 and not any((id(f), id(other)) in whys for other in alive):
            refuted[id(f)] = Refutation(back, "newer state")
    roots = [f for f in roots if id(f) not in refuted] or roots
    checked = {f.rule.id: check_claims(Case(f, alive, classes, state)) for f in roots}
    roots = [f for f in roots if not find_doubt(checked[f.rule.id])] or roots  # doubted ones are only guesses
    causes = sorted(roots, key=lambda f: (_may_be_foreign(f, roots, state), sort_key(f)))
    rest = (f for f in findings if f not in causes)
    explained = tuple(_explained(f, causes, alive, whys, refuted.get(id(f))) for f in rest)
    whole = {id(f): tell_of_all(f, (e.finding for e in explained if e.by is f), state) for f in causes}
    explained = tuple(replace(e, by=whole[id(e.by)]) if e.by else e for e in explained)
    return Ranking(tuple(whole.values()), explained, checked=checked)


def _may_be_foreign(finding: Finding, roots: Sequence[Finding], state: JobState) -> bool:
    """Return whether a root that the job itself shows is the likelier cause."""
    return lives.is_of_earlier_day(finding, roots, state) or lives.is_snapshot_elsewhere(finding, state)


def _refute(
    finding: Finding, classes: FailureClasses, state: JobState, run: Callable[[Record], bool] | None
) -> Refutation | None:
    refutation, may_fall_back = is_refuted(finding, state.lives, run), "gave_up" in claims_of(finding, classes)
    if refutation is None and may_fall_back and run is None:
        return fell_back(finding, state.lives)
    if refutation is not None and may_fall_back and refutation.why == "worked on":
        return replace(refutation, why="fell back")
    return refutation


def _explained(
    finding: Finding,
    causes: Sequence[Finding],
    alive: Sequence[Finding],
    whys: Mapping[tuple[int, int], Why],
    refuted: Refutation | None,
) -> Explained:
    """Return the cause that explains the finding, at once or by one step between."""
    for cause in causes:
        if why := whys.get((id(cause), id(finding))):
            return Explained(finding, cause, why)
    for cause in causes:
        for between in alive:
            if (id(cause), id(between)) in whys and (why := whys.get((id(between), id(finding)))):
                return Explained(finding, cause, why)
    return Explained(finding, refuted=refuted)
