"""The guide to scans: its columns, its options and its snippets."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
import yaml

from logdoctor.archive.record import SCHEMA, CauseRow, JobRecord, RankEntry
from logdoctor.cli import scan_command

GUIDE = (Path(__file__).parent.parent / "docs" / "scan.md").read_text("utf-8")
NESTED = {"causes", "rank_table"}


@pytest.mark.parametrize("table", [JobRecord, CauseRow, RankEntry])
def test_guide_names_every_column(table):
    named = set(re.findall(r"`(\w+)`", GUIDE[GUIDE.index("## Results") : GUIDE.index("## History")]))
    assert set(table.__struct_fields__) - NESTED <= named
    assert SCHEMA in GUIDE


def test_guide_names_only_existing_options():
    options = set(re.findall(r'"(--[a-z-]+)"', inspect.getsource(scan_command)))
    scans = re.findall(r"logdoctor scan (?:[^\n]*\\\n)*[^\n]*", GUIDE)
    named = {option for scan in scans for option in re.findall(r"(?<=\s)--[a-z-]+", scan) if "--qos" not in option}
    assert len(scans) > 5
    assert named <= options


def test_snippets_for_kubernetes_are_yaml():
    job, sidecar = (yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL))
    assert job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["args"][0] == "scan"
    assert sidecar[0]["volumeMounts"]
