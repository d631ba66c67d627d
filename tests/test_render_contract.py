"""JSON of a diagnosis and of a comparison, and their schemas."""

import io
import json
from copy import deepcopy

import pytest
from command_line import call
from effort import inputs
from failing_job import VALIDATOR, forbid_other_keys
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from render_diagnoses import ALL, OOM, UNKNOWN, make_evidence
from render_strategies import diagnoses, evidence, texts

from logdoctor import diagnose, model
from logdoctor.model import Comparison, Diagnosis, Difference, Novel
from logdoctor.model.escape import escape, escape_all
from logdoctor.model.json_form import ADAPTERS, LAYOUTS, keys_of
from logdoctor.model.json_schema import KINDS, json_schema
from logdoctor.model.times import iso_time, printed_time
from logdoctor.render import render
from logdoctor.render.differences import render_comparison

STRUCTS = [name for name in dir(model) if hasattr(getattr(model, name), "__struct_fields__")]

COMPARISON_VALIDATOR = Draft202012Validator(forbid_other_keys(json_schema("comparison")))

some = inputs(25, nightly=300)
comparisons = st.builds(
    Comparison,
    diagnoses,
    diagnoses,
    st.lists(st.builds(Difference, st.just("hosts"), texts, texts, texts), max_size=2).map(tuple),
    st.lists(st.builds(Novel, texts, st.integers(1, 9), evidence), max_size=2).map(tuple),
)


@pytest.mark.parametrize("name", KINDS)
def test_generated_schema_is_valid_schema(name):
    Draft202012Validator.check_schema(json_schema(name))


def undescribed(schema: dict, path: str = "") -> list[str]:
    """Return the properties without a description, inside of others too."""
    inner = {**schema.get("$defs", {}), **schema.get("properties", {}), "[]": schema.get("items")}
    silent = [f"{path}.{name}" for name, part in schema.get("properties", {}).items() if not part.get("description")]
    parts = [(f"{path}.{name}", part) for name, part in inner.items() if isinstance(part, dict)]
    return silent + [place for name, part in parts for place in undescribed(part, name)]


@pytest.mark.parametrize("name", KINDS)
def test_schema_says_what_each_field_is(name):
    assert undescribed(json_schema(name)) == []


@pytest.mark.parametrize("name", KINDS)
def test_schema_command_prints_schema(name):
    assert json.loads(call("schema", name).stdout) == json_schema(name)


def test_schema_of_unknown_document_is_wrong_usage():
    assert "none of diagnosis, comparison" in call("schema", "rules", code=2).stderr


def test_layouts_and_adapters_name_keys_of_model_structs():
    keys = {kind: {".".join((*key.groups, key.name)) for key in keys_of(getattr(model, kind))} for kind in STRUCTS}
    assert set(LAYOUTS) <= set(keys)
    assert [name for name in ADAPTERS if name.partition(".")[2] not in keys[name.partition(".")[0]]] == []


@some
@given(diagnosis=diagnoses)
def test_every_diagnosis_fits_schema(diagnosis):
    VALIDATOR.validate(json.loads(render(diagnosis, "json")))


@inputs(6, nightly=300)
@given(comparison=comparisons)
def test_every_comparison_fits_schema(comparison):
    COMPARISON_VALIDATOR.validate(json.loads(render_comparison(comparison, "json")))


def test_published_schema_allows_new_keys():
    data = OOM.to_dict()
    data["job"]["new"] = data["new"] = 1
    Draft202012Validator(json_schema("diagnosis")).validate(data)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "logdoctor.pipeline.diagnosis/0"),
        (("verdict",), "broken"),
        (("causes", 0, "confidence"), 1.5),
        (("causes", 0, "action"), None),
        (("causes", 0, "culprit", "ranks", 0), -1),
        (("causes", 0, "evidence", 0, "line"), 0),
        (("causes", 0, "evidence", 0, "time"), "yesterday"),
        (("causes", 0, "evidence", 0, "text"), "\x1b[31m"),
        (("causes", 0, "title"), "\x07"),
        (("symptoms", 0, "title"), None),
        (("job", "hosts"), None),
        (("job", "versions", "torch"), 2),
        (("coverage", "lines"), "many"),
    ],
)
def test_broken_value_does_not_fit_schema(path, value):
    data = deepcopy(OOM.to_dict())
    parent = data
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    assert not VALIDATOR.is_valid(data)


