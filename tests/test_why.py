"""``logdoctor diagnose --why``: the reasoning behind an answer."""

from __future__ import annotations

import pytest
from command_line import call
from failing_job import diagnose_log
from msgspec.structs import replace

from logdoctor.model import GROUNDS, Check, Line, Refutation
from logdoctor.render.catalogue import catalogue
from logdoctor.render.why import render_why

LOG = """\
Traceback (most recent call last):
  File "/home/ada/train.py", line 88, in main
    out = model(x)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.12 GiB. GPU 3 has a total capacity of 79.15 GiB
terminate called after throwing an instance of 'std::runtime_error'
"""


@pytest.fixture(scope="module")
def diagnosis(knowledge):
    return diagnose_log(LOG, knowledge)


def test_rule_lines_owner_and_confidence_are_told(diagnosis):
    text = render_why(diagnosis)
    assert "cuda.oom · rule cuda.oom · confidence 0." in text
    assert ":4  torch.OutOfMemoryError" in text
    assert "To change: your settings" in text


@pytest.mark.parametrize(("lang", "row"), [("en", "size wanted GPU 3: 3.12 GiB"), ("zh", "大小 所需 GPU 3：3.12 GiB")])
def test_facts_at_the_proof_are_told_with_their_place(diagnosis, lang, row):
    rows = [line.strip() for line in render_why(diagnosis, lang).splitlines()]
    assert any(line.startswith(row) and line.endswith(":4") for line in rows)


def test_rule_that_lost_is_told_with_its_law(diagnosis):
    lost = [symptom for symptom in diagnosis.symptoms if symptom.explained_by]
    assert lost
    assert all(symptom.law and symptom.rule for symptom in lost)
    text = render_why(diagnosis)
    assert all(symptom.rule in text for symptom in lost)


def test_claims_are_told(diagnosis):
    cause = replace(diagnosis.causes[0], checked=(Check("its process ended", "confirmed"),))
    assert "confirmed: its process ended" in render_why(replace(diagnosis, causes=(cause,)))


def with_ground(diagnosis, why, verdict="failed"):
    first = diagnosis.causes[0]
    return replace(diagnosis, verdict=verdict, causes=(replace(first, culprit=replace(first.culprit, why=why)),))


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("number", range(len(GROUNDS)), ids=GROUNDS)
def test_ground_that_won_and_those_before_it_are_told_in_words(diagnosis, lang, number):
    text, words = render_why(with_ground(diagnosis, GROUNDS[number]), lang, 400), catalogue(lang)
    assert words(f"ground.{GROUNDS[number]}") in text
    assert [g for g in GROUNDS if f"    {words(f'ground.no.{g}')}" in text.splitlines()] == [*GROUNDS[:number]]


@pytest.mark.parametrize("why", ["", "only-reports"])
def test_each_ground_is_told_if_none_names_anybody(diagnosis, why):
    text = render_why(with_ground(diagnosis, why), width=400)
    assert all(catalogue("en")(f"ground.no.{ground}") in text for ground in GROUNDS)


def test_no_ground_is_told_of_a_guess(diagnosis):
    assert "Grounds" not in render_why(with_ground(diagnosis, "", "unknown"))


def test_refuted_failure_is_told_with_its_line(diagnosis):
    symptom = replace(diagnosis.symptoms[0], explained_by=None, refuted_by=Refutation(Line("job.log", 9, "step 5")))
    assert "refuted by job.log:9" in render_why(replace(diagnosis, symptoms=(symptom,)))


def test_many_losers_are_counted(diagnosis):
    text = render_why(replace(diagnosis, symptoms=diagnosis.symptoms[:1] * 40))
    assert len(text.splitlines()) < 40


@pytest.mark.parametrize("width", [40, 100])
def test_no_line_is_wider_than_the_terminal(diagnosis, width):
    assert max(map(len, render_why(diagnosis, "en", width).splitlines())) <= width


def test_job_without_a_cause_shows_what_failed(knowledge):
    text = render_why(diagnose_log("ERROR: the frobnicator gave up on shard 7\n", knowledge))
    assert text.startswith("unknown: no rule names a cause.")


def test_command_prints_it_in_the_chosen_language(tmp_path):
    log = tmp_path / "job.log"
    log.write_text(LOG)
    assert "rule cuda.oom" in call("diagnose", "--why", log).stdout
    assert "规则 cuda.oom" in call("diagnose", "--why", "--lang", "zh", log).stdout


def test_it_is_text_only(tmp_path):
    log = tmp_path / "job.log"
    log.write_text(LOG)
    call("diagnose", "--why", "--format", "json", log, code=2)
