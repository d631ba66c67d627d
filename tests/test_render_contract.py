"""The JSON contract: it fits its schema for every diagnosis, and it holds what was found."""

import json
from importlib.resources import files

import pytest
from effort import inputs
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from render_diagnoses import ALL, OOM, UNKNOWN, seen
from render_strategies import diagnoses

from logdoctor.model import Diagnosis
from logdoctor.model.escape import escape, escape_all
from logdoctor.model.times import iso_time
from logdoctor.render import render

SCHEMA = json.loads(files("logdoctor.render").joinpath("diagnosis.schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
some = inputs(25, nightly=300)


def test_the_schema_is_a_schema():
    Draft202012Validator.check_schema(SCHEMA)


@some
@given(diagnosis=diagnoses)
def test_every_diagnosis_fits_the_schema(diagnosis):
    VALIDATOR.validate(json.loads(render(diagnosis, "json")))


@pytest.mark.parametrize("name", ALL)
def test_the_data_survives_the_text(name):
    assert json.loads(render(ALL[name], "json")) == ALL[name].to_dict()


@pytest.mark.parametrize("field", ["schema", "verdict", "causes", "symptoms", "job", "coverage", "problems"])
def test_the_schema_misses_a_field_that_is_gone(field):
    told = OOM.to_dict()
    del told[field]
    assert not VALIDATOR.is_valid(told)


def test_a_cause_says_who_what_to_do_and_why():
    cause = OOM.to_dict()["causes"][0]
    assert cause["culprit"] == {"ranks": [12], "hosts": ["tc-node07"], "gpus": [], "peers": []}
    assert (cause["action"], cause["by"], cause["confidence"]) == ("stop", "rule", 0.968)
    assert cause["evidence"][0]["file"] == "slurm-71920.out"
    assert cause["evidence"][0]["line"] == 90412


def test_what_was_not_read_stands_in_the_coverage_too():
    told = UNKNOWN.to_dict()
    assert told["coverage"]["not_read"] == [
        {"where": "logs/rank7.log.gz", "why": "unexpected end of data after 1.2 MB"}
    ]
    assert told["problems"][0]["help"].startswith("Copy the file again")


def test_times_are_iso_text_or_null():
    assert iso_time(1_741_053_600.25) == "2025-03-04T02:00:00.250"
    assert iso_time(1_741_053_600) == "2025-03-04T02:00:00"
    assert iso_time(None) is iso_time(float("nan")) is iso_time(1e300) is None


def test_control_characters_of_a_line_are_written_out():
    told = Diagnosis("j", "unknown", unexplained=(seen("a\nb:3", "\x1b[31mred\x1b[0m\tx\r\u202ey"),)).to_dict()
    assert told["unexplained"][0]["text"] == "\\x1b[31mred\\x1b[0m\\tx\\r\\u202ey"
    assert told["unexplained"][0]["file"] == "a\\nb"


def test_a_name_that_is_no_text_is_written_out():
    assert escape("rank\udcff.log") == "rank\\udcff.log"


def test_ordinary_text_in_any_script_stays_as_it_is():
    text = "⚡️ 训练失败: пример, عربي, naïve 🔥 100 %"
    assert escape(text) == text


@given(st.text())
def test_making_visible_twice_changes_nothing_more(text):
    assert escape(escape(text)) == escape(text)


def test_line_breaks_in_a_sentence_become_spaces():
    assert escape_all("one\n  two\n") == "one two"
