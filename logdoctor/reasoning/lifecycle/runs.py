"""The runs of one log, each diagnosed by what it says itself, and which of them is told.

The last run that says why it failed is the one to tell: what failed before it was started again is over.  A run that
never got to work and only shows what failures look like from outside is the fallout of the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from logdoctor.model import Culprit, Finding, Record, Rule, Run, Verdict
from logdoctor.reasoning.causality.precedence import speaks_of_the_past
from logdoctor.reasoning.causality.ranking import Ranked, rank
from logdoctor.reasoning.findings.conditions import Conditions
from logdoctor.reasoning.findings.findings import Found, RuleHits, find
from logdoctor.reasoning.findings.wording import Told, fill
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.outlived import outlived_by_speaker
from logdoctor.reasoning.lifecycle.spans import Span


class Story(Struct, frozen=True):
    """What is told of the failure: what holds, and what is the cause of what."""

    state: JobState
    """The job's picture, with the progress, hosts and versions of the run that is told."""
    matches: Found
    findings: list[Finding]
    harmless: Mapping[int, Finding]
    """The events that benign rules account for."""
    ranked: Ranked


def story_of(rules: Sequence[Rule], matches: Found, conditions: Conditions) -> Story:
    """The story that these ``hits`` tell."""
    findings, harmless = find(rules, matches, conditions)
    return Story(conditions.state, matches, findings, harmless, rank(findings, conditions.state))


class Part(Struct, frozen=True):
    """What one run says: its story in the light of the whole job, and what is its cause by itself (``alone``)."""

    span: Span
    number: int
    story: Story
    alone: Ranked
    holds: Callable[[Record], bool]
    """Whether an event belongs to this run and no other."""
    of_others: Callable[[Record], bool]
    """Whether an event belongs to another run."""
    at_work: bool
    """Whether it made steps."""

    @property
    def speaks(self) -> bool:
        """Whether it says itself why it failed."""
        own = [f for f in self.story.ranked.causes if self._own(f)]
        if self.span.proved:  # a job of its own: whatever ended it ended no other
            return bool(own)
        early = (f for f in own if not speaks_of_the_past(f.records[0]))
        return any(self.at_work or f.rule.role == "cause" for f in early)

    def _own(self, finding: Finding) -> bool:
        return any(self.holds(e) for e in finding.records)

    def causes(self) -> list[Finding]:
        """Why it failed, as far as it says so itself."""
        return [f for f in self.alone.causes if self._own(f)]


def parts_of(rules: Sequence[Rule], matches: Found, conditions: Conditions) -> list[Part]:
    """The runs in the order of the log; none where there is only one."""
    attempts = conditions.state.runs
    spans = attempts.runs()
    known: dict[int, int | None] = {}

    def run_of(record: Record) -> int | None:
        if record.order not in known:
            known[record.order] = attempts.run_of(record, spans)
        return known[record.order]

    return [_part(rules, matches, conditions, run_of, span, number) for number, span in enumerate(spans)]


def _part(
    rules: Sequence[Rule],
    matches: Found,
    conditions: Conditions,
    run_of: Callable[[Record], int | None],
    span: Span,
    number: int,
) -> Part:
    def holds(record: Record) -> bool:
        return run_of(record) == number

    def of_others(record: Record) -> bool:
        return run_of(record) not in (None, number)

    def wanted(record: Record) -> bool:
        return not of_others(record)

    state = conditions.state.of_run(wanted)
    story = story_of(rules, dict(_restricted(matches, wanted)), Conditions(state, hung=conditions.hung))
    at_work = any(holds(e) for steps in state.steps.values() for e in (*steps.older, *steps.latest))
    return Part(span, number, story, rank(story.findings, state, holds), holds, of_others, at_work)


def _restricted(matches: Found, wanted: Callable[[Record], bool]) -> Iterator[tuple[int, RuleHits]]:
    for number, table in matches.items():
        kept = {name: left for name, h in table.items() if (left := h.only(wanted)).count}
        if kept:
            yield number, kept


def told_part(parts: Sequence[Part]) -> Part | None:
    """The run that is told, None for all together: no run says by itself why it failed."""
    return next((part for part in reversed(parts) if part.speaks), None)


def listed(
    parts: Sequence[Part], told: Part | None, failures: Sequence[Record], state: JobState, lang: str
) -> tuple[Run, ...]:
    """All runs with their verdicts, in the order of the log; ``failures`` are the failing lines of all of them."""
    return tuple(_listed(part, parts, told, failures, state, lang) for part in parts)


def _listed(
    part: Part, parts: Sequence[Part], told: Part | None, failures: Sequence[Record], state: JobState, lang: str
) -> Run:
    causes = part.causes()
    open_ends = () if causes else _open_ends(part, failures, state)
    verdict: Verdict = "failure" if causes else "unknown" if open_ends else "healthy"
    proof = causes[0].records[0] if causes else next(iter(open_ends), None)
    following = parts[part.number + 1].span if part.number + 1 < len(parts) else None
    start = part.span.start.line if part.span.start else None
    end = following.start.line if following and following.start else None
    return Run(
        kind=part.span.kind,
        verdict=verdict,
        signature=causes[0].rule.signature if causes else None,
        title=fill(causes[0].rule.say(lang).title, Told(causes[0], lang)) if causes else "",
        file=(start or end).file if start or end else "",  # type: ignore[union-attr]
        first_line=start.number if start else 1,
        last_line=end.number - (not following.restarted) if end and following else None,
        told=told is part,
        evidence=(state.evidence(proof),) if proof else (),
        culprit=causes[0].culprit if causes else Culprit(),
        last_progress=part.story.state.last_progress() if part.at_work else None,
    )


def _open_ends(part: Part, failures: Sequence[Record], state: JobState) -> tuple[Record, ...]:
    """The failing lines of the run that nothing accounts for and that it did not outlive."""
    own = (e for e in failures if part.holds(e) and e.order not in part.story.harmless)
    return tuple(e for e in own if not outlived_by_speaker(e, state, part.holds))
