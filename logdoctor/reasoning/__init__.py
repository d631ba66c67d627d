"""Reasoning: events and rules in, a ranked conclusion out.  It opens no file, reads no clock and draws on no chance."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence

from logdoctor.codes import explain_codes
from logdoctor.model import Diagnosis, Evidence, Finding, Record, Rule, Verdict
from logdoctor.reasoning.causality.ties import Prefer, broken
from logdoctor.reasoning.detectors import detectors
from logdoctor.reasoning.findings.conditions import Conditions
from logdoctor.reasoning.findings.findings import find
from logdoctor.reasoning.findings.symptoms import Matches, index_of
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.outlived import not_outlived
from logdoctor.reasoning.lifecycle.runs import listed, parts_of, story_of, told_part
from logdoctor.reasoning.verdict.collective_state import standings_of
from logdoctor.reasoning.verdict.diagnosis import causes_of, symptoms_of
from logdoctor.reasoning.verdict.next_data import advise
from logdoctor.reasoning.verdict.rank_table import RankTable

__all__ = ["Reasoner"]

FAILURES_KEPT = 2000
UNEXPLAINED_SHOWN = 8


class Reasoner:
    """Takes the events of one job as they stream by, and concludes.

    ``owners[p]`` are the symptoms (numbered over all rules) that the scan's pattern ``p`` stands for.  ``hung``: the
    user says that the job hangs.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        owners: Sequence[Sequence[int]],
        *,
        hung: bool = False,
    ) -> None:
        """Start with no event seen."""
        self.rules, self.hung = rules, hung
        self.state = JobState()
        self._ledgers, self._table = detectors(), RankTable()
        self._index = index_of(rules, owners)
        self._hits: dict[int, dict[str, Matches]] = {}
        self._failures: list[Record] = []
        self._latest_failures: deque[Record] = deque(maxlen=FAILURES_KEPT)

    def observe(self, record: Record) -> None:
        """Take one event in."""
        self.state.observe(record)
        self._table.observe(record, self.state.runs.span_of(record))
        for detector in self._ledgers:
            detector.observe(record)
        self._match(record)
        if record.failing:
            few = len(self._failures) < FAILURES_KEPT
            (self._failures if few else self._latest_failures).append(record.without_lines())

    @property
    def quiet(self) -> bool:
        """Whether nothing that was observed reads as a failure, and no rule holds."""
        return not self._failures and not (self._hits and self.findings()[0])

    def _match(self, record: Record) -> None:
        for number, shown in self._index.shown_by(record):
            rule, symptom = self._index.symptoms[number]
            of_rule = self._hits.setdefault(rule, {})
            if symptom.name not in of_rule:
                of_rule[symptom.name] = Matches()
            of_rule[symptom.name].add(shown)

    def conclude(
        self, job: str, lang: str = "en", *, truncated: bool = False, prefer: Prefer = lambda _: None
    ) -> Diagnosis:
        """The diagnosis of all that was observed (coverage and problems are for the caller to add).

        ``prefer`` is asked where the logs do not decide between causes.
        """
        derived = [record for detector in self._ledgers for record in detector.derive(self.state)]
        for record in derived:
            self._match(record)
            self.state.named_ends.learn(record)
        conditions = Conditions(self.state, hung=self.hung)
        parts = parts_of(self.rules, self._hits, conditions)
        told = told_part(parts)
        story = told.story if told else story_of(self.rules, self._hits, conditions)
        ranked, state = broken(story.ranked, prefer), story.state
        everything = self._failing(())
        apart = story.harmless.keys() | {e.order for e in everything if told and told.of_others(e)}
        failures = self._failing(apart)
        left = self._left(failures, story.findings)
        unexplained = [] if ranked.causes else self._unexplained(left, lang)
        verdict: Verdict = "failure" if ranked.causes else "unknown" if unexplained or self.hung else "healthy"
        if verdict == "healthy":
            summary = state.summary(None, truncated=truncated)
        else:
            table = self._table.rows(state, ranked, self.rules, story.matches, apart)
            standings = tuple(s for detector in self._ledgers for s in standings_of(detector, self.state))
            summary = state.summary(next(iter(failures), None), table, standings, truncated=truncated)
        return Diagnosis(
            job=job,
            verdict=verdict,
            causes=causes_of(ranked, left, state, lang),
            symptoms=symptoms_of(ranked, state, lang),
            unexplained=tuple(unexplained),
            advice=advise(self.state, next(iter(failures), None), lang) if verdict == "unknown" else (),
            job_summary=summary,
            runs=listed(parts, told, everything, self.state, lang),
        )

    def findings(self) -> tuple[list[Finding], Mapping[int, Finding]]:
        """Every rule that holds, and the events that benign rules account for; whole after `conclude`."""
        return find(self.rules, self._hits, Conditions(self.state, hung=self.hung))

    def shown(self) -> Mapping[int, Mapping[str, Matches]]:
        """The events that showed each symptom, by the rule's number and the symptom's name; whole after `conclude`."""
        return self._hits

    def unaccounted(self, without: Collection[str] = ()) -> list[Record]:
        """The failure lines that no rule that holds knows and that the job did not outlive, in reading order.

        Rules of the roles in ``without`` do not count.
        """
        findings, harmless = self.findings()
        held = {f.rule.id for f in (*findings, *harmless.values()) if f.rule.role not in without}
        unknown = [e for e in self._failing(harmless) if held.isdisjoint(self._rules_on(e))]
        return not_outlived(unknown, self.state)

    def _rules_on(self, record: Record) -> set[str]:
        """The ids of the rules of which ``event`` shows a symptom."""
        return {self.rules[self._index.symptoms[number][0]].id for number, _ in self._index.shown_by(record)}

    def _failing(self, harmless: Collection[int]) -> list[Record]:
        return [e for e in (*self._failures, *self._latest_failures) if e.order not in harmless]

    def _left(self, failures: Sequence[Record], findings: Sequence[Finding]) -> list[Record]:
        """The failures that no rule accounts for and that the job did not outlive."""
        taken = {e.order for f in findings for e in f.records}
        return not_outlived([e for e in failures if e.order not in taken], self.state)

    def _unexplained(self, left: Sequence[Record], lang: str) -> list[Evidence]:
        """Their lines, the loudest first."""
        loudest = sorted(left, key=lambda e: (e.level != "fatal", e.format == "generic", e.order))
        return [self.state.evidence(e, self._note(e, lang)) for e in loudest[:UNEXPLAINED_SHOWN]]

    def _note(self, record: Record, lang: str) -> str:
        """What the line means in plain words: its kind, and the codes in it."""
        return " ".join(filter(None, (record.note, explain_codes(record, lang))))
