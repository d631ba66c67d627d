"""Reasoning: records and rules in, a diagnosis out.  It opens no file, reads no clock and uses no chance."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import permutations

from msgspec import Struct

from logdoctor.codes import explain_codes
from logdoctor.model import (
    CALM,
    Decision,
    Diagnosis,
    Evidence,
    Examinations,
    Finding,
    JobSummary,
    Line,
    Mechanism,
    Record,
    Rule,
    Verdict,
)
from logdoctor.model.catalogue import Catalogue
from logdoctor.reasoning.causality.arrows import explain
from logdoctor.reasoning.causality.failure_classes import FailureClasses
from logdoctor.reasoning.causality.roots import Ranking
from logdoctor.reasoning.causality.runs import Analysis, RunAnalysis, analyse, select_run, split_runs
from logdoctor.reasoning.dispatch import Dispatch
from logdoctor.reasoning.findings.conditions import Conditions
from logdoctor.reasoning.findings.match import find
from logdoctor.reasoning.findings.reason_line import proof_of
from logdoctor.reasoning.findings.symptoms import Matches, load_index
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.clocks import earliest
from logdoctor.reasoning.lifecycle.heartbeat import SILENCE, Listen
from logdoctor.reasoning.lifecycle.refutation import standing
from logdoctor.reasoning.processes import process_of
from logdoctor.reasoning.questions import ask_all, new_timeline
from logdoctor.reasoning.verdict.collective_state import collective_states
from logdoctor.reasoning.verdict.diagnosis import MAX_CAUSES, build_causes, build_harmless, build_symptoms
from logdoctor.reasoning.verdict.next_data import collect_for_cause, collect_for_end
from logdoctor.reasoning.verdict.rank_table import rank_rows
from logdoctor.reasoning.verdict.run_list import list_runs
from logdoctor.reasoning.verdict.suspects import find_suspects
from logdoctor.reasoning.verdict.verdict import collect_facts, verdict_of

__all__ = ["Reasoner"]

MAX_FAILURES = 2000
MAX_UNEXPLAINED = 8
NOT_EXAMINED: Examinations = {}


class Lead(Struct, frozen=True):
    """A finding, or a failure without a rule, that is worth a closer look at the lines around it."""

    rule: Rule | None
    record: Record
    """The decisive record."""
    proof: Line
    """The line of it that is quoted."""
    told: frozenset[tuple[str, int]]
    """File and number of the lines that any rule explains."""
    alike: tuple[Record, ...] = ()
    """Records of other processes with the same text and frames. The same answers hold for them."""


class Runs(Struct, frozen=True):
    """The runs of a log, and the analysis of the one that is reported."""

    runs: Sequence[RunAnalysis]
    selected: RunAnalysis | None
    analysis: Analysis


class Conclusions(Struct):
    """Answers of the questions, the matches with them, and the state of a job in which they are known."""

    derived: tuple[Record, ...]
    matches: Mapping[int, Mapping[str, Matches]]
    state: JobState
    runs: Runs | None = None
    """Cache of `Reasoner._analyse`."""


class Reasoner:
    """Diagnosis of one job, record by record.

    - ``scanned``: the symptoms, numbered over all rules, that the scan finds by their texts
    - ``hung``: the user reports that the job hangs
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        scanned: Collection[int],
        mechanism: Mechanism,
        *,
        hung: bool = False,
    ) -> None:
        self.rules, self.hung, self.classes = rules, hung, FailureClasses(mechanism)
        self.state = JobState()
        self._timeline = new_timeline()
        self._dispatch = Dispatch((*self.state.readers, self._timeline))
        self._index = load_index(rules, scanned)
        self._matches: dict[int, dict[str, Matches]] = {}
        """Matches by the rule's number and the symptom's name, without those of derived records."""
        self._concluded: Conclusions | None = None
        """Cache of `_conclusions`, cleared by each record."""
        self._failures: list[Record] = []
        self._latest_failures: deque[Record] = deque(maxlen=MAX_FAILURES)

    def observe(self, record: Record) -> None:
        self._concluded = None
        self._match(record, self._matches)  # first, so that a bug in the rest costs no proof
        if record.failing:
            few = len(self._failures) < MAX_FAILURES
            (self._failures if few else self._latest_failures).append(record.without_lines())
        self._dispatch(record)

    @property
    def quiet(self) -> bool:
        """Return whether no record fails and no rule holds."""
        return not self._failures and not (self.matches and self.findings()[0])

    @property
    def finished(self) -> bool:
        """Return whether the job said that it ended well."""
        return self.state.lives.program.well is not None

    @property
    def failures(self) -> Sequence[Record]:
        """Return the failures in reading order, those without harm among them."""
        return self._failures

    @property
    def derived(self) -> tuple[Record, ...]:
        """Return what the questions conclude from all records."""
        return self._conclusions.derived

    def silent_death_before(self, failure: Record) -> Record | None:
        """Return the first death as a launcher tells it, with an exit code, if ``failure`` is of another process."""
        died = self._conclusions.state.named_ends.first_death
        if died is None or died.fields["reporter"] == "itself" or "signal" in died.fields:
            return None
        return died if self.state.processes.rank_of(failure) != died.rank else None

    @property
    def matches(self) -> Mapping[int, Mapping[str, Matches]]:
        """Return the matches by the rule's number and the symptom's name."""
        return self._conclusions.matches

    @property
    def _conclusions(self) -> Conclusions:
        if self._concluded is None:
            self._concluded = self._conclude_from(tuple(ask_all(self._timeline, self.state)))
        return self._concluded

    def _conclude_from(self, derived: tuple[Record, ...]) -> Conclusions:
        matches = {rule: dict(by_symptom) for rule, by_symptom in self._matches.items()}
        for record in derived:
            self._match(record, matches)
        return Conclusions(derived, matches, self.state.knowing(derived))

    def knowing(self, examined: Iterable[Record]) -> Reasoner:
        """Return a reasoner that also knows these answers of the examination.

        Those count that tell something to all rules, and those for which a rule asks.
        """
        asked = tuple(e for e in examined if e.tells("values") or self._rules_matching(e))
        if not asked:
            return self
        reasoner = copy.copy(self)
        reasoner._concluded = self._conclude_from((*self._conclusions.derived, *asked))  # noqa: SLF001 - its own copy
        return reasoner

    def leading(self) -> list[Lead]:
        """Return the first causes, which are worth a closer look at the lines around them.

        Without a cause the first failure without a rule is.
        """
        with self._conclusions.state.processes.remembering():
            analysis = self._analyse().analysis
            causes = analysis.ranking.causes[:MAX_CAUSES]
            held = (*analysis.findings, *analysis.harmless.values())
            told = frozenset((r.line.file, r.line.number) for f in held for r in f.records)
            if causes:
                return [Lead(f.rule, f.records[0], proof_of(f).line, told, _alike(f)) for f in causes]
            left = self._without_findings(self._failures_without(analysis.harmless), analysis.findings)
            return [Lead(None, record, record.line, told) for record in left[:1]]

    def copy(self) -> Reasoner:
        """Return a reasoner that knows the same and learns on its own."""
        return copy.deepcopy(self, {id(shared): shared for shared in (self.rules, self._index)})

    def _match(self, record: Record, matches: dict[int, dict[str, Matches]]) -> None:
        process = process_of(record)
        for number, match in self._index.find_matches(record):
            rule, symptom = self._index.symptoms[number]
            by_symptom = matches.setdefault(rule, {})
            found = by_symptom.get(symptom.name)
            if found is None:
                by_symptom[symptom.name] = found = Matches()
            elif matches is not self._matches and found is self._matches.get(rule, {}).get(symptom.name):
                by_symptom[symptom.name] = found = found.copy()
            found.add(match, process)

    def conclude(
        self,
        job: str,
        words: Catalogue,
        *,
        read_in_part: bool = False,
        listen: Listen = lambda: SILENCE,
        examined: Examinations = NOT_EXAMINED,
    ) -> Diagnosis:
        """Return the diagnosis of all records. ``examined`` tells what the lines around the proofs show.

        It changes nothing, so it may be asked again after more records. ``listen`` returns the heartbeat; it is called
        if no rule names a cause. The caller adds coverage, problems and the decision. Only what to collect is in the
        decision already.
        """
        known = self._conclusions.state
        with known.processes.remembering():
            return self._conclude(job, words, listen, examined, read_in_part=read_in_part)

    def _analyse(self) -> Runs:
        concluded = self._conclusions
        if concluded.runs is None:
            conditions = Conditions(concluded.state, hung=self.hung)
            runs = split_runs(self.rules, self.classes, concluded.matches, conditions)
            selected = select_run(runs)
            whole = selected.analysis if selected else analyse(self.rules, self.classes, concluded.matches, conditions)
            concluded.runs = Runs(runs, selected, whole)
        return concluded.runs

    def _conclude(
        self, job: str, words: Catalogue, listen: Listen, examined: Examinations, *, read_in_part: bool
    ) -> Diagnosis:
        found, known = self._analyse(), self._conclusions.state
        selected, analysis = found.selected, found.analysis
        ranking, state = analysis.ranking, analysis.state
        all_failures = self._failures_without(())
        ignored = analysis.harmless.keys() | {e.order for e in all_failures if selected and selected.excludes(e)}
        failures = self._failures_without(ignored)
        left = self._without_findings(failures, analysis.findings)
        root = ranking.answer
        unexplained = [] if root else self._unexplained(left, listen, words.lang)
        doubted = next((proof_of(f).line for f in ranking.causes if not root), None)
        alarm = unexplained[0].line if unexplained else doubted
        lone = self._lone_wait
        facts = collect_facts(
            state,
            root,
            alarm,
            waits=lone.line if lone else None,
            hung=self.hung,
            read_in_part=read_in_part,
            survived=bool(failures),
            has_heartbeat=lambda: not all(map(state.lives.is_machine_log, listen().beats)),
        )
        verdict, known_by = verdict_of(facts)
        summary = self._summary(analysis, ranking, ignored, failures, verdict, truncated=read_in_part)
        suspects = find_suspects(state, summary.rank_table, words) if verdict == "unknown" else ()
        return Diagnosis(
            name=job,
            verdict=verdict,
            verdict_known_by=known_by,
            causes=build_causes(ranking, left, state, words, examined),
            symptoms=build_symptoms(ranking, state, words),
            harmless=build_harmless(analysis.harmless.values(), state, words),
            unexplained=tuple(unexplained),
            decision=Decision(
                collect=self._collect(verdict, failures, words),
                because=words("because.waits", call=lone.fields["function"]) if lone and known_by == lone.line else "",
            ),
            suspects=suspects,
            job=summary,
            runs=list_runs(found.runs, selected, all_failures, known, words.lang),
        )

    @property
    def _lone_wait(self) -> Record | None:
        """Return the stack of a process that waits for others, if no other process is seen."""
        return next((e for e in self._conclusions.derived if "alone" in e.fields), None)

    def _collect(self, verdict: Verdict, failures: Sequence[Record], words: Catalogue) -> tuple[str, ...]:
        if verdict == "unknown":
            others = (words("collect.other-stacks"),) if self._lone_wait else ()
            return (*others, *collect_for_cause(self._conclusions.state, next(iter(failures), None), words))
        return collect_for_end(self.state, words) if verdict == "no-end-seen" else ()

    def _summary(
        self,
        analysis: Analysis,
        ranking: Ranking,
        ignored: Collection[int],
        failures: Sequence[Record],
        verdict: Verdict,
        *,
        truncated: bool,
    ) -> JobSummary:
        state = analysis.state
        if verdict in CALM:
            return state.summary(None, failed=False, truncated=truncated)
        table = rank_rows(state, ranking, self.rules, analysis.matches, ignored)
        states = collective_states(self._timeline, state)
        return state.summary(earliest(failures), table, states, failed=bool(failures), truncated=truncated)

    def findings(self) -> tuple[list[Finding], Mapping[int, Finding]]:
        """Return the findings, and the records that benign rules explain."""
        return find(self.rules, self.matches, Conditions(self._conclusions.state, hung=self.hung))

    def unaccounted(self, without: Collection[str] = ()) -> list[Record]:
        """Return failure lines without a rule, in reading order.

        Lines that the job outlived are left out. Only rules that hold count. Rules of the roles in ``without`` do not
        count.
        """
        findings, harmless = self.findings()
        rules = {f.rule.id for f in (*findings, *harmless.values()) if f.rule.role not in without}
        failures = [e for e in self._failures_without(harmless) if rules.isdisjoint(self._rules_matching(e))]
        return standing(failures, self.state.lives)

    def undecided(self, findings: Sequence[Finding]) -> Iterator[tuple[Finding, Finding]]:
        """Yield pairs of one line between which only the length of the match decides, the winner first."""
        for a, b in permutations(findings, 2):
            why = explain(a, b, self.classes, self._conclusions.state) if a.rule.role == b.rule.role else None
            if why and why.law == "same line":
                yield a, b

    def _rules_matching(self, record: Record) -> set[str]:
        """Return the ids of the rules that the record matches."""
        return {self.rules[self._index.symptoms[number][0]].id for number, _ in self._index.find_matches(record)}

    def _failures_without(self, ignored: Collection[int]) -> list[Record]:
        """Return the failures in reading order, because records of machines are observed last."""
        failures = (e for e in (*self._failures, *self._latest_failures) if e.order not in ignored)
        return sorted(failures, key=lambda e: e.order)

    def _without_findings(self, failures: Sequence[Record], findings: Sequence[Finding]) -> list[Record]:
        """Return failures that are in no finding. Failures that the job outlived are left out."""
        explained = {e.order for f in findings for e in f.records}
        return standing([e for e in failures if e.order not in explained], self.state.lives)

    def _unexplained(self, left: Sequence[Record], listen: Listen, lang: str) -> list[Evidence]:
        """Return the first few failures without a rule as evidence.

        Fatal records and records of known formats come first.
        """
        alarms = standing(left, self.state.lives, listen()) if left else []
        ordered = sorted(alarms, key=lambda e: (e.level != "fatal", e.format == "generic", e.order))
        return [self.state.evidence(e, self._note(e, lang)) for e in ordered[:MAX_UNEXPLAINED]]

    def _note(self, record: Record, lang: str) -> str:
        """Return the meaning of the record's kind and codes."""
        return " ".join(filter(None, (record.note, explain_codes(record, lang))))


def _alike(finding: Finding) -> tuple[Record, ...]:
    first, *others = finding.records
    shown = (first.text, first.fields.get("frames"))
    return tuple(r for r in others if shown[1] and (r.text, r.fields.get("frames")) == shown)
