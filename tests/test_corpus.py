"""Laws over all cases of corpus/: the label is found with its culprit and its proof, and the report is the approved one.

``LOGDOCTOR_APPROVE=1 pytest tests/test_corpus.py`` writes the reports anew; read them before you commit them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from logdoctor.diagnosis import diagnose
from logdoctor.knowledge import gather
from logdoctor.render import render
from logdoctor.rule_check import answer
from logdoctor.rulebook import shipped_rules
from logdoctor.rulebook.signatures import VERDICTS, read_signatures

CORPUS = Path(__file__).resolve().parent.parent / "corpus"
CASES = sorted(p.parent for p in CORPUS.glob("*/case.yaml"))
KEYS = {"label", "title", "also", "culprit", "evidence", "made", "versions", "licence", "story", "hung"}


@pytest.fixture(scope="module")
def known():
    return gather([shipped_rules()])


def read(case: Path) -> dict:
    return yaml.safe_load((case / "case.yaml").read_text("utf-8"))


def diagnosed(case: Path, known, monkeypatch):
    monkeypatch.chdir(CORPUS)
    logs = sorted(p.relative_to(CORPUS).as_posix() for p in case.rglob("*.log"))
    return diagnose(logs, name=case.name, knowledge=known, hung=bool(read(case).get("hung")))


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_case_is_described_in_full(case):
    about = read(case)
    assert set(about) <= KEYS
    assert about["label"] in {*read_signatures(shipped_rules() / "signatures.tsv"), *VERDICTS}
    assert about["made"] in ("captured", "written")
    assert about["licence"] == "Apache-2.0"
    assert about["story"].strip()


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_case_is_diagnosed_as_its_label_says(case, known, monkeypatch):
    about, found = read(case), diagnosed(case, known, monkeypatch)
    assert answer(found) == about["label"]
    if not found.causes:
        return
    culprit = about.get("culprit") or {}
    if "rank" in culprit:
        assert culprit["rank"] in found.causes[0].culprit.ranks
    if "host" in culprit:
        assert culprit["host"] in found.causes[0].culprit.hosts
    shown = "\n".join(e.line.text for e in found.causes[0].evidence)
    assert any(proof in shown for proof in about["evidence"])


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_the_report_of_a_case_is_the_approved_one(case, known, monkeypatch):
    report = render(diagnosed(case, known, monkeypatch), "markdown")
    approved = case / "report.md"
    if os.environ.get("LOGDOCTOR_APPROVE"):
        approved.write_text(report, encoding="utf-8")
    assert report == approved.read_text("utf-8")
