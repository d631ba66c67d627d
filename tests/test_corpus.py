"""Laws over all cases of corpus/ and over the lab that makes them.

Of a case the label is found with its culprit and its proof, and the report is the approved one.
``LOGDOCTOR_APPROVE=1 pytest tests/test_corpus.py`` writes the reports anew; read them before you commit them.
"""

from __future__ import annotations

import functools
import os
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from logdoctor.model import Diagnosis
from logdoctor.render import render
from logdoctor.rulebook import shipped_rules
from logdoctor.rulebook.signatures import VERDICTS, read_signatures

CORPUS = Path(__file__).resolve().parent.parent / "corpus"
CASES = sorted(p.parent for p in CORPUS.glob("*/case.yaml"))
KEYS = {"label", "title", "also", "culprit", "evidence", "made", "versions", "licence", "story", "hung"}
LABELS = {*read_signatures(shipped_rules() / "signatures.tsv"), *VERDICTS}

sys.path.append(str(CORPUS / "lab"))
import truth  # noqa: E402 - the lab is a folder of scripts, no package
from experiment import experiments  # noqa: E402
from truth import faults  # noqa: E402

EXPERIMENTS = tuple(experiments())
# A case is diagnosed once: its tests run in one worker.
each_case = pytest.mark.parametrize(
    "case", [pytest.param(c, id=c.name, marks=pytest.mark.xdist_group(f"corpus-{c.name}")) for c in CASES]
)


@functools.cache
def read(case: Path) -> dict:
    return yaml.safe_load((case / "case.yaml").read_text("utf-8"))


@functools.cache
def diagnosed(case: Path) -> Diagnosis:
    return truth.diagnosed(Path(case.name), read(case))


@pytest.fixture(autouse=True)
def _in_the_corpus(monkeypatch):
    monkeypatch.chdir(CORPUS)


@each_case
def test_a_case_is_described_in_full(case):
    about = read(case)
    assert set(about) <= KEYS
    assert {about["label"], *about.get("also", [])} <= LABELS
    assert about["made"] in ("captured", "written")
    assert about["licence"] == "Apache-2.0"
    assert about["story"].strip()


@each_case
def test_a_case_is_diagnosed_as_its_label_says(case):
    assert faults(read(case), diagnosed(case)) == []


@each_case
def test_the_report_of_a_case_is_the_approved_one(case):
    report = render(diagnosed(case), "markdown")
    approved = case / "report.md"
    if os.environ.get("LOGDOCTOR_APPROVE"):
        approved.write_text(report, encoding="utf-8")
    assert report == approved.read_text("utf-8")


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.case)
def test_an_experiment_says_what_is_true_and_how_it_came_about(experiment):
    assert {experiment.label, *experiment.also} <= LABELS
    assert experiment.title.strip()
    assert experiment.story.strip()
    assert experiment.evidence or experiment.label in VERDICTS


def test_no_two_experiments_make_the_same_case():
    assert [case for case, count in Counter(e.case for e in EXPERIMENTS).items() if count > 1] == []


def test_captured_cases_and_experiments_of_the_lab_belong_together():
    made = {c.name for c in CASES if read(c)["made"] == "captured"}
    assert made <= {e.case for e in EXPERIMENTS}
    assert {e.case for e in EXPERIMENTS if not e.expected_wrong} <= made
