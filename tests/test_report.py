"""Documents: texts that are left out or merged because they repeat others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from failing_job import diagnose_log
from msgspec.structs import replace
from render_diagnoses import OOM

import logdoctor
from logdoctor.model import Diagnosis, Evidence, Line, Run, SymptomSeen
from logdoctor.model.answer import Part
from logdoctor.render import render
from logdoctor.render.answer_document import document
from logdoctor.render.catalogue import catalogue
from logdoctor.render.document import Row

WORDS = catalogue("en")


def evidence(number: int, why: str = "") -> Evidence:
    return Evidence(Line("job.log", number, f"line {number}"), why=why)


def with_answer(diagnosis: Diagnosis, **changes) -> Diagnosis:
    first, *rest = diagnosis.causes
    return replace(diagnosis, causes=(replace(first, **changes), *rest))


def run(number: int, title: str, *, told: bool = False) -> Run:
    return Run(
        kind="job",
        verdict="failed",
        signature="cuda.oom",
        title=title,
        file="nohup.out",
        first_line=number * 100,
        last_line=number * 100 + 99,
        told=told,
    )


def blocks(diagnosis: Diagnosis, key: str) -> tuple:
    section = document(diagnosis, WORDS).section(key)
    return section.blocks if section else ()


def test_repeated_why_is_shown_beside_its_first_line_only():
    proof = (evidence(1, "status 12"), evidence(2, "status 12"), evidence(3, "x"))
    assert [line.why for line in blocks(with_answer(OOM, evidence=proof), "proof")] == ["status 12", "", "x"]


def test_line_of_the_last_progress_is_told_in_a_sentence_and_is_the_last_proof():
    places = [line.location for line in blocks(OOM, "proof")]
    assert places == ["slurm-71920.out:90412", "slurm-71920.out:90498", "slurm-71920.out:90377"]
    assert "The last progress was step 4,210 (slurm-71920.out:90377)." in blocks(OOM, "happened")[0].sentences


def test_equal_runs_in_a_row_share_a_line():
    runs = (run(1, "No room"), run(2, "No room"), run(3, "Lost"), run(4, "No room", told=True), run(5, "No room"))
    assert blocks(replace(OOM, runs=runs), "runs") == (
        "Runs 1-2 of 5: cuda.oom — No room · nohup.out:100-299",
        "Run 3 of 5: cuda.oom — Lost · nohup.out:300-399",
        "Run 5 of 5: cuda.oom — No room · nohup.out:500-599",
    )


def test_symptom_on_the_proof_lines_of_its_answer_is_no_fallout():
    answer = with_answer(OOM, evidence=(evidence(1),))
    own = SymptomSeen(answer.causes[0].signature, "again", answer.causes[0].signature, (), 1, (evidence(1),))
    assert blocks(replace(answer, symptoms=(own,)), "fallout") == ()
    elsewhere = replace(own, evidence=(evidence(1), evidence(9)))
    assert [type(row) for row in blocks(replace(answer, symptoms=(elsewhere,)), "fallout")] == [Row]
    other = replace(own, signature="job.preempted")
    assert len(blocks(replace(answer, symptoms=(other,)), "fallout")) == 1


def test_lines_that_differ_in_their_numbers_only_are_shown_three_times(knowledge):
    check = "../aten/src/ATen/native/cuda/Indexing.cu:1308: take: block: [6,0,0], thread: [{},0,0] Assertion `i < n` failed."
    diagnosis = diagnose_log("".join(f"{check.format(thread)}\n" for thread in range(9)), knowledge)
    assert diagnosis.causes[0].signature == "cuda.device-assert"
    assert len(diagnosis.causes[0].evidence) == 3


STYLES = sorted(Path(logdoctor.__file__).parent.rglob("*.css"))


@pytest.mark.parametrize("style", STYLES, ids=lambda path: path.name)
def test_no_colour_of_a_style_is_defined_twice(style):
    for block in re.findall(r"\{([^{}]*)\}", style.read_text("utf-8")):
        names = re.findall(r"(--[\w-]+):", block)
        assert len(names) == len(set(names)), block


def test_verdict_of_a_page_is_no_part_of_a_rank():
    classes = re.search(r'<body class="([^"]*)"', render(OOM, "html"))[1].split()
    assert {*classes}.isdisjoint(get_args(Part))
