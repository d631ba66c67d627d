"""The runs of one log, each with a diagnosis of its own.

One run is selected for the report. The last run that states why it failed is selected, because failures before a
restart are over. A run that made no steps, did not call its roll and shows only symptoms is a consequence of the run
before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from logdoctor.model import Finding, Record, Rule
from logdoctor.reasoning.causality.failure_classes import FailureClasses
from logdoctor.reasoning.causality.lives import is_late
from logdoctor.reasoning.causality.roots import Ranking, rank_findings
from logdoctor.reasoning.findings.conditions import Conditions
from logdoctor.reasoning.findings.match import MatchesByRule, find
from logdoctor.reasoning.job_state import JobState
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


class RunAnalysis(Struct, frozen=True):
    """Analysis of one run.

    - ``run_of`` gives the number of the run to which a record belongs, None if unknown
    - ``analysis`` uses all evidence except that of other runs
    - ``own_ranking`` counts a failure as survived only by evidence of this run
    - ``at_work``: the run made steps
    """

    number: int
    span: Span
    run_of: Callable[[Record], int | None]
    analysis: Analysis
    own_ranking: Ranking
    at_work: bool

    def contains(self, record: Record) -> bool:
        return self.run_of(record) == self.number

    def excludes(self, record: Record) -> bool:
        """Return whether a record belongs to another run."""
        return self.run_of(record) not in (None, self.number)

    @property
    def states_cause(self) -> bool:
        """Return whether records of this run show why it failed."""
        own = [f for f in self.analysis.ranking.causes if self._is_own(f)]
        early = (f for f in own if not is_late(f))
        return any(self.at_work or self.span.called or f.rule.role == "cause" for f in early)

    def _is_own(self, finding: Finding) -> bool:
        return any(map(self.contains, finding.records))

    @property
    def cause(self) -> Finding | None:
        """Return the first cause that records of this run show."""
        ranking = self.own_ranking
        return next((f for f in ranking.causes if self._is_own(f) and not ranking.doubt(f)), None)


def split_runs(
    rules: Sequence[Rule], classes: FailureClasses, matches: MatchesByRule, conditions: Conditions
) -> list[RunAnalysis]:
    """Return the analysis of each run in log order. The list is empty if there is only one run."""
    attempts = conditions.state.runs
    spans = attempts.runs()
    cache: dict[int, int | None] = {}

    def run_of(record: Record) -> int | None:
        if record.order not in cache:
            cache[record.order] = attempts.run_of(record, spans)
        return cache[record.order]

    def analyse_run(number: int, span: Span) -> RunAnalysis:
        def wanted(record: Record) -> bool:
            return run_of(record) in (None, number)

        def contains(record: Record) -> bool:
            return run_of(record) == number

        state = conditions.state.of_run(wanted)
        analysis = analyse(rules, classes, _filter(matches, wanted), Conditions(state, hung=conditions.hung))
        at_work = any(map(contains, state.steps.kept()))
        own_ranking = rank_findings(analysis.findings, classes, state, contains)
        return RunAnalysis(number, span, run_of, analysis, own_ranking, at_work)

    return [analyse_run(number, span) for number, span in enumerate(spans)]


def _filter(matches: MatchesByRule, wanted: Callable[[Record], bool]) -> MatchesByRule:
    filtered = {number: {name: m.filter(wanted) for name, m in table.items()} for number, table in matches.items()}
    left = {number: {name: m for name, m in table.items() if m.count} for number, table in filtered.items()}
    return {number: table for number, table in left.items() if table}


def select_run(runs: Sequence[RunAnalysis]) -> RunAnalysis | None:
    """Return the last run that states why it failed, else the last one if it failed as the run before.

    Return None if there is neither.
    """
    return next((run for run in reversed(runs) if run.states_cause), None) or _last_of_equal(runs)


def _last_of_equal(runs: Sequence[RunAnalysis]) -> RunAnalysis | None:
    """Return the last run if its workers were started again and failed in the same way as before."""
    shown = [run.cause.rule.signature if run.cause else "" for run in runs[-2:]]
    same = len(shown) > 1 and shown[0] == shown[1] != ""
    return runs[-1] if same and runs[-1].span.restarted else None
