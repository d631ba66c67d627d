"""``logdoctor evaluate``: labelled cases in, figures out."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest
from typer.testing import CliRunner

from logdoctor.cli import app
from logdoctor.evaluation import Answer, Case, answer, cases_of, score
from logdoctor.evaluation.baselines import bag_of_words, majority
from logdoctor.evaluation.page import page
from logdoctor.evaluation.training_data import Labelled
from logdoctor.knowledge import Knowledge
from logdoctor.model import InputError

OOM = "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 2 has 79 GiB in all\n"


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    for name, log, about in (
        ("oom", OOM, {"label": "cuda.oom", "culprit": {"rank": 2}}),
        ("fine", "step 1/9 loss 0.1\nstep 2/9 loss 0.2\n", {"label": "healthy"}),
        ("odd<b>", "ERROR quokkas: ring unwell\n", {"label": "net.dns", "also": ["net.plugin"], "visible": False}),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "job.log").write_text(log)
        (tmp_path / name / "case.json").write_text(json.dumps(about))
    return tmp_path


def an_answer(label: str, said: str, confidence: float | None = None, **about: object) -> Answer:
    return Answer(Case(f"{label} {said}", (), label, **about), said, confidence)  # type: ignore[arg-type]


def test_both_forms_of_a_case_say_the_same(tmp_path: Path) -> None:
    for name, file, text in (
        ("a", "case.yaml", "label: cuda.oom\nculprit: {rank: 3, host: n1}"),
        ("b", "case.json", ""),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "job.log").write_text("x\n")
        told = {"label": "cuda.oom", "culprit": {"ranks": [3], "hosts": ["n1"]}}
        (tmp_path / name / file).write_text(text or json.dumps(told))
    one, other = cases_of([tmp_path])
    assert (one.ranks, one.hosts, one.label) == (other.ranks, other.hosts, other.label) == ((3,), ("n1",), "cuda.oom")


@pytest.mark.parametrize("text", ["", "[", "[1]", "title: no label", "label: 7"])
def test_a_faulty_case_is_one_plain_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text(text)
    with pytest.raises(InputError, match="case"):
        cases_of([tmp_path])


def test_a_folder_without_cases_is_one_plain_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no cases"):
        cases_of([tmp_path])


def test_the_culprit_counts_only_where_the_case_names_one(cases: Path, knowledge: Knowledge) -> None:
    told = {one.name: answer(one, knowledge) for one in cases_of([cases])}
    assert {name: one.culprit for name, one in told.items()} == {"oom": True, "fine": None, "odd<b>": None}


def test_the_classifier_alone_never_asks_the_rules(cases: Path, knowledge: Knowledge) -> None:
    told = {one.name: answer(one, knowledge, rules=False) for one in cases_of([cases])}
    assert (told["oom"].signature, told["oom"].by) == ("cuda.oom", "classifier")
    assert told["fine"].signature == "healthy"


def test_another_accepted_answer_is_right_and_its_family_too() -> None:
    figures = score("x", [an_answer("net.dns", "rdzv.timeout", 0.9, also=("rdzv.timeout",))]).figures
    assert (figures["signature right"], figures["family right"]) == (1, 1)


def test_a_failure_called_healthy_is_wrong_and_a_healthy_job_called_failed_is_an_alarm() -> None:
    figures = score("x", [an_answer("net.dns", "healthy"), an_answer("healthy", "net.dns", 0.4)]).figures
    assert (figures["signature right"], figures["healthy called failed"]) == (0, 1)


def test_a_cause_that_cannot_be_seen_counts_for_calibration_alone() -> None:
    scores = score("x", [an_answer("net.dns", "cuda.oom", 0.8, visible=False), an_answer("net.dns", "net.dns", 1.0)])
    assert scores.figures["signature right"] == 1
    assert scores.figures["calibration error"] == 0.4


def test_risk_falls_where_only_the_surest_answers_are_given() -> None:
    answers = [
        an_answer("net.dns", "net.dns", 0.9),
        an_answer("net.dns", "cuda.oom", 0.3),
        an_answer("net.dns", "unknown"),
    ]
    steps = score("x", answers).risk
    assert list(steps["risk"]) == [0, 0.5]
    assert list(steps["coverage"].round(2)) == [0.33, 0.67]


def test_what_was_taken_for_what_is_counted() -> None:
    answers = [an_answer("net.dns", "cuda.oom", 0.3)] * 2 + [an_answer("net.dns", "net.dns", 0.3)]
    assert score("x", answers).confusion.to_dict("records") == [{"label": "net.dns", "answer": "cuda.oom", "cases": 2}]


def test_baselines_learn_and_answer(cases: Path) -> None:
    learnt = [Labelled(OOM, "cuda.oom", "1", "1"), Labelled(OOM, "cuda.oom", "2", "2")]
    learnt += [Labelled("step loss fine\n", "healthy", str(n), str(n)) for n in range(3)]
    asked = cases_of([cases])
    assert {one.signature for one in majority(learnt, asked)} == {"cuda.oom"}
    assert {one.case.name: one.signature for one in bag_of_words(learnt, asked)}["oom"] == "cuda.oom"


def test_the_page_allows_its_own_style_and_nothing_else(cases: Path, knowledge: Knowledge) -> None:
    made = page([score("x", [answer(one, knowledge) for one in cases_of([cases])])], "<i>cases</i>")
    style = re.search(r"<style>(.*?)</style>", made, re.DOTALL)
    assert style
    assert f"style-src 'sha256-{b64encode(sha256(style[1].encode()).digest()).decode()}'" in made
    assert "<b>" not in made
    assert "<i>" not in made
    assert "<polyline" in made
    assert not re.search(r"https?://|<script|\son\w+=", made)


@pytest.mark.parametrize("format", ["text", "html", "json"])
def test_the_command_tells_the_figures_in_every_format(format: str, cases: Path) -> None:
    done = CliRunner().invoke(app, ["evaluate", str(cases), "-f", format])
    assert done.exit_code == 0
    assert "signature right" in done.stdout
    if format == "json":
        assert json.loads(done.stdout)[0]["figures"]["cases"] == 3


def test_cases_that_cannot_be_read_end_with_3_and_a_wrong_format_with_2(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["evaluate", str(tmp_path)]).exit_code == 3
    assert CliRunner().invoke(app, ["evaluate", str(tmp_path), "-f", "svg"]).exit_code == 2