@pytest.mark.parametrize("name", ALL)
def test_json_text_holds_same_data_as_to_dict(name):
    assert json.loads(render(ALL[name], "json")) == ALL[name].to_dict()


@pytest.mark.parametrize("field", ["schema", "verdict", "causes", "symptoms", "job", "coverage", "problems"])
def test_schema_requires_field(field):
    data = OOM.to_dict()
    del data[field]
    assert not VALIDATOR.is_valid(data)


def test_cause_has_culprit_action_and_evidence():
    cause = OOM.to_dict()["causes"][0]
    assert (cause["culprit"]["ranks"], cause["culprit"]["hosts"], cause["culprit"]["scope"]) == (
        [12],
        ["tc-node07"],
        "one",
    )
    assert (cause["action"], cause["by"], cause["confidence"]) == ("stop", "rule", 0.968)
    assert cause["evidence"][0]["file"] == "slurm-71920.out"
    assert cause["evidence"][0]["line"] == 90412


def test_problem_is_listed_in_coverage_too():
    data = UNKNOWN.to_dict()
    assert data["coverage"]["not_read"] == [
        {"where": "logs/rank7.log.gz", "why": "unexpected end of data after 1.2 MB"}
    ]
    assert data["problems"][0]["help"].startswith("Copy the file again")


def test_times_are_iso_text_or_null():
    assert iso_time(1_741_053_600.25) == "2025-03-04T02:00:00.250"
    assert iso_time(1_741_053_600) == "2025-03-04T02:00:00"
    assert iso_time(None) is iso_time(float("nan")) is iso_time(1e300) is None


def test_a_time_without_a_year_or_a_date_is_given_as_printed():
    assert printed_time(28_088_047) == "11-22T02:14:07"
    assert printed_time(8_047.5) == "02:14:07.500"
    assert printed_time(1_741_053_600) == "2025-03-04T02:00:00"


@pytest.mark.parametrize(("stamp", "known"), [("Nov 22", False), ("2026-11-22", True)])
def test_the_job_says_whether_its_times_have_a_year(stamp, known):
    lines = (
        f"{stamp} 02:14:01 n1 train[9]: step 10/900 loss 3.1\n"
        f"{stamp} 02:14:07 n1 kernel: NVRM: Xid (PCI:0000:5e:00): 79, pid=4, GPU has fallen off the bus.\n"
    )
    job = diagnose(io.BytesIO(lines.encode())).to_dict()["job"]
    assert job["year_known"] is known
    assert "1970" not in str(job)
    assert str(job["started"]).endswith("11-22T02:14:01")


def test_control_characters_of_line_are_escaped():
    data = Diagnosis("j", "unknown", unexplained=(make_evidence("a\nb:3", "\x1b[31mred\x1b[0m\tx\r\u202ey"),)).to_dict()
    assert data["unexplained"][0]["text"] == "\\x1b[31mred\\x1b[0m\\tx\\r\\u202ey"
    assert data["unexplained"][0]["file"] == "a\\nb"


def test_surrogate_of_file_name_is_escaped():
    assert escape("rank\udcff.log") == "rank\\udcff.log"


def test_printable_text_of_any_script_is_unchanged():
    text = "⚡️ 训练失败: пример, عربي, naïve 🔥 100 %"
    assert escape(text) == text


@given(st.text())
def test_second_escape_changes_nothing(text):
    assert escape(escape(text)) == escape(text)


def test_line_break_in_sentence_becomes_space():
    assert escape_all("one\n  two\n") == "one two"
