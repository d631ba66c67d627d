"""`logdoctor exclude`: sick hosts for schedulers, people and metrics."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex

import pytest
from command_line import call
from hostile_texts import HOSTILE
from test_scan_bad_hosts import fleet

from logdoctor.archive.bad_hosts import BadHost
from logdoctor.archive.checkpoint_log import CheckpointWriter
from logdoctor.archive.exclusions import list_formats, load_renderer
from logdoctor.archive.outputs import load_writer
from logdoctor.archive.record import JobRecord
from logdoctor.model.escape import escape

SICK = BadHost("n1 GPU 3", 4, 30, 0.2, 0.001, ("a", "b"), (("cuda.ecc", 3), ("net.ib-completion", 1)), 1.8e9, 1.81e9)


@pytest.fixture
def results(tmp_path):
    """Results of a scan with one sick host, whose name is returned too."""
    records, bad = fleet(3, 1, times=30)
    writer = CheckpointWriter(tmp_path / "results")
    for record in records:
        writer.add(record)
    writer.close()
    return tmp_path / "results", *bad


def test_every_format_names_the_sick_host_and_no_other(results):
    folder, sick = results
    for name in list_formats():
        told = call("exclude", folder, "--format", name).stdout
        assert sick in told
        assert {*re.findall(r"\bnode\d+\b", told)} == {sick}, name


def test_user_code_excludes_nobody(tmp_path):
    writer = CheckpointWriter(tmp_path / "results")
    for n in range(40):
        hosts = ("n1",) if n < 20 else ()
        writer.add(JobRecord(f"j{n}", verdict="failed", signature="app.exception", hosts=hosts, nodes=("n1", f"m{n}")))
    writer.close()
    assert call("exclude", tmp_path / "results").stdout == ""


def test_reason_tells_causes_counts_days_and_gpu():
    (row,) = json.loads(load_renderer("json")([SICK]))
    assert row["reason"] == "cuda.ecc x3, net.ib-completion x1 in 30 jobs, 2027-01-15 to 2027-05-11, GPU 3"
    assert (row["host"], row["gpu"], row["confidence"]) == ("n1", "3", 0.999)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_host_cannot_act_in_any_list(name):
    host = BadHost(escape(name).replace(" ", "_"), 4, 30, 0.2, 0.001, (), (("cuda.ecc", 4),), 1.8e9, 1.8e9)
    words = shlex.split(load_renderer("slurm")([host]))
    assert (words[:2], len(words)) == (["scontrol", "update"], 5)
    patch = json.loads(load_renderer("k8s")([host]))
    assert json.dumps(host.host)[1:-1] in json.dumps(patch)
    assert len([*csv.reader(io.StringIO(load_renderer("csv")([host])))]) == 2
    assert load_renderer("textfile")([host]).count("\n") == 3


def test_file_is_written_as_a_whole(results):
    folder, sick = results
    target = folder.parent / "sick.prom"
    call("exclude", folder, "--format", "textfile", "-o", target)
    assert sick in target.read_text()
    assert [path.name for path in folder.parent.iterdir() if path.name.startswith(".sick")] == []


def test_scan_tells_its_totals_and_the_sick_hosts(results):
    records, bad = fleet(3, 1, times=30)
    out = io.StringIO()
    load_writer("table")(records, out)
    assert "2,000 jobs: " in out.getvalue()
    assert f"sick hosts: {next(iter(bad))} (" in out.getvalue()
