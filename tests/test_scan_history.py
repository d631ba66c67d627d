"""Queries on the results of scans, and their tables."""

from __future__ import annotations

import pandas as pd
import pytest
from command_line import program
from typer.testing import CliRunner

from logdoctor.archive.checkpoint_log import CheckpointLog, CheckpointWriter
from logdoctor.archive.history import FailureQuery, count_failures, run_sql
from logdoctor.archive.record import CauseRow, JobRecord, RankEntry
from logdoctor.archive.tables import write_parquet
from logdoctor.cli.commands import app
from logdoctor.model import InputError

MONDAY = 1_793_577_600.0  # 2026-11-02
RECORDS = [
    JobRecord(
        "a",
        verdict="failed",
        signature="cuda.ecc",
        hosts=("n1",),
        user="ann",
        changed=MONDAY,
        causes=(CauseRow("cuda.ecc"),),
    ),
    JobRecord("b", verdict="failed", signature="cuda.ecc", hosts=("n1", "n2"), user="bob", changed=MONDAY + 86400),
    JobRecord(
        "c",
        verdict="failed",
        signature="net.dns",
        user="ann",
        changed=MONDAY + 7 * 86400,
        rank_table=(RankEntry(3, "victim"),),
    ),
    JobRecord("d", verdict="finished", signature="finished", user="ann", changed=MONDAY),
    JobRecord("e", status="stalled", changed=MONDAY),
]


@pytest.fixture
def folder(tmp_path):
    writer = CheckpointWriter(tmp_path)
    for record in RECORDS:
        writer.add(record)
    writer.close()
    CheckpointLog(tmp_path).merge_parts()
    return tmp_path


def count(folder, **settings) -> list[tuple]:
    return [row[:2] for row in count_failures([folder], FailureQuery(**settings)).rows]


def test_jobs_of_a_cause_are_told_by_decision(tmp_path):
    writer = CheckpointWriter(tmp_path)
    for job, decision in (("a", "requeue"), ("b", "fix-first"), ("c", "requeue")):
        writer.add(JobRecord(job, verdict="failed", signature="net.dns", decision=decision, changed=MONDAY))
    writer.close()
    CheckpointLog(tmp_path).merge_parts()
    decisions = {by: [row[3] for row in count_failures([tmp_path], FailureQuery(by)).rows] for by in ("cause", "job")}
    assert decisions == {"cause": ["requeue (2), fix-first (1)"], "job": ["requeue", "fix-first", "requeue"]}


def test_causes_are_sorted_by_count(folder):
    assert count(folder) == [("cuda.ecc", 2), ("net.dns", 1)]


def test_failures_are_counted_by_host_user_and_week(folder):
    assert count(folder, by="host") == [("n1", 2), ("n2", 1)]
    assert count(folder, by="user") == [("ann", 2), ("bob", 1)]
    assert count(folder, by="week") == [("2026-11-02", 2), ("2026-11-09", 1)]


def test_only_failures_of_a_family_host_user_or_time_are_counted(folder):
    assert count(folder, cause="cuda") == [("cuda.ecc", 2)]
    assert count(folder, host="n2") == [("cuda.ecc", 1)]
    assert count(folder, user="ann", since=MONDAY + 1) == [("net.dns", 1)]


def test_input_of_a_user_is_no_sql(folder):
    assert count(folder, cause="'; DROP TABLE jobs; --") == []


def test_sql_sees_all_tables(folder):
    sql = "SELECT rank_table.rank FROM jobs JOIN rank_table USING (job) WHERE signature = 'net.dns'"
    assert run_sql([folder], sql).rows == ((3,),)


def test_sql_with_file_access_or_wrong_syntax_is_refused(folder):
    for sql in ("SELECT * FROM read_text('/etc/hostname')", "SELEKT 1"):
        with pytest.raises(InputError, match="not understood"):
            run_sql([folder], sql)


def test_several_scans_are_counted_together(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    writer = CheckpointWriter(other)
    writer.add(JobRecord("z", verdict="failed", signature="net.dns"))
    writer.close()
    CheckpointLog(other).merge_parts()
    assert [row[:2] for row in count_failures([folder, other], FailureQuery()).rows] == [
        ("cuda.ecc", 2),
        ("net.dns", 2),
    ]


def test_program_prints_nothing_beside_the_table(folder):
    done = program("history", folder)
    assert done.stderr == b""
    assert done.stdout.startswith(b"cause ")


def test_folder_without_results_gives_an_error_with_help(tmp_path):
    with pytest.raises(InputError, match="scan ARCHIVE --out"):
        count_failures([tmp_path], FailureQuery())


def test_running_scan_is_counted_so_far(folder):
    assert count(folder) == [("cuda.ecc", 2), ("net.dns", 1)]
    writer = CheckpointWriter(folder)
    writer.add(JobRecord("z", verdict="failed", signature="net.dns"))
    assert count(folder) == [("cuda.ecc", 2), ("net.dns", 2)]
    writer.close()


def test_read_only_results_are_counted_with_temporary_tables(folder, monkeypatch):
    def refused(records, place):
        if place == folder:
            raise PermissionError(13, "Permission denied")
        return write_parquet(records, place)

    monkeypatch.setattr("logdoctor.archive.history.write_parquet", refused)
    assert count(folder) == [("cuda.ecc", 2), ("net.dns", 1)]
    assert not [*folder.glob("*.parquet")]


def test_damaged_table_gives_an_error_with_help(folder):
    count_failures([folder], FailureQuery())
    (folder / "jobs.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="parquet: they are made anew"):
        count_failures([folder], FailureQuery())


def test_pandas_reads_the_tables(folder):
    write_parquet(CheckpointLog(folder).records(), folder)
    jobs = pd.read_parquet(folder / "jobs.parquet")
    assert list(jobs["job"]) == ["a", "b", "c", "d", "e"]
    assert list(jobs.loc[1, "hosts"]) == ["n1", "n2"]
    assert len(pd.read_parquet(folder / "causes.parquet")) == 1


def test_tables_without_jobs_have_columns(tmp_path):
    write_parquet([], tmp_path)
    assert "signature" in pd.read_parquet(tmp_path / "jobs.parquet").columns


def test_csv_cell_is_no_spreadsheet_formula(tmp_path):
    writer = CheckpointWriter(tmp_path)
    writer.add(JobRecord("=cmd|' /C calc'!A0", verdict="failed", signature="net.dns"))
    writer.close()
    CheckpointLog(tmp_path).merge_parts()
    output = CliRunner().invoke(app, ["history", str(tmp_path), "--by", "job", "--format", "csv"]).stdout
    assert "\n'=cmd|" in output
