"""The runs of one log, each with a diagnosis of its own.

One run is selected for the report. The last run that states why it failed is selected, because failures before a
restart are over. A run that made no steps and shows only symptoms is a consequence of the run before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from logdoctor.model import Culprit, Finding, Record, Rule, Run, Verdict
from logdoctor.reasoning.causality.failure_classes import FailureClasses
from logdoctor.reasoning.causality.lives import is_late_report
from logdoctor.reasoning.causality.roots import Ranking, rank_findings
from logdoctor.reasoning.findings.conditions import Conditions
from logdoctor.reasoning.findings.findings import MatchesByRule, MatchesBySymptom, find
from logdoctor.reasoning.findings.slots import FindingValues
from logdoctor.reasoning.findings.wording import fill_title
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.refutation import is_refuted
from logdoctor.reasoning.lifecycle.spans import Span


class Analysis(Struct, frozen=True):
    """Findings of a job or a run, with causes and consequences."""

    state: JobState
    """State of the job, with the progress, hosts and versions of the analysed run."""
    matches: MatchesByRule
    findings: list[Finding]
    harmless: Mapping[int, Finding]
    """Records that benign rules explain, by `Record.order`."""
    ranking: Ranking


def analyse(rules: Sequence[Rule], classes: FailureClasses, matches: MatchesByRule, conditions: Conditions) -> Analysis:
    """Find the rules that hold, and their causes and consequences."""
    findings, harmless = find(rules, matches, conditions)
    return Analysis(conditions.state, matches, findings, harmless, rank_findings(findings, classes, conditions.state))


Judge = Callable[["RunAnalysis", Finding | None, Record | None], Verdict]
"""Function that gives the verdict of a run, from its cause and its first failure without a cause."""


class RunAnalysis(Struct, frozen=True):
    """Analysis of one run.

    - ``analysis`` uses all evidence except that of other runs
    - ``own_ranking`` counts a failure as survived only by evidence of this run
    """

    span: Span
    number: int
    analysis: Analysis
    own_ranking: Ranking
    contains: Callable[[Record], bool]
    """Test whether a record belongs to this run."""
    excludes: Callable[[Record], bool]
    """Test whether a record belongs to another run."""
    at_work: bool
    """True if the run made steps."""

    @property
    def states_cause(self) -> bool:
        """Return whether records of this run show why it failed."""
        own = [f for f in self.analysis.ranking.causes if self._is_own(f)]
        if self.span.proved:  # another job for certain, so its end follows from no other run
            return bool(own)
        early = (f for f in own if not is_late_report(f.records[0]))
        return any(self.at_work or f.rule.role == "cause" for f in early)

    def _is_own(self, finding: Finding) -> bool:
        return any(self.contains(e) for e in finding.records)

    def causes(self) -> list[Finding]:
        """Return the causes that records of this run show."""
        return [f for f in self.own_ranking.causes if self._is_own(f) and not self.own_ranking.is_doubted(f)]


def split_runs(
    rules: Sequence[Rule], classes: FailureClasses, matches: MatchesByRule, conditions: Conditions
) -> list[RunAnalysis]:
    """Return the analysis of each run in log order.

    The list is empty if there is only one run.
    """
    attempts = conditions.state.runs
    spans = attempts.runs()
    cache: dict[int, int | None] = {}

    def run_of(record: Record) -> int | None:
        if record.order not in cache:
            cache[record.order] = attempts.run_of(record, spans)
        return cache[record.order]

    return [
        _analyse_run(rules, classes, matches, conditions, run_of, span, number) for number, span in enumerate(spans)
    ]


def _analyse_run(
    rules: Sequence[Rule],
    classes: FailureClasses,
    matches: MatchesByRule,
    conditions: Conditions,
    run_of: Callable[[Record], int | None],
    span: Span,
    number: int,
) -> RunAnalysis:
    def contains(record: Record) -> bool:
        return run_of(record) == number

    def excludes(record: Record) -> bool:
        return run_of(record) not in (None, number)

    def wanted(record: Record) -> bool:
        return not excludes(record)

    state = conditions.state.of_run(wanted)
    analysis = analyse(rules, classes, dict(_filter_matches(matches, wanted)), Conditions(state, hung=conditions.hung))
    at_work = any(contains(e) for work in state.lives.works(None) for e in work.newest_first())
    own_ranking = rank_findings(analysis.findings, classes, state, contains)
    return RunAnalysis(span, number, analysis, own_ranking, contains, excludes, at_work)


def _filter_matches(matches: MatchesByRule, wanted: Callable[[Record], bool]) -> Iterator[tuple[int, MatchesBySymptom]]:
    for number, table in matches.items():
        rest = {name: left for name, m in table.items() if (left := m.filter(wanted)).count}
        if rest:
            yield number, rest


def select_run(runs: Sequence[RunAnalysis]) -> RunAnalysis | None:
    """Return the last run that states why it failed.

    Return None if no run does.
    """
    return next((run for run in reversed(runs) if run.states_cause), None)


def list_runs(
    runs: Sequence[RunAnalysis],
    selected: RunAnalysis | None,
    failures: Sequence[Record],
    state: JobState,
    judge: Judge,
    lang: str,
) -> tuple[Run, ...]:
    """Return all runs with their verdicts in log order.

    ``failures`` are the failing lines of all runs.
    """
    return tuple(_describe(run, runs, selected, failures, state, judge, lang) for run in runs)


def _describe(
    run: RunAnalysis,
    runs: Sequence[RunAnalysis],
    selected: RunAnalysis | None,
    failures: Sequence[Record],
    state: JobState,
    judge: Judge,
    lang: str,
) -> Run:
    causes = run.causes()
    first_unexplained = None if causes else next(iter(_unexplained(run, failures, state)), None)
    proof = causes[0].records[0] if causes else first_unexplained
    following = runs[run.number + 1].span if run.number + 1 < len(runs) else None
    start = run.span.start.line if run.span.start else None
    end = following.start.line if following and following.start else None
    return Run(
        kind=run.span.kind,
        verdict=judge(run, causes[0] if causes else None, first_unexplained),
        signature=causes[0].rule.signature if causes else None,
        title=fill_title(causes[0].rule.say(lang).title, FindingValues(causes[0], lang, run.analysis.state))
        if causes
        else "",
        file=(start or end).file if start or end else "",  # type: ignore[union-attr]
        first_line=start.number if start else 1,
        last_line=end.number - (not following.restarted) if end and following else None,
        told=selected is run,
        evidence=(state.evidence(proof),) if proof else (),
        culprit=causes[0].culprit if causes else Culprit(),
        last_progress=run.analysis.state.last_progress() if run.at_work else None,
    )


def _unexplained(run: RunAnalysis, failures: Sequence[Record], state: JobState) -> tuple[Record, ...]:
    """Return failing lines that no benign rule explains.

    Lines that the run outlived are left out.
    """
    own = (e for e in failures if run.contains(e) and e.order not in run.analysis.harmless)
    return tuple(e for e in own if is_refuted(e, state.lives, run.contains) is None)
