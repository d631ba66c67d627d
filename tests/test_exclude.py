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


def test_every_view_of_the_results_tells_the_decision_of_a_job(tmp_path):
    decisions = ("requeue", "fix-first", "requeue-without-host")
    bad = [
        JobRecord(
            f"bad{n}",
            verdict="failed",
            signature="cuda.ecc",
            hosts=("n1",),
            nodes=("n1", f"m{n}"),
            decision=decisions[n % 3],
            changed=1.8e9,
        )
        for n in range(8)
    ]
    good = [JobRecord(f"good{n}", verdict="finished", signature="finished", nodes=("n2", "n3")) for n in range(60)]
    writer = CheckpointWriter(tmp_path / "results")
    for record in (*bad, *good):
        writer.add(record)
    writer.close()
    counts = "fix-first (3), requeue (3), requeue-without-host (2)"
    out = io.StringIO()
    load_writer("table")([*bad, *good], out)
    assert counts in out.getvalue()
    assert counts in call("history", tmp_path / "results", "--by", "cause").stdout
    assert counts in call("exclude", tmp_path / "results", "--format", "csv").stdout
    assert json.loads(call("exclude", tmp_path / "results", "--format", "json").stdout)[0]["decisions"] == {
        "fix-first": 3,
        "requeue": 3,
        "requeue-without-host": 2,
    }
    page = tmp_path / "fleet.html"
    call("fleet", tmp_path / "results", "-o", page)
    words = {
        "requeue": "Start again as it is",
        "fix-first": "Fix it first",
        "requeue-without-host": "Start again without",
    }
    (_, *rows) = csv.reader(io.StringIO(call("history", tmp_path / "results", "--by", "job", "-f", "csv").stdout))
    told = {row[0]: row[3] for row in rows}
    for record in bad:
        assert told[record.job] == record.decision
        assert re.search(rf"<li>{record.job} <span[^>]*>{words[record.decision]}", page.read_text("utf-8"))
    assert "Fix it first (3), Start again as it is (3), Start again without a host (2)" in page.read_text("utf-8")


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
