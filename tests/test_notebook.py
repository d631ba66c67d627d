"""Diagnoses in a notebook, records as tables."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from types import SimpleNamespace

import pandas as pd
import pytest
from command_line import call, program
from failing_job import LOG
from render_diagnoses import ALL, OOM

import logdoctor
from logdoctor.model import Diagnosis
from logdoctor.notebook import events_frame, page_in_frame, ranks_frame
from logdoctor.render.record_tables import COLUMNS

# ── frames ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_events_frame_has_row_per_evidence_line():
    frame = events_frame(OOM)
    first = OOM.causes[0].evidence[0]
    assert len(frame[frame.part == "cause"]) == sum(len(cause.evidence) for cause in OOM.causes)
    assert frame.iloc[0][["signature", "file", "line", "text"]].tolist() == [
        "host.oom-kill", first.line.file, first.line.number, first.line.text
    ]  # fmt: skip


def test_ranks_frame_has_row_per_rank():
    diagnosis = ALL["thousand-ranks"]
    frame = ranks_frame(diagnosis)
    assert list(frame.index) == [row.rank for row in diagnosis.job.rank_table]
    assert list(frame.role) == [row.role for row in diagnosis.job.rank_table]


def test_frame_columns_are_datetimes_and_integers():
    frame = events_frame(OOM)
    assert pd.api.types.is_datetime64_any_dtype(frame.time)
    assert str(frame["rank"].dtype) == "Int64"
    assert frame.time.dropna().dt.year.tolist() == [2025] * frame.time.notna().sum()


@pytest.mark.parametrize("diagnosis", [*ALL.values(), Diagnosis("none", "finished")], ids=[*ALL, "empty"])
def test_every_diagnosis_has_frames(diagnosis):
    assert "part" in events_frame(diagnosis).columns
    assert ranks_frame(diagnosis).index.name == "rank"


def test_time_beyond_calendar_becomes_nat():
    from msgspec.structs import replace

    odd = replace(OOM.causes[0].evidence[0], time=9e300)
    frame = events_frame(replace(OOM, causes=(replace(OOM.causes[0], evidence=(odd,)),)))
    assert frame[frame.part == "cause"].time.isna().all()


def test_page_is_shown_in_frame_without_scripts():
    page = page_in_frame(OOM)
    assert page.startswith("<iframe srcdoc=")
    assert " sandbox " in page
    assert page.count("<") == 2
    assert "host.oom-kill" in page


class Shell:
    """A stand-in for an IPython shell, as `load_ipython_extension` needs it."""

    def __init__(self):
        self.html, self.plain = {}, {}
        formatters = {
            "text/html": SimpleNamespace(for_type=self.html.__setitem__),
            "text/plain": SimpleNamespace(for_type=self.plain.__setitem__),
        }
        self.display_formatter = SimpleNamespace(formatters=formatters)


def test_diagnose_in_notebook_registers_page(monkeypatch):
    shell = Shell()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert callable(logdoctor.diagnose)
    assert shell.html == {Diagnosis: page_in_frame}


def test_ipython_without_shell_is_left_alone(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert callable(logdoctor.diagnose)


def test_load_ext_logdoctor_registers_page():
    shell = Shell()
    logdoctor.load_ipython_extension(shell)
    assert shell.html == {Diagnosis: page_in_frame}


def test_terminal_of_ipython_shows_the_screen():
    shell, said, cycle = Shell(), [], False
    logdoctor.load_ipython_extension(shell)
    shell.plain[Diagnosis](OOM, SimpleNamespace(text=said.append), cycle)
    assert said == [str(OOM)]


def test_notebook_is_not_loaded_outside_ipython():
    code = "import logdoctor, sys; logdoctor.diagnose; sys.exit('logdoctor.notebook' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_diagnosis_does_not_import_pandas():
    code = "import logdoctor.model, logdoctor.pipeline.diagnosis, sys; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ── logdoctor events ────────────────────────────────────────────────────────────────────────────────────────────────


def records(log) -> list[dict]:
    return [json.loads(line) for line in call("events", log).stdout.splitlines()]


def test_csv_has_row_per_record(log, clean_environment):
    rows = [*csv.DictReader(io.StringIO(call("events", "-f", "csv", log).stdout))]
    lines = records(log)
    assert [(row["kind"], int(row["line"])) for row in rows] == [(record["kind"], record["line"]) for record in lines]
    assert json.loads(rows[0]["fields"]) == lines[0]["fields"]


def test_parquet_has_row_per_record(log, clean_environment, tmp_path):
    pytest.importorskip("pyarrow")
    assert call("events", "-f", "parquet", "-o", tmp_path / "e.parquet", log).stdout == ""
    frame = pd.read_parquet(tmp_path / "e.parquet")
    assert list(frame.columns) == list(COLUMNS)
    assert list(frame.kind) == [record["kind"] for record in records(log)]


def test_parquet_is_written_to_pipe(log, clean_environment):
    pytest.importorskip("pyarrow")
    out = program("events", "-f", "parquet", log).stdout
    assert len(pd.read_parquet(io.BytesIO(out))) == len(records(log))


def test_csv_cell_is_never_formula(tmp_path, clean_environment):
    path = tmp_path / "=cmd.log"
    path.write_text(LOG)
    for row in csv.reader(io.StringIO(call("events", "-f", "csv", path).stdout)):
        assert not any(cell.startswith(("=", "+", "@")) for cell in row)


def test_unknown_format_is_wrong_usage(log, clean_environment):
    assert "none of jsonl, csv, parquet" in call("events", "-f", "xml", log, code=2).stderr


def test_unwritable_output_ends_with_3(log, clean_environment, tmp_path):
    assert "cannot be written" in call("events", "-o", tmp_path / "no" / "e.csv", log, code=3).stderr
