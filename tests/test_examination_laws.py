"""Laws of the examination, over all cases of the corpus that failed."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
from corpus_cases import CASES, CORPUS, healthy_cases, read_case

from logdoctor.examination import examine
from logdoctor.examination.questions import Scene
from logdoctor.model import Line
from logdoctor.pipeline.closer_look import _read
from logdoctor.pipeline.diagnosis import Analysis, JobReader, make_job
from logdoctor.pipeline.excerpts import AROUND

LOGS = {".log", ".txt", ".out", ".err"}
OTHERS = (
    "[rank977]: RuntimeError: shard 12 of /data/else: expected 40 rows, got 7; version 9.9 is loaded",
    "[rank978]: OSError: [Errno 13] Permission denied: '/else/where'",
    "[rank977]: ValueError: unknown option 'elsewhere', choose from 'a', 'b'",
)
"""Lines of another process, full of values."""


def scenes(case: Path, knowledge) -> list[tuple[Scene, tuple]]:
    logs = sorted(str(path) for path in case.rglob("*") if path.suffix in LOGS)
    reader = JobReader(make_job(logs, case.name), knowledge)
    analysis = Analysis(reader)
    analysis.read_all()
    found = []
    for lead in analysis.observed().reasoner.leading()[:1]:
        rule, record, proof = lead.rule, lead.record, lead.proof
        numbers = [line.number for line in (*record.lines, record.line, proof)]
        before, after = proof.number - min(numbers), max(numbers) - proof.number
        lines = reader.excerpts.around(proof, before + AROUND, after + AROUND)
        parts = rule, record, proof, lines, lead.told
        found.append((Scene(rule, record, proof, lines, _read, lead.told), parts))
    return found


@functools.cache
def healthy_lines() -> tuple[str, ...]:
    texts = [
        line
        for case in healthy_cases()[:40:4]
        for path in sorted(case.rglob("*"))
        if path.suffix in LOGS
        for line in path.read_text("utf-8", "replace").splitlines()[5:12]
    ]
    return tuple(texts)


def with_foreign(rule, record, proof, lines, explained, foreign) -> Scene:
    """Return the scene with foreign lines right above and below the block."""
    own = {line.number for line in (*record.lines, record.line, proof)}
    above = [line for line in lines if line.number < min(own)]
    below = [line for line in lines if line.number > max(own)]
    new_above = [Line(proof.file, min(own) - len(foreign) + i, text) for i, text in enumerate(foreign)]
    new_below = [Line(proof.file, max(own) + 1 + i, text) for i, text in enumerate(foreign)]
    moved_up = [Line(line.file, line.number - len(foreign), line.text) for line in above]
    moved_down = [Line(line.file, line.number + len(foreign), line.text) for line in below]
    moved = {
        line.number + len(foreign) * (1 if line.number > max(own) else -1 if line.number < min(own) else 0): line
        for line in lines
    }
    told = {(line.file, number) for number, line in moved.items() if (line.file, line.number) in explained}
    inside = [line for line in lines if line.number in own]
    return Scene(rule, record, proof, [*moved_up, *new_above, *inside, *new_below, *moved_down], _read, told)


def told(scene: Scene) -> list[tuple]:
    found = examine(scene)
    return [
        *((answer.kind, answer.form, tuple(answer.fields.items())) for answer in found.answers),
        *((fact.type, fact.role, fact.value) for fact in found.known.facts),
    ]


FAILED = [case for case in CASES if read_case(case)["label"] != "healthy"]


@pytest.mark.parametrize("part", range(8))
def test_lines_of_another_process_change_no_answer(part, knowledge):
    for case in FAILED[part::24]:
        for scene, parts in scenes(case, knowledge):
            assert told(with_foreign(*parts, OTHERS * 10)) == told(scene), case.name


@pytest.mark.parametrize("part", range(8))
def test_lines_of_a_healthy_log_add_no_answer(part, knowledge):
    for case in FAILED[part::24]:
        for scene, parts in scenes(case, knowledge):
            found = told(with_foreign(*parts, healthy_lines()[:30]))
            assert not [each for each in found if each not in told(scene)], case.name


def test_corpus_is_where_the_laws_look():
    assert len(FAILED) > 300
    assert CORPUS.is_dir()
