"""``logdoctor evaluate`` on labelled cases."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest
from typer.testing import CliRunner

from logdoctor.cli.commands import app
from logdoctor.evaluation import Answer, Case, answer_case, load_cases, score_answers
from logdoctor.evaluation.baselines import bag_of_words, majority
from logdoctor.evaluation.page import render_page
from logdoctor.evaluation.training_data import LabelledLog
from logdoctor.model import InputError
from logdoctor.pipeline.knowledge import Knowledge

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


def an_answer(label: str, answer: str, confidence: float | None = None, **about: object) -> Answer:
    return Answer(Case(f"{label} {answer}", (), label, **about), answer, confidence)  # type: ignore[arg-type]


def test_case_in_yaml_and_in_json_are_equal(tmp_path: Path) -> None:
    for name, file, text in (
        ("a", "case.yaml", "label: cuda.oom\nculprit: {rank: 3, host: n1}"),
        ("b", "case.json", ""),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "job.log").write_text("x\n")
        content = {"label": "cuda.oom", "culprit": {"ranks": [3], "hosts": ["n1"]}}
        (tmp_path / name / file).write_text(text or json.dumps(content))
    first, second = load_cases([tmp_path])
    assert (
        (first.ranks, first.hosts, first.label)
        == (second.ranks, second.hosts, second.label)
        == ((3,), ("n1",), "cuda.oom")
    )


@pytest.mark.parametrize("text", ["", "[", "[1]", "title: no label", "label: 7"])
def test_faulty_case_raises_input_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text(text)
    with pytest.raises(InputError, match="case"):
        load_cases([tmp_path])


def test_folder_without_cases_raises_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no cases"):
        load_cases([tmp_path])


def test_culprit_is_judged_only_if_the_case_names_it(cases: Path, knowledge: Knowledge) -> None:
    answers = {case.name: answer_case(case, knowledge) for case in load_cases([cases])}
    assert {name: answer.culprit_right for name, answer in answers.items()} == {
        "oom": True,
        "fine": None,
        "odd<b>": None,
    }


def test_classifier_alone_uses_no_rule(cases: Path, knowledge: Knowledge) -> None:
    answers = {case.name: answer_case(case, knowledge, rules=False) for case in load_cases([cases])}
    assert (answers["oom"].signature, answers["oom"].by) == ("cuda.oom", "classifier")
    assert answers["fine"].signature == "healthy"


def test_also_accepted_answer_is_right() -> None:
    figures = score_answers("x", [an_answer("net.dns", "rdzv.timeout", 0.9, also=("rdzv.timeout",))]).figures
    assert (figures["signature right"], figures["family right"]) == (1, 1)


def test_healthy_and_failed_mixed_up_are_counted() -> None:
    figures = score_answers("x", [an_answer("net.dns", "healthy"), an_answer("healthy", "net.dns", 0.4)]).figures
    assert (figures["signature right"], figures["healthy called failed"]) == (0, 1)


def test_invisible_cause_counts_for_calibration_only() -> None:
    scores = score_answers(
        "x", [an_answer("net.dns", "cuda.oom", 0.8, visible=False), an_answer("net.dns", "net.dns", 1.0)]
    )
    assert scores.figures["signature right"] == 1
    assert scores.figures["calibration error"] == 0.4


def test_fewer_and_surer_answers_have_less_risk() -> None:
    answers = [
        an_answer("net.dns", "net.dns", 0.9),
        an_answer("net.dns", "cuda.oom", 0.3),
        an_answer("net.dns", "unknown"),
    ]
    steps = score_answers("x", answers).risk
    assert list(steps["risk"]) == [0, 0.5]
    assert list(steps["coverage"].round(2)) == [0.33, 0.67]


def test_confusion_counts_label_and_wrong_answer() -> None:
    answers = [an_answer("net.dns", "cuda.oom", 0.3)] * 2 + [an_answer("net.dns", "net.dns", 0.3)]
    assert score_answers("x", answers).confusion.to_dict("records") == [
        {"label": "net.dns", "answer": "cuda.oom", "cases": 2}
    ]


def test_baselines_answer_with_the_labels_they_learned(cases: Path) -> None:
    logs = [LabelledLog(OOM, "cuda.oom", "1", "1"), LabelledLog(OOM, "cuda.oom", "2", "2")]
    logs += [LabelledLog("step loss fine\n", "healthy", str(n), str(n)) for n in range(3)]
    loaded = load_cases([cases])
    assert {answer.signature for answer in majority(logs, loaded)} == {"cuda.oom"}
    assert {answer.case.name: answer.signature for answer in bag_of_words(logs, loaded)}["oom"] == "cuda.oom"


def test_page_allows_only_its_own_style(cases: Path, knowledge: Knowledge) -> None:
    html = render_page(
        [score_answers("x", [answer_case(case, knowledge) for case in load_cases([cases])])], "<i>cases</i>"
    )
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    assert style
    assert f"style-src 'sha256-{b64encode(sha256(style[1].encode()).digest()).decode()}'" in html
    assert "<b>" not in html
    assert "<i>" not in html
    assert "<polyline" in html
    assert not re.search(r"https?://|<script|\son\w+=", html)


@pytest.mark.parametrize("format", ["text", "html", "json"])
def test_command_prints_figures_in_every_format(format: str, cases: Path) -> None:
    result = CliRunner().invoke(app, ["evaluate", str(cases), "-f", format])
    assert result.exit_code == 0
    assert "signature right" in result.stdout
    if format == "json":
        assert json.loads(result.stdout)[0]["figures"]["cases"] == 3


def test_no_cases_exit_with_3_and_wrong_format_with_2(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["evaluate", str(tmp_path)]).exit_code == 3
    assert CliRunner().invoke(app, ["evaluate", str(tmp_path), "-f", "svg"]).exit_code == 2
