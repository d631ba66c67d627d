"""docs/cli.md and docs/json.md: nothing is missing, nothing is invented, and the examples are true."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import call
from failing_job import LOG, VALIDATOR

from logdoctor.model.json_schema import json_schema

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tools"))
import reference_pages  # noqa: E402 - a folder of scripts

pytestmark = pytest.mark.usefixtures("clean_environment")

PAGE = (ROOT / "docs" / "json.md").read_text("utf-8")


@pytest.mark.parametrize("name", ["cli.md", "json.md"])
def test_page_is_the_one_that_the_program_gives(name):
    file = ROOT / "docs" / name
    made = reference_pages.pages()[file]
    assert file.read_text("utf-8") == made, "run: python tools/reference_pages.py"


def properties(schema: dict) -> int:
    """Count the properties of all objects."""
    parts = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), schema.get("items")]
    return len(schema.get("properties", ())) + sum(properties(part) for part in parts if isinstance(part, dict))


def test_page_has_a_row_for_each_field():
    rows = re.findall(r"^\| `[\w.\[\]]+` \| ", PAGE.partition(reference_pages.MARK)[2], re.MULTILINE)
    assert len(rows) == properties(json_schema("diagnosis"))


def test_page_of_commands_names_each_option_of_a_command():
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    section = page.partition("\n## logdoctor rules lint\n")[2].partition("\n## ")[0]
    shown = call("rules", "lint", "--help").stdout
    assert set(re.findall(r"--[a-z][a-z-]+", section)) == set(re.findall(r"--[a-z][a-z-]+", shown))


@pytest.fixture
def example(tmp_path, monkeypatch) -> dict:
    """Return the example of the page, in a folder with its log."""
    log = re.search(r"The log `train\.log`:\n\n```text\n(.*?)```", PAGE, re.DOTALL)[1]
    (tmp_path / "train.log").write_text(log)
    monkeypatch.chdir(tmp_path)
    return json.loads(re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)[1])


def test_example_is_whole(example):
    VALIDATOR.validate(example)


def test_example_is_the_answer_for_its_log(example):
    answer = json.loads(call("--json", "train.log").stdout)
    for field in ("schema", "verdict", "verdict_known_by", "coverage"):
        assert example[field] == answer[field]
    assert example["decision"]["do"] == answer["decision"]["do"]
    for field in ("signature", "culprit", "values"):
        assert example["causes"][0][field] == answer["causes"][0][field]


@pytest.mark.skipif(not shutil.which("jq"), reason="needs jq")
def test_each_question_with_jq_has_an_answer(example):
    Path("diagnosis.json").write_text(call("--json", stdin=LOG).stdout)
    questions = re.findall(r"^ {4}(jq .+)$", PAGE, re.MULTILINE)
    answers = [subprocess.run(q, shell=True, capture_output=True, text=True, check=True).stdout for q in questions]  # noqa: S602
    assert answers[0] == "resubmit-with-changes\n"
    assert all(answers)
