"""Questions to the results of scans, and their tables."""

from __future__ import annotations

import pandas as pd
import pytest
from typer.testing import CliRunner

from logdoctor.cli import app
from logdoctor.model import InputError
from logdoctor.scan.checkpoint_log import CheckpointLog, CheckpointWriter
from logdoctor.scan.history import FailureQuery, count_failures, run_sql
from logdoctor.scan.record import CauseRow, JobRecord, RankEntry
from logdoctor.scan.tables import write_parquet

MONDAY = 1_793_577_600.0  # 2026-11-02
RECORDS = [
    JobRecord(
        "a",
        verdict="failure",
        signature="cuda.ecc",
        hosts=("n1",),
        user="ann",
        changed=MONDAY,
        causes=(CauseRow("cuda.ecc"),),
    ),
    JobRecord("b", verdict="failure", signature="cuda.ecc", hosts=("n1", "n2"), user="bob", changed=MONDAY + 86400),
    JobRecord(
        "c",
        verdict="failure",
        signature="net.dns",
        user="ann",
        changed=MONDAY + 7 * 86400,
        rank_table=(RankEntry(3, "victim"),),
    ),
    JobRecord("d", verdict="healthy", signature="healthy", user="ann", changed=MONDAY),
    JobRecord("e", status="stalled", changed=MONDAY),
]


@pytest.fixture
def folder(tmp_path):
    landing = CheckpointWriter(tmp_path)
    for record in RECORDS:
        landing.add(record)
    landing.close()
    CheckpointLog(tmp_path).merge_parts()
    return tmp_path


def counted(folder, **how) -> list[tuple]:
    return [row[:2] for row in count_failures([folder], FailureQuery(**how)).rows]


def test_failures_are_counted_by_cause_the_most_frequent_first(folder):
    assert counted(folder) == [("cuda.ecc", 2), ("net.dns", 1)]


def test_failures_are_counted_by_host_user_and_week(folder):
    assert counted(folder, by="host") == [("n1", 2), ("n2", 1)]
    assert counted(folder, by="user") == [("ann", 2), ("bob", 1)]
    assert counted(folder, by="week") == [("2026-11-02", 2), ("2026-11-09", 1)]


def test_only_failures_of_a_family_host_user_or_time_are_counted(folder):
    assert counted(folder, cause="cuda") == [("cuda.ecc", 2)]
    assert counted(folder, host="n2") == [("cuda.ecc", 1)]
    assert counted(folder, user="ann", since=MONDAY + 1) == [("net.dns", 1)]


def test_words_of_a_user_are_values_and_no_sql(folder):
    assert counted(folder, cause="'; DROP TABLE jobs; --") == []


def test_a_question_in_sql_sees_all_tables(folder):
    sql = "SELECT rank_table.rank FROM jobs JOIN rank_table USING (job) WHERE signature = 'net.dns'"
    assert run_sql([folder], sql).rows == ((3,),)


def test_a_question_in_sql_reaches_no_file_and_a_wrong_one_is_told(folder):
    for sql in ("SELECT * FROM read_text('/etc/hostname')", "SELEKT 1"):
        with pytest.raises(InputError, match="not understood"):
            run_sql([folder], sql)


def test_several_scans_are_asked_together(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    landing = CheckpointWriter(other)
    landing.add(JobRecord("z", verdict="failure", signature="net.dns"))
    landing.close()
    CheckpointLog(other).merge_parts()
    assert [row[:2] for row in count_failures([folder, other], FailureQuery()).rows] == [
        ("cuda.ecc", 2),
        ("net.dns", 2),
    ]


def test_a_folder_without_results_is_an_error_that_says_what_to_do(tmp_path):
    with pytest.raises(InputError, match="scan ARCHIVE --out"):
        count_failures([tmp_path], FailureQuery())


def test_a_scan_that_is_not_at_its_end_is_asked_for_what_landed(folder):
    assert counted(folder) == [("cuda.ecc", 2), ("net.dns", 1)]
    landing = CheckpointWriter(folder)
    landing.add(JobRecord("z", verdict="failure", signature="net.dns"))
    assert counted(folder) == [("cuda.ecc", 2), ("net.dns", 2)]
    landing.close()


def test_results_of_somebody_else_can_be_asked_without_writing_there(folder, monkeypatch):
    def refused(records, place):
        if place == folder:
            raise PermissionError(13, "Permission denied")
        return write_parquet(records, place)

    monkeypatch.setattr("logdoctor.scan.history.write_parquet", refused)
    assert counted(folder) == [("cuda.ecc", 2), ("net.dns", 1)]
    assert not [*folder.glob("*.parquet")]


def test_a_damaged_table_is_an_error_that_says_what_to_do(folder):
    count_failures([folder], FailureQuery())
    (folder / "jobs.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="parquet: they are made anew"):
        count_failures([folder], FailureQuery())


def test_pandas_reads_the_tables_in_one_line(folder):
    write_parquet(CheckpointLog(folder).records(), folder)
    jobs = pd.read_parquet(folder / "jobs.parquet")
    assert list(jobs["job"]) == ["a", "b", "c", "d", "e"]
    assert list(jobs.loc[1, "hosts"]) == ["n1", "n2"]
    assert len(pd.read_parquet(folder / "causes.parquet")) == 1


def test_tables_of_no_job_have_their_columns_all_the_same(tmp_path):
    write_parquet([], tmp_path)
    assert "signature" in pd.read_parquet(tmp_path / "jobs.parquet").columns


def test_no_cell_of_a_csv_is_a_formula_for_a_spreadsheet(tmp_path):
    landing = CheckpointWriter(tmp_path)
    landing.add(JobRecord("=cmd|' /C calc'!A0", verdict="failure", signature="net.dns"))
    landing.close()
    CheckpointLog(tmp_path).merge_parts()
    told = CliRunner().invoke(app, ["history", str(tmp_path), "--by", "job", "--format", "csv"]).stdout
    assert "\n'=cmd|" in told
