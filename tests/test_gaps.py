"""`logdoctor rules gaps` counts unexplained failure lines by template."""

from __future__ import annotations

import csv
import io
import json

import pytest
from command_line import call
from failing_job import HEALTHY, LOG
from hypothesis import given
from hypothesis import strategies as st

from logdoctor.authoring.gaps import jobs_of
from logdoctor.pipeline.masking import to_template

pytestmark = pytest.mark.usefixtures("clean_environment")

TORUS = "ERROR: torus link {} lost its partner on sw-{}\n"
HYDRA = "FATAL: hydra gave up after {} s\n"


@pytest.fixture
def archive(tmp_path):
    """Make six jobs: three unknown failures, a known failure, a healthy job, an unreadable job."""
    jobs = {
        "a": TORUS.format(1, 7) + TORUS.format(2, 8),
        "b": TORUS.format(3, 9),
        "c": HYDRA.format(9),
        "d": LOG,
        "e": HEALTHY,
    }
    for name, text in jobs.items():
        (tmp_path / "jobs" / name).mkdir(parents=True)
        (tmp_path / "jobs" / name / "job.log").write_text(text)
    (tmp_path / "jobs" / "f.gz").write_bytes(b"\x1f\x8b no gzip")
    return tmp_path / "jobs"


def rows(*args: object) -> list[dict]:
    return json.loads(call("rules", "gaps", "-f", "json", *args).stdout)


def test_lines_of_one_shape_are_one_row_and_the_most_wanted_comes_first(archive):
    torus, hydra = rows(archive)
    assert (torus["count"], torus["jobs"], torus["unsolved"]) == (3, 2, 2)
    assert torus["template"] == "ERROR: torus link <n> lost its partner on <name>"
    assert torus["example"] == f"{archive}/a/job.log:1"
    assert torus["line"] == TORUS.format(1, 7).strip()
    assert (hydra["count"], hydra["jobs"], hydra["kind"]) == (1, 1, "generic.fatal")


def test_line_that_only_a_catch_all_explains_is_a_gap(tmp_path):
    (tmp_path / "job.log").write_text("[rank5]: RuntimeError: the torus has no seat left for 4711\n")
    (row,) = rows(tmp_path)
    assert (row["unsolved"], row["template"]) == (1, "RuntimeError: the torus has no seat left for <n>")


def test_line_that_a_rule_explains_is_no_gap(archive):
    assert rows(archive / "d") == rows(archive / "e") == []


def test_unreadable_job_is_printed_and_the_others_are_counted(archive):
    result = call("rules", "gaps", archive)
    assert "f.gz" in result.stderr
    assert "2 templates of unexplained failure lines in 5 jobs" in result.stdout


def test_nothing_readable_is_exit_code_3(tmp_path):
    call("rules", "gaps", tmp_path / "gone", code=3)


def test_top_keeps_the_first_rows(archive):
    assert [r["kind"] for r in rows("--top", 1, archive)] == ["generic.error"]


def test_csv_has_a_head_and_a_line_a_row(archive):
    table = list(csv.DictReader(io.StringIO(call("rules", "gaps", "-f", "csv", archive).stdout)))
    assert [(r["count"], r["jobs"]) for r in table] == [("3", "2"), ("1", "1")]


def test_csv_cell_is_never_a_formula(tmp_path):
    (tmp_path / "job.log").write_text("=1+1 ERROR: torus link lost\n")
    (row,) = csv.DictReader(io.StringIO(call("rules", "gaps", "-f", "csv", tmp_path).stdout))
    assert row["line"].startswith("'=1+1")


def test_a_place_of_the_worklist_begins_a_rule(archive, tmp_path):
    place = rows(archive)[0]["example"]
    call("rules", "new", "site.torus", "--from", place, "--rules", tmp_path / "my")
    assert "torus link (?P<link>" in (tmp_path / "my" / "site" / "torus" / "rule.yaml").read_text()


def test_a_log_cannot_act_on_the_screen(tmp_path):
    (tmp_path / "job.log").write_text("ERROR: torus \x1b[2J lost \u202e its partner\n")
    assert not {"\x1b", "\u202e"} & set(call("rules", "gaps", tmp_path).stdout)


def test_a_folder_of_folders_holds_many_jobs_and_a_folder_of_files_one(archive):
    (archive / ".git").mkdir()
    (archive / "weights.safetensors").write_bytes(b"1")
    assert [j.name for j in jobs_of([str(archive)])] == ["a", "b", "c", "d", "e", "f.gz"]
    assert [j.paths for j in jobs_of([str(archive / "a"), "x*.log"])] == [(str(archive / "a"),), ("x*.log",)]


@pytest.mark.parametrize(
    ("line", "masked"),
    [
        ("connect to 10.4.7.13<39117> failed after 35 attempts", "connect to <address> failed after <n> attempts"),
        ("[Rank 3] /home/kim/train.py:88 on gpu-04.site at 12:33:44", "[Rank <n>] <path>:<n> on <name> at <time>"),
        ("KeyError: 'zebra'", "KeyError: '*'"),
        ("ranks 1, 2, 3, 7 missing", "ranks <n>, ... missing"),
        ("comm 0x55d0ab busId 1a000 took 1.5e3s", "comm <hex> busId <id> took <n>s"),
        ("  first line 1\nsecond line", "first line <n>"),
        ("", ""),
    ],
)
def test_values_are_masked_and_words_stay(line, masked):
    assert to_template(line) == masked


@given(st.text(max_size=300))
def test_a_template_is_one_short_line(text):
    assert "\n" not in to_template(text)
