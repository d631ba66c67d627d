"""The runs of one log as the report lists them, each with its verdict."""

from __future__ import annotations

from collections.abc import Sequence

from logdoctor.model import Culprit, Record, Run
from logdoctor.reasoning.causality.runs import RunAnalysis
from logdoctor.reasoning.findings.reason_line import proof_of
from logdoctor.reasoning.findings.slots import FindingValues
from logdoctor.reasoning.findings.wording import fill_title
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.refutation import is_refuted
from logdoctor.reasoning.verdict.verdict import collect_facts, verdict_of


def list_runs(
    runs: Sequence[RunAnalysis],
    selected: RunAnalysis | None,
    failures: Sequence[Record],
    state: JobState,
    lang: str,
) -> tuple[Run, ...]:
    """Return all runs in log order. ``failures`` are the failing lines of all runs."""
    listed = []
    for run, following in zip(runs, (*runs[1:], None), strict=False):
        start = run.span.start.line if run.span.start else None
        end = following.span.start.line if following and following.span.start else None
        cause, of_run = run.cause, run.analysis.state
        alarm = None if cause else _first_unexplained(run, failures, state)
        facts = collect_facts(of_run, cause, alarm.line if alarm else None, in_run=run.contains)
        proof = proof_of(cause) if cause else alarm
        place = start or end
        listed.append(
            Run(
                kind=run.span.kind,
                verdict=verdict_of(facts)[0],
                signature=cause.rule.signature if cause else None,
                title=fill_title(cause.rule.say(lang).title, FindingValues(cause, lang, of_run)) if cause else "",
                file=place.file if place else "",
                first_line=start.number if start else 1,
                last_line=end.number - (not following.span.restarted) if end and following else None,
                told=selected is run,
                evidence=(state.evidence(proof),) if proof else (),
                culprit=cause.culprit if cause else Culprit(),
                last_progress=of_run.last_progress() if run.at_work else None,
            )
        )
    return tuple(listed)


def _first_unexplained(run: RunAnalysis, failures: Sequence[Record], state: JobState) -> Record | None:
    """Return the first failing line that no benign rule explains and that the run did not outlive."""
    own = (e for e in failures if run.contains(e) and e.order not in run.analysis.harmless)
    return next((e for e in own if is_refuted(e, state.lives, run.contains) is None), None)
