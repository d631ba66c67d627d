"""Laws over all cases of corpus/ and over the lab that makes them.

A diagnosis of a case must agree with its label, and with its approved answer.
``LOGDOCTOR_APPROVE=1 pytest tests/test_corpus.py`` writes the answers and golden reports anew.  Read what changed
before you commit it.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from corpus_cases import read_case
from rule_texts import BOOK

from logdoctor.model import Diagnosis, Do, Verdict, Who
from logdoctor.model.numbers import format_duration, format_size
from logdoctor.model.sentences import split_sentences
from logdoctor.render import languages, render
from logdoctor.render.catalogue import Catalogue, catalogue
from logdoctor.render.document import RenderOptions
from logdoctor.render.formats import markdown
from logdoctor.ruleset import shipped_rules
from logdoctor.ruleset.tables import VERDICTS, read_signatures

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "corpus"
CASES = sorted(p.parent for p in CORPUS.glob("*/case.yaml"))
APPROVE = bool(os.environ.get("LOGDOCTOR_APPROVE"))
KEYS = {"label", "title", "also", "culprit", "evidence", "made", "versions", "licence", "story", "hung", "expect"}
LABELS = {*read_signatures(shipped_rules() / "signatures.tsv", []), *VERDICTS}

sys.path.append(str(CORPUS / "lab"))
import approval  # noqa: E402 - the lab is a folder of scripts, no package
import truth  # noqa: E402
from experiment import experiments  # noqa: E402
from truth import faults  # noqa: E402

HELP = "help: if the new answer is right, run LOGDOCTOR_APPROVE=1 pytest tests/test_corpus.py -k {}"
EXPERIMENTS = tuple(experiments())
DOCUMENT = "".join(
    (ROOT / "logdoctor" / "render" / f"{name}.py").read_text("utf-8") for name in ("answer_document", "details")
)
NOT_IN_CORPUS = {"fault", "notread", "seen.beside", "seen.new", "do.hung"}
"""Words of sections that no case of corpus/ shows."""
SECTIONS = {
    *re.findall(r'_detail\("([\w.]+)"', DOCUMENT),
    *re.findall(r'Section\("[\w-]+", words\("([\w.]+)"', DOCUMENT),
} - NOT_IN_CORPUS
"""The keys of the words in the template of the report, such as ``fallout``."""
OUTCOMES = {key for key in catalogue("en").table if key.startswith("role.")} | {
    "unknown.line",
    "finished.at",
    "outlived",
    "end.step",
}
"""The keys of the parts of ranks, and of reports without a cause."""


class RecordingCatalogue(Catalogue, frozen=True):
    """Words of a language that note which keys are asked for."""

    keys: set[str] = msgspec.field(default_factory=set)

    def __call__(self, key: str, **places: object) -> str:
        self.keys.add(key)
        return super().__call__(key, **places)


GOLDEN = [(case, lang) for case in CASES for lang in approval.golden_reports(case)]


def param(case: Path, *values: str) -> object:
    """Put all tests of a case into one worker, to diagnose it once."""
    group = pytest.mark.xdist_group(f"corpus-{case.name}")
    return pytest.param(case, *values, id="-".join((case.name, *values)), marks=group)


over_all_cases = pytest.mark.xdist_group("corpus-all")
"""Put the laws over all cases into one worker, which diagnoses each case once for all of them."""

each_case = pytest.mark.parametrize("case", [param(case) for case in CASES])
each_golden_report = pytest.mark.parametrize(("case", "lang"), [param(case, lang) for case, lang in GOLDEN])


@functools.cache
def diagnose_case(case: Path, lang: str = "en") -> Diagnosis:
    return truth.diagnose_case(Path(case.name), read_case(case), lang)


@pytest.fixture(autouse=True)
def _in_the_corpus(monkeypatch):
    monkeypatch.chdir(CORPUS)


@each_case
def test_a_case_is_described_in_full(case):
    about = read_case(case)
    assert set(about) <= KEYS
    assert {about["label"], *about.get("also", [])} <= LABELS
    assert about["made"] in ("captured", "written")
    assert about["licence"] == "Apache-2.0"
    assert about["story"].strip()


@each_case
def test_diagnosis_of_a_case_agrees_with_its_label(case):
    assert faults(read_case(case), diagnose_case(case)) == []


@each_case
def test_diagnosis_of_a_case_equals_the_approved_answer(case):
    answer = approval.answer(diagnose_case(case), Path(case.name))
    if APPROVE:
        approval.write_answer(case, answer)
    if differences := approval.differences(approval.read_answer(case), answer):
        pytest.fail("\n  ".join([f"corpus/{case.name}/case.yaml", *differences, HELP.format(case.name)]), pytrace=False)


@each_case
def test_owner_frame_stands_in_the_log(case):
    for cause in diagnose_case(case).causes:
        assert cause.owner.who in get_args(Who)
        file, _, line = cause.owner.frame.rpartition(":")
        text = "\n".join(path.read_text("utf-8", "replace") for path in case.rglob("*") if path.is_file())
        assert not line or (file in text and line in text)


@over_all_cases
@each_case
def test_steps_ask_for_nothing_that_was_read_or_set(case):
    diagnosis = diagnose_case(case)
    read = {Path(source.file).name for source in diagnosis.coverage.inputs}
    for cause in diagnosis.causes:
        for step in cause.steps:
            words = {word.rpartition("/")[2] for command in step.commands for word in command.split()}
            assert not words & {name for name in read if name.endswith((".log", ".out", ".err"))}, step
            settings = re.findall(r"`([A-Z][A-Z0-9_]{3,})=([^`\s]+)`", step.text)
            assert not settings or {*settings} - {*diagnosis.job.environment}, step


def test_few_owners_are_not_told():
    answers = [answer for case in CASES if (answer := diagnose_case(case).answer)]
    assert sum(answer.owner.who == "not-told" for answer in answers) < 0.1 * len(answers)


@over_all_cases
def test_rule_that_no_case_shows_has_evidence():
    shown = {held.rule for case in CASES for held in (*diagnose_case(case).causes[:1], *diagnose_case(case).symptoms)}
    assert shown
    if bare := [rule.id for rule in BOOK.rules if rule.id not in shown and not rule.evidence]:
        where = 'a case to corpus/, or to the rule: evidence: "PROGRAM, FILE that prints the line, VERSION"'
        help_ = f"help: add {where} (other forms: docs/rules.md)"
        pytest.fail("\n  ".join(["rules that no case of corpus/ shows:", *bare, help_]), pytrace=False)


@each_golden_report
def test_report_of_a_case_equals_the_approved_report(case, lang):
    assert lang in languages()
    report, golden = render(diagnose_case(case, lang), "markdown", lang=lang), approval.golden_reports(case)[lang]
    if APPROVE:
        golden.write_text(report, "utf-8")
    assert report == golden.read_text("utf-8")


@pytest.mark.parametrize("lang", languages())
def test_golden_reports_show_every_section_and_outcome(lang):
    words = RecordingCatalogue(lang, catalogue(lang).table)
    for case, _ in (pair for pair in GOLDEN if pair[1] == lang):
        markdown.render(diagnose_case(case, lang), RenderOptions(words))
    assert (OUTCOMES | SECTIONS) - words.keys == set(), f"no golden report in {lang} shows this"


def test_golden_reports_show_every_verdict_decision_and_family():
    golden = [approval.read_answer(case) or {} for case, _ in GOLDEN]
    assert {answer["verdict"] for answer in golden} == {*get_args(Verdict)}
    assert {diagnose_case(case).decision.do for case, lang in GOLDEN if lang == "en"} == {*get_args(Do)}
    families = {name.partition(".")[0] for name in LABELS - {*VERDICTS}}
    assert {answer["signature"].partition(".")[0] for answer in golden if answer["signature"]} == families


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.case)
def test_experiment_has_truth_and_story(experiment):
    assert {experiment.label, *experiment.also} <= LABELS
    assert experiment.title.strip()
    assert experiment.story.strip()
    assert experiment.evidence or experiment.label in VERDICTS


def test_no_two_experiments_make_the_same_case():
    assert [case for case, count in Counter(e.case for e in EXPERIMENTS).items() if count > 1] == []


def test_captured_cases_and_experiments_of_the_lab_belong_together():
    captured = {c.name for c in CASES if read_case(c)["made"] == "captured"}
    assert captured <= {e.case for e in EXPERIMENTS}
    assert {e.case for e in EXPERIMENTS if not e.expected_wrong} <= captured


NUMBER = re.compile(r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+(?![\d,])|\d+(?:\.\d+)?)")
UNSHOWN = 26
"""Answers of which a number of the title or of the first sentence stands in no quoted line. The number may only fall."""


def shown_numbers(diagnosis: Diagnosis) -> set[str]:
    """Return the numbers of the quoted lines, and those that name the process and the job."""
    cause, job = diagnosis.causes[0], diagnosis.job
    lines = " ".join(f"{e.line.text} {e.line.file} {e.why}" for e in cause.evidence).replace(",", "")
    who = cause.culprit
    versions = (version for _, version in job.versions)
    names = (
        *who.reporters.ranks,
        cause.owner.frame,
        *versions,
        *who.ranks,
        *who.local_ranks,
        *who.pids,
        *who.hosts,
        *who.gpus,
        *who.peers,
        job.id,
        job.ranks_expected,
    )
    numbers = [float(n) for n in dict.fromkeys(re.findall(r"\d+(?:\.\d+)?", lines))]
    said = [format_duration(n * scale) for n in numbers for scale in (0.001, 1)]
    said += [format_size(round(n * scale)) for n in numbers for scale in (1, 1 << 10, 1 << 20)]
    text = f"{lines} {' '.join(said)} {' '.join(map(str, names))} {len(job.ranks_seen)}"
    return {*re.findall(r"\d+(?:\.\d+)?", text), *re.findall(r"\d+", text)}


@over_all_cases
def test_numbers_of_a_first_sentence_stand_in_a_quoted_line():
    untold = {}
    for case in CASES:
        diagnosis = diagnose_case(case)
        if not diagnosis.answer:
            continue
        told = f"{diagnosis.answer.title} {split_sentences(diagnosis.answer.summary)[:1]}"
        shown = shown_numbers(diagnosis)
        numbers = {part for found in NUMBER.findall(told) for part in (found.replace(",", ""), *found.split(","))}
        if missing := {n for n in numbers if n and n not in shown and n.replace(",", "") not in shown}:
            untold[case.name] = missing
    assert len(untold) <= UNSHOWN, untold
