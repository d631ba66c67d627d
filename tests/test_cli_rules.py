"""`logdoctor rules list|show|schema|test`, and rules of users beside ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import call, report
from failing_job import ANSWER, LOG, answer_of_report
from rule_texts import LICENCE, rule_file

pytestmark = [pytest.mark.usefixtures("clean_environment"), pytest.mark.xdist_group("rules")]
"""One worker: reading all rules for the first time takes seconds."""


def test_rules_list_has_a_line_for_every_rule():
    listed = call("rules", "list").stdout
    assert any(line.split()[:3] == ["cuda.oom", "cause", "stop"] for line in listed.splitlines())


def test_rules_show_prints_cause_remedy_symptoms_and_file():
    page = call("rules", "show", "cuda.oom").stdout
    assert "What to do (stop)" in page
    assert "Symptoms" in page
    assert "cuda/oom/rule.yaml" in page


def test_rules_schema_is_json():
    assert json.loads(call("schema", "rule").stdout)["type"] == "object"


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Path:
    """Write a new rule, a rule that fails its near-miss, a rule in place of ours."""
    folder = tmp_path_factory.mktemp("own")
    rule_file(folder, "site.licence")
    printer = (("licence server", "printer"), ("hydra answered", "hydra did not answer"))
    rule_file(folder, "site.printer", LICENCE, *printer)
    rule_file(folder, "cuda.oom", LICENCE, ("licence server", "memory"), ("action: retry", "action: stop"))
    return folder


def test_a_rule_of_the_users_is_added(own):
    text = "FATAL licence server hydra did not answer\n"
    assert answer_of_report(report("--rules", own, stdin=text)) == ("site.licence", ())
    assert answer_of_report(report(stdin=text))[0] != "site.licence"


def test_a_rule_of_the_users_takes_the_place_of_ours(own):
    assert "The memory {server} is gone" in call("rules", "show", "cuda.oom", "--rules", own).stdout
    assert answer_of_report(report("--rules", own, stdin="FATAL memory hydra did not answer\n"))[0] == "cuda.oom"
    assert answer_of_report(report("--rules", own, stdin=LOG)) != ANSWER


def test_rules_of_the_users_are_tested_by_their_own_examples(own):
    assert "2 examples, 0 failed" in call("rules", "test", "site.licence", "--rules", own).stdout
    failed = call("rules", "test", "site.printer", "--rules", own, code=1).stdout
    assert "2 examples, 1 failed" in failed
    assert "site/printer.yaml:9: near-miss of site.printer should be healthy, got site.printer" in failed


def test_a_faulty_rule_is_a_problem_in_the_report_and_the_others_work(own, tmp_path):
    (tmp_path / "licence.yaml").write_text(LICENCE.replace("action: retry", "action: pray"))
    (tmp_path / "printer.yaml").write_text(LICENCE.replace("licence server", "printer"))
    diagnosis = report("--rules", tmp_path, stdin="FATAL printer hydra did not answer\n")
    assert answer_of_report(diagnosis) == ("printer", ())
    assert ["licence.yaml:3" in p["where"] for p in diagnosis["problems"]] == [True]
    assert answer_of_report(report("--rules", tmp_path, stdin=LOG)) == ANSWER


def test_a_faulty_rule_in_the_place_of_ours_leaves_ours(tmp_path):
    (tmp_path / "cuda").mkdir()
    (tmp_path / "cuda" / "oom.yaml").write_text("title: [unclosed")
    assert answer_of_report(report("--rules", tmp_path, stdin=LOG)) == ANSWER


def test_a_text_too_weak_for_the_scan_is_a_problem_too(tmp_path):
    (tmp_path / "licence.yaml").write_text(
        LICENCE.replace("licence server (?P<server>[a-z]+) did not answer", "[a-z]+")
    )
    diagnosis = report("--rules", tmp_path, stdin=LOG)
    assert answer_of_report(diagnosis) == ANSWER
    assert "too weak" in diagnosis["problems"][0]["what"]


def test_a_decision_without_words_is_a_problem_and_the_job_has_an_answer(tmp_path):
    rule_file(tmp_path, "site.licence")
    (tmp_path / "decisions.tsv").write_text("site.licence\t-\tfix-first\tmoon\n")
    diagnosis = report("--rules", tmp_path, stdin="FATAL licence server hydra did not answer\n")
    assert answer_of_report(diagnosis)[0] == "site.licence"
    assert [problem["where"] for problem in diagnosis["problems"]] == [f"{tmp_path / 'decisions.tsv'}:1"]
    lint = call("rules", "lint", "site.licence", "--rules", tmp_path, code=1)
    assert "decisions.tsv:1: error: 'moon' is no thing that 'fix-first' can name" in lint.stderr
    assert "one of checkpoint, code, command, " in lint.stderr


def test_a_folder_without_a_rule_is_a_problem(tmp_path):
    assert report("--rules", tmp_path, stdin=LOG)["problems"][0]["where"] == str(tmp_path)


def test_rules_list_shows_where_a_rule_of_the_users_comes_from(own):
    lines = {line.split()[0]: line for line in call("rules", "list", "--rules", own).stdout.splitlines()}
    assert lines["site.licence"].endswith(f"[{own}]")
    assert lines["cuda.oom"].endswith(f"[{own}, in place of ours]")
    assert not lines["net.dns"].endswith("]")


def test_rules_list_shows_the_good_rules_beside_a_faulty_one(tmp_path):
    (tmp_path / "licence.yaml").write_text(LICENCE.replace("action: retry", "action: pray"))
    result = call("rules", "list", "--rules", tmp_path)
    assert "cuda.oom" in result.stdout
    assert "licence.yaml:3" in result.stderr


def test_events_know_the_lines_of_rules_of_the_users(own, tmp_path):
    (tmp_path / "job.log").write_text("the licence server hydra did not answer today\n")
    assert call("events", tmp_path / "job.log").stdout == ""
    assert "text.line" in call("events", "--rules", own, tmp_path / "job.log").stdout


def test_missing_folder_of_rules_is_wrong_usage(tmp_path):
    assert "nowhere" in call("diagnose", "--rules", tmp_path / "nowhere", stdin=LOG, code=2).stderr


@pytest.mark.parametrize("command", ["scan", "events"])
def test_faulty_rule_is_printed_once_by_commands_without_a_report(command, log, tmp_path):
    rule_file(tmp_path / "own", "site.licence", LICENCE, ("action: retry", "action: pray"))
    options = ["--workers", 1] if command == "scan" else []
    result = call(command, log.parent, "--rules", tmp_path / "own", "--format", "jsonl", *options)
    assert result.stderr.count("'action' is 'pray'") == 1
    assert "pray" not in result.stdout
