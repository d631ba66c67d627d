"""Input of the command line: pipes, files, folders, globs, archives."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstd_library
from command_line import call, report
from failing_job import ANSWER, LOG, answer_of_report

pytestmark = pytest.mark.usefixtures("clean_environment")


def test_a_pipe_without_a_command_is_diagnosed():
    assert "cuda.oom" in call(stdin=LOG).stdout


def test_a_file_without_a_command_is_diagnosed(log):
    assert call(log).stdout.splitlines()[:-1] == call("diagnose", log).stdout.splitlines()[:-1]


def test_an_option_without_a_command_is_diagnose(log):
    assert answer_of_report(json.loads(call("-f", "json", log).stdout)) == ANSWER


def test_events_are_read_from_a_pipe_too():
    assert call("events", stdin=LOG).stdout == call("events", "-", stdin=LOG).stdout != ""


def test_a_dash_is_standard_input():
    assert answer_of_report(report("-", stdin=LOG)) == ANSWER


def tar_gz(folder: Path) -> Path:
    path = folder / "job.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        data = LOG.encode()
        member = tarfile.TarInfo("run/train.log")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return path


def zipped(folder: Path) -> Path:
    path = folder / "job.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("run/train.log", LOG)
    return path


def archive_named(name: str, pack):
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(pack(LOG.encode()))
        return folder / name

    return write


def folder_of(folder: Path) -> Path:
    (folder / "run").mkdir()
    (folder / "run" / "train.log").write_text(LOG)
    return folder / "run"


def glob_of(folder: Path) -> Path:
    return folder_of(folder) / "*.log"


FORMS = {
    "folder": folder_of,
    "glob": glob_of,
    "tar.gz": tar_gz,
    "zip": zipped,
    "gz": archive_named("a.log.gz", gzip.compress),
    "bz2": archive_named("a.log.bz2", bz2.compress),
    "zst": archive_named("a.log.zst", zstd_library.compress),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_input_gives_the_answer_of_the_plain_file(form, tmp_path, log):
    plain, other = report(log), report(FORMS[form](tmp_path))
    assert answer_of_report(other) == answer_of_report(plain) == ANSWER
    assert [e["line"] for e in other["causes"][0]["evidence"]] == [e["line"] for e in plain["causes"][0]["evidence"]]
    assert other["problems"] == []


def test_several_files_are_one_job(tmp_path):
    lines = LOG.splitlines(keepends=True)
    (tmp_path / "a.log").write_text("".join(lines[:7]))
    (tmp_path / "b.log").write_text("".join(lines[7:]))
    diagnosis = report(tmp_path / "a.log", tmp_path / "b.log")
    assert answer_of_report(diagnosis) == ANSWER
    assert [s["signature"] for s in diagnosis["symptoms"]] == ["collective.timeout"]


def test_an_unreadable_file_beside_a_good_one_is_a_problem_in_the_report(log):
    (log.parent / "rest.log.gz").write_bytes(gzip.compress(os.urandom(4000))[:900])
    diagnosis = report(log, log.parent / "rest.log.gz", log.parent / "gone.log", code=3)
    assert answer_of_report(diagnosis) == ANSWER
    assert ["rest.log.gz" in p["where"] or "gone.log" in p["where"] for p in diagnosis["problems"]] == [True, True]
