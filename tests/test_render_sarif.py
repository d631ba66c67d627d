"""SARIF: the output fits the schema of the package `schemastore`, and the standard's rules that no schema can express."""

from __future__ import annotations

import json
from urllib.parse import unquote, urlsplit

import pytest
from effort import inputs
from hypothesis import given
from msgspec.structs import replace
from render_diagnoses import ALL, OOM, UNKNOWN, make_evidence
from render_strategies import diagnoses
from stored_schemas import validator

from logdoctor.model import Problem
from logdoctor.render import render


def run_of(diagnosis) -> dict:
    return json.loads(render(diagnosis, "sarif"))["runs"][0]


@pytest.mark.parametrize("diagnosis", ALL.values(), ids=ALL)
def test_report_fits_the_schema(diagnosis):
    validator("sarif-2.1.0").validate(json.loads(render(diagnosis, "sarif")))


@inputs(15, nightly=300)
@given(diagnosis=diagnoses)
def test_every_diagnosis_fits_the_schema(diagnosis):
    validator("sarif-2.1.0").validate(json.loads(render(diagnosis, "sarif")))


@inputs(15, nightly=300)
@given(diagnosis=diagnoses)
def test_every_diagnosis_obeys_the_text_of_the_standard(diagnosis):
    _obeys(json.loads(render(diagnosis, "sarif")))


def _obeys(whole: dict) -> None:
    """Check sections 3.13 to 3.49 of the standard."""
    assert whole["version"] == "2.1.0"
    for run in whole["runs"]:
        rules = run["tool"]["driver"]["rules"]
        assert len({rule["id"] for rule in rules}) == len(rules)
        for result in run["results"]:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
            assert result["level"] in {"error", "warning", "note"}
            assert result["message"]["text"]
            assert 0 <= result.get("rank", 0) <= 100
            for place in (*result["locations"], *result["relatedLocations"]):
                physical = place["physicalLocation"]
                urlsplit(physical["artifactLocation"]["uri"])
                assert physical["artifactLocation"]["uri"].isascii()
                assert physical.get("region", {}).get("startLine", 1) >= 1


def test_a_cause_is_a_result_at_the_line_that_proves_it():
    result = run_of(OOM)["results"][0]
    place = result["locations"][0]["physicalLocation"]
    first = OOM.causes[0].evidence[0].line
    assert (result["ruleId"], result["level"]) == ("host.oom-kill", "error")
    assert (unquote(place["artifactLocation"]["uri"]), place["region"]["startLine"]) == (first.file, first.number)
    assert place["region"]["snippet"]["text"] == first.text


def test_sarif_rule_has_remedy_and_link():
    rule = run_of(OOM)["tool"]["driver"]["rules"][0]
    assert rule["help"]["text"].startswith("1. ")
    assert rule["helpUri"] == OOM.causes[0].references[0]


def test_unexplained_failure_is_a_warning():
    diagnosis = replace(UNKNOWN, causes=(), unexplained=(make_evidence("a.log:7", "boom"),))
    result = run_of(diagnosis)["results"][0]
    assert (result["ruleId"], result["level"]) == ("unknown", "warning")
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 7


def test_a_healthy_job_has_no_result():
    assert run_of(ALL["finished"])["results"] == []


def test_unread_input_is_a_notification():
    diagnosis = replace(OOM, problems=(Problem("the archive is cut", "a.tar", "unexpected end"),))
    notice = run_of(diagnosis)["invocations"][0]["toolExecutionNotifications"][0]
    assert notice["message"]["text"] == "a.tar: the archive is cut: unexpected end"


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("logs/rank 3.log", "logs/rank%203.log"),
        ("/data/job/a.log", "file:///data/job/a.log"),
        ("a.tar:b/c.log", "a.tar%3Ab/c.log"),
        ("<stdin>", "%3Cstdin%3E"),
        ("javascript:alert(1)", "javascript%3Aalert%281%29"),
    ],
)
def test_a_file_name_is_a_reference_and_nothing_else(file, uri):
    cause = replace(OOM.causes[0], evidence=(make_evidence(f"{file}:1", "x"),))
    result = run_of(replace(OOM, causes=(cause,)))["results"][0]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri
