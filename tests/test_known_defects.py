"""Known defects: told only of a version that a line shows, and only where the answer shows them."""

from __future__ import annotations

import io

import pytest
from msgspec.structs import replace
from packaging.version import Version
from rule_texts import BOOK

from logdoctor import diagnose
from logdoctor.model import Cause, Culprit, DefectRow, Diagnosis, Evidence, JobSummary, Line, PackageRow, RuleError
from logdoctor.pipeline.excerpts import Excerpt, Excerpts
from logdoctor.pipeline.package_versions import version_of
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.verdict.known_defects import tell_defects
from logdoctor.render import render
from logdoctor.render.catalogue import catalogue
from logdoctor.ruleset.defects import read_defects

ROWS = BOOK.defects.rows
LINE = Line("a.log", 1, "version")
ODD = "\u2603"
LOG = """\
n1:77:91 [0] NCCL INFO NCCL version {version}+cuda12.6
n1:77:95 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.66.0.9<41110> failed : Software caused connection abort
"""
TABLE = "# a table\nnccl\t2.1.0\t2.3.0\tcuda.oom\tsays=memory\t2.4.0\t-\tIt leaks.\tNCCL 2.4.0 release notes\n"


def case(row: DefectRow, *, shown: bool = True) -> Diagnosis:
    """Return a diagnosis of the signature of the row, in which its condition holds or does not hold."""
    terms = [term.partition("=") for term in row.when.split("&") if term]
    said = " ".join(values.split(",")[0] for name, _, values in terms if name == "says") if shown else ODD
    others = [(name, values.split(",")[0] or "1") for name, _, values in terms if name != "says" and shown]
    evidence = (Evidence(Line("a.log", 2, said)),)
    cause = Cause(row.signature, "", "", 0.9, "rule", Culprit(), "stop", (), (), evidence, (), values=tuple(others))
    return Diagnosis("job", "failed", causes=(cause,), job=JobSummary(environment=tuple(others)))


def told(diagnosis: Diagnosis, row: DefectRow, version: str | None):
    known = replace(BOOK.defects, rows=(row,))
    seen = (version, LINE) if version is not None else None
    diagnosis, ask = tell_defects(diagnosis, known, lambda _: seen, catalogue("en"))
    return diagnosis.causes[0].defects, ask


def test_every_defect_is_told_of_its_versions_only():
    for row in ROWS:
        for version in filter(None, (row.first, row.last, f"{row.last}+cu12")):
            assert len(told(case(row), row, version)[0]) == 1, row
        for version in ("", "unknown", row.mended or "9999.0"):
            assert told(case(row), row, version) == ((), ()), row


def test_no_defect_is_told_without_its_condition_or_of_another_answer():
    for row in ROWS:
        assert told(case(row, shown=False), row, row.last) == ((), ()), row
        other = replace(case(row), causes=(replace(case(row).causes[0], signature="app.exception-x"),))
        assert told(other, row, row.last) == ((), ()), row


def test_rows_are_unlike_and_in_order():
    keys = [(row.package, Version(row.last), row.signature, row.when) for row in ROWS]
    assert len({*keys}) == len(keys)
    assert [key[:2] for key in keys] == sorted(key[:2] for key in keys)


def test_each_condition_is_narrow_and_its_words_lie_in_no_other_word():
    words = [w for row in ROWS for t in row.when.split("&") if t.startswith("says=") for w in t[5:].split(",")]
    assert all(row.when for row in ROWS)
    assert [word for word in words if word != word.lower() or len(word.strip()) <= 3] == []


def test_sentences_are_plain():
    assert [row for row in ROWS if not row.defect.endswith(".") or len(row.defect) > 120] == []
    ways = [row.way_round for row in ROWS if row.way_round]
    assert [way for way in ways if not way.endswith(".") or len(way) > 120] == []


def test_every_sentence_has_its_chinese_and_there_is_no_other():
    words = dict(BOOK.defects.words)["zh"]
    assert {*words} == {sentence for row in ROWS for sentence in (row.defect, row.way_round) if sentence}
    assert [english for english, other in words.items() if not other.endswith("。")] == []
    assert [english for english, other in words.items() if english.split("`")[1::2] != other.split("`")[1::2]] == []


