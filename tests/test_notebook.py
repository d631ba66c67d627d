"""A diagnosis in a notebook, and records as tables."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import pandas as pd
import pytest
from command_line import call, program
from failing_job import LOG
from render_diagnoses import ALL, OOM

from logdoctor.event_tables import COLUMNS
from logdoctor.model import Diagnosis

# ── frames ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_frame_of_events_has_a_row_for_each_line_that_is_shown():
    frame = OOM.events_frame()
    first = OOM.causes[0].evidence[0]
    assert len(frame[frame.part == "cause"]) == sum(len(cause.evidence) for cause in OOM.causes)
    assert frame.iloc[0][["signature", "file", "line", "text"]].tolist() == [
        "host.oom-kill", first.line.file, first.line.number, first.line.text
    ]  # fmt: skip


def test_a_frame_of_ranks_has_a_row_for_each_rank():
    found = ALL["thousand-ranks"]
    frame = found.ranks_frame()
    assert list(frame.index) == [row.rank for row in found.picture.rank_table]
    assert list(frame.role) == [row.role for row in found.picture.rank_table]


def test_times_are_times_and_numbers_are_whole():
    frame = OOM.events_frame()
    assert pd.api.types.is_datetime64_any_dtype(frame.time)
    assert str(frame["rank"].dtype) == "Int64"
    assert frame.time.dropna().dt.year.tolist() == [2025] * frame.time.notna().sum()


@pytest.mark.parametrize("found", [*ALL.values(), Diagnosis("none", "healthy")], ids=[*ALL, "empty"])
def test_every_diagnosis_has_frames(found):
    assert "part" in found.events_frame().columns
    assert found.ranks_frame().index.name == "rank"


def test_a_time_that_is_no_date_is_left_open():
    from msgspec.structs import replace

    odd = replace(OOM.causes[0].evidence[0], time=9e300)
    frame = replace(OOM, causes=(replace(OOM.causes[0], evidence=(odd,)),)).events_frame()
    assert frame[frame.part == "cause"].time.isna().all()


def test_a_notebook_shows_the_page_in_a_frame_that_can_do_nothing():
    shown = OOM._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert " sandbox " in shown
    assert shown.count("<") == 2
    assert "host.oom-kill" in shown


def test_pandas_is_not_loaded_by_a_diagnosis():
    code = "import logdoctor.model, logdoctor.diagnosis, sys; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ── logdoctor events ────────────────────────────────────────────────────────────────────────────────────────────────


def records(log) -> list[dict]:
    return [json.loads(line) for line in call("events", log).stdout.splitlines()]


def test_csv_has_a_row_for_each_record(log, surroundings):
    rows = [*csv.DictReader(io.StringIO(call("events", "-f", "csv", log).stdout))]
    lines = records(log)
    assert [(row["kind"], int(row["line"])) for row in rows] == [(one["kind"], one["line"]) for one in lines]
    assert json.loads(rows[0]["fields"]) == lines[0]["fields"]


def test_parquet_has_a_row_for_each_record(log, surroundings, tmp_path):
    pytest.importorskip("pyarrow")
    assert call("events", "-f", "parquet", "-o", tmp_path / "e.parquet", log).stdout == ""
    frame = pd.read_parquet(tmp_path / "e.parquet")
    assert list(frame.columns) == list(COLUMNS)
    assert list(frame.kind) == [one["kind"] for one in records(log)]


def test_parquet_goes_through_a_pipe_too(log, surroundings):
    pytest.importorskip("pyarrow")
    out = program("events", "-f", "parquet", log).stdout
    assert len(pd.read_parquet(io.BytesIO(out))) == len(records(log))


def test_no_cell_is_a_formula(tmp_path, surroundings):
    path = tmp_path / "=cmd.log"
    path.write_text(LOG)
    for row in csv.reader(io.StringIO(call("events", "-f", "csv", path).stdout)):
        assert not any(cell.startswith(("=", "+", "@")) for cell in row)


def test_an_unknown_format_is_wrong_usage(log, surroundings):
    assert "none of jsonl, csv, parquet" in call("events", "-f", "xml", log, code=2).stderr


def test_an_output_that_cannot_be_written_is_wrong_usage(log, surroundings, tmp_path):
    assert "cannot be written" in call("events", "-o", tmp_path / "no" / "e.csv", log, code=2).stderr
