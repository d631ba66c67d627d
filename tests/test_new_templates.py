"""New lines of a failure that no rule explains."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from typer.testing import CliRunner

from logdoctor.cli.commands import app
from logdoctor.model import Diagnosis
from logdoctor.pipeline.diagnosis import diagnose
from logdoctor.pipeline.excerpts import END_BYTES, MAX_LOGS, START_BYTES, Excerpt, Excerpts
from logdoctor.pipeline.knowledge import Knowledge
from logdoctor.pipeline.new_templates import MAX_SHOWN

STEPS = "".join(f"step {n}/900 loss 2.{n} lr 3e-4\nheartbeat of shard {n} ok\n" for n in range(200))
TROUBLE = "quokka ring left its lane at hop 7\nRuntimeError: the quokka is gone\n"


def diagnose_text(log: str, knowledge: Knowledge, **more: str) -> Diagnosis:
    return diagnose(io.BytesIO(log.encode()), knowledge=knowledge, **more)


@pytest.fixture(scope="module")
def diagnosis(knowledge: Knowledge) -> Diagnosis:
    return diagnose_text(STEPS + "ERROR quokkas: ring unwell\n" + "quokka ring left its lane at hop 7\n" * 3, knowledge)


def test_new_line_is_shown_with_its_position_and_count(diagnosis: Diagnosis) -> None:
    assert diagnosis.verdict == "unknown"
    (novel,) = [n for n in diagnosis.novel if "lane" in n.template]
    assert (novel.template, novel.count, novel.evidence.line.number) == ("quokka ring left its lane at hop <n>", 3, 402)
    assert "3 times" in novel.evidence.why


def test_regular_lines_of_the_job_are_not_new(diagnosis: Diagnosis) -> None:
    assert not [n for n in diagnosis.novel if "heartbeat" in n.template or "loss" in n.template]


def test_unexplained_line_is_not_listed_as_new(diagnosis: Diagnosis) -> None:
    places = [e.line.number for e in diagnosis.unexplained]
    assert 401 in places
    assert 401 not in [n.evidence.line.number for n in diagnosis.novel]


def test_json_holds_the_new_lines(diagnosis: Diagnosis) -> None:
    novel_json = diagnosis.to_dict()["novel"]
    assert {"template", "count", "evidence"} == novel_json[0].keys()


def test_answer_from_a_rule_has_no_new_lines(knowledge: Knowledge) -> None:
    log = STEPS + "quokka ring left its lane\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB\n"
    diagnosis = diagnose_text(log, knowledge)
    assert diagnosis.causes[0].by == "rule"
    assert diagnosis.novel == ()


def test_log_without_a_healthy_phase_has_no_new_lines(knowledge: Knowledge) -> None:
    diagnosis = diagnose_text("odd line\nERROR quokkas: ring unwell\nanother odd line\n", knowledge)
    assert (diagnosis.verdict, diagnosis.novel) == ("unknown", ())


def test_good_run_replaces_the_healthy_phase(knowledge: Knowledge, tmp_path: Path) -> None:
    good = tmp_path / "good.log"
    good.write_text(STEPS + "quokka ring left its lane at hop 9\n")
    log = "quokka ring left its lane at hop 2\nzebra rail bent\nERROR quokkas: ring unwell\n"
    diagnosis = diagnose_text(log, knowledge, baseline=str(good))
    assert [n.template for n in diagnosis.novel] == ["zebra rail bent"]
    assert "good run" in diagnosis.novel[0].evidence.why


def test_unreadable_good_run_is_a_problem(knowledge: Knowledge, tmp_path: Path) -> None:
    diagnosis = diagnose_text("ERROR quokkas: ring unwell\n", knowledge, baseline=str(tmp_path / "none.log"))
    assert diagnosis.verdict == "unknown"
    assert diagnosis.problems


def test_loud_and_rare_lines_come_first_and_few_are_shown(knowledge: Knowledge) -> None:
    shapes = "".join(f"{word} moved along\n" for word in "alpha beta gamma delta omega sigma kappa theta".split())
    log = STEPS + "ERROR quokkas: ring unwell\n" + shapes + "zebra rail not found\n"
    diagnosis = diagnose_text(log, knowledge)
    assert len(diagnosis.novel) == MAX_SHOWN
    assert diagnosis.novel[0].template == "zebra rail not found"


def test_the_excerpt_of_a_long_log_is_bounded_and_knows_its_line_numbers() -> None:
    log = Excerpt("a.log")
    rest = b""
    for n in range(400):
        chunk = b"".join(b"line %d\n" % i for i in range(n * 5000, (n + 1) * 5000))
        log.add(rest + chunk[:-3])
        rest = chunk[-3:]
    log.add(rest)
    log.lines = 400 * 5000
    assert len(log.start) == START_BYTES
    assert len(log.end) == END_BYTES
    assert sum(map(len, log.samples)) < 1 << 20
    assert all(line.text == f"line {line.number - 1}" for line in [*log.last_lines()][:-1])
    assert all(line.text == f"line {line.number - 1}" for line in log.first_lines())


def test_excerpts_are_kept_of_a_bounded_number_of_logs() -> None:
    excerpts = Excerpts()
    for n in range(MAX_LOGS + 5):
        excerpts.record(f"{n}.log", lambda _: 0)
    assert len(excerpts.logs) == MAX_LOGS


@pytest.mark.parametrize("format", ["text", "markdown", "html", "json"])
def test_every_output_format_shows_new_lines(format: str, tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(STEPS + "ERROR quokkas: ring unwell\nzebra rail not found\n")
    output = CliRunner().invoke(app, ["diagnose", "--all", "--lang", "en", "-f", format, str(log)]).stdout
    assert "zebra rail not found" in output
    assert "never printed while all was well" in " ".join(output.split())


def test_baseline_is_heeded_if_no_failure_is_seen(tmp_path: Path) -> None:
    good, log = tmp_path / "good.log", tmp_path / "job.log"
    good.write_text(STEPS)
    log.write_text(STEPS + "the zebra valve 17 is stuck\n")
    call = ["diagnose", "--lang", "en", str(log)]
    assert "NO END SEEN" in CliRunner().invoke(app, call).stdout
    assert "zebra" not in CliRunner().invoke(app, call).stdout
    assert "zebra valve 17" in CliRunner().invoke(app, [*call, "--baseline", str(good)]).stdout