def test_unknown_version_tells_nothing_and_is_asked_for():
    row = ROWS[0]
    defects, (question,) = told(case(row), row, None)
    assert not defects
    assert BOOK.defects.name(row.package) in question


def test_defect_of_the_version_that_the_log_tells_is_a_step_and_in_json():
    row = next(
        row
        for row in ROWS
        if row.signature == "net.socket-connect" and "connection abort" in row.when and row.package == "nccl"
    )
    diagnosis = diagnose(io.BytesIO(LOG.format(version=row.last).encode()))
    (defect,) = diagnosis.to_dict()["causes"][0]["defects"]
    assert (defect["version"], defect["mended"], defect["line"]) == (row.last, row.mended, 1)
    assert f"Update NCCL to {row.mended} or newer" in diagnosis.causes[0].steps[1].text
    text = render(diagnose(io.BytesIO(LOG.format(version=row.last).encode()), lang="zh"), "text", lang="zh")
    assert f"NCCL 升级到 {row.mended}" in text
    assert BOOK.defects.say(row.defect, "zh") in text.replace("\n", "").replace(" ", "")
    mended = diagnose(io.BytesIO(LOG.format(version=row.mended).encode()))
    assert mended.to_dict()["causes"][0]["defects"] == []


@pytest.mark.parametrize(
    ("package", "line", "version"),
    [
        ("torch", "PyTorch version: 2.3.1+cu121", "2.3.1"),
        ("torch", "torch==2.4.0", "2.4.0"),
        ("torch", "  torch    2.5.1", "2.5.1"),
        ("torch", "torchvision==0.19.0", None),
        ("torch", "rank 0 at torch/distributed/run.py:2.5", None),
        ("nccl", "nvidia-nccl-cu12==2.21.5", "2.21.5"),
        ("openmpi", "Open MPI v5.0.3, package: x", "5.0.3"),
        ("vllm", "Initializing an LLM engine (vLLM version 0.8.5)", "0.8.5"),
        ("nvidia-driver", "| NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4 |", "550.54.15"),
        ("cuda", "| NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4 |", "12.4"),
        ("nccl", "NCCL version 10.0.0.4", None),
    ],
)
def test_version_is_found_in_any_line_that_was_kept(package, line, version):
    row = next(row for row in BOOK.defects.packages if row.package == package)
    found = version_of(row, JobState(), kept(line))
    assert (found and found[0]) == version


def test_two_versions_of_a_package_tell_nothing():
    row = PackageRow("torch", "PyTorch", "torch")
    assert version_of(row, JobState(), kept("torch==2.3.1\ntorch==2.4.0")) is None


@pytest.mark.parametrize(
    "change",
    [
        ("2.3.0", "2.0.0"),
        ("2.4.0\t-", "2.2.0\t-"),
        ("2.1.0", "two"),
        ("cuda.oom", "cuda.nothing"),
        ("nccl\t", "ncll\t"),
        ("says=memory", "sings=memory"),
        ("\tNCCL 2.4.0 release notes", "\t-"),
    ],
)
def test_row_that_cannot_be_right_is_a_fault_with_its_line(tmp_path, change):
    assert faults_of(tmp_path, TABLE) == []
    (fault,) = faults_of(tmp_path, TABLE.replace(*change, 1))
    assert fault.where == f"{tmp_path}/defects.tsv:2"


def faults_of(folder, table: str) -> list[RuleError]:
    errors: list[RuleError] = []
    (folder / "packages.tsv").write_text("nccl\tNCCL\tNCCL\n", "utf-8")
    (folder / "defects.tsv").write_text(table, "utf-8")
    read_defects([folder], {"cuda.oom"}, errors)
    return errors


def kept(text: str) -> Excerpts:
    excerpts = Excerpts()
    excerpt = Excerpt("a.log", lines=text.count("\n") + 1)
    excerpt.add(memoryview(f"{text}\n".encode()))
    excerpts.logs.append(excerpt)
    return excerpts
