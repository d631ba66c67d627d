"""New line templates, for failures that no rule explains.

These are lines that the job did not print while it was healthy. A good run can be given instead for comparison.

The excerpts of the logs are masked to templates and compared only if the rules leave the answer open.
Without a good run they are compared with the lines well before the first failure.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from logdoctor.inputs import Bounds, open_streams
from logdoctor.model import CALM, Diagnosis, Evidence, InputError, Job, Line, Novel, Problem
from logdoctor.model.catalogue import Catalogue
from logdoctor.pipeline.excerpts import Excerpt, Excerpts

CHUNK_BYTES = 1 << 18
MAX_LINES = 6000
MAX_SHAPES = 800
"""Lines and shapes that are compared. Of a good run ten times as many are taken."""
BASELINE_BYTES = 64 << 20
"""Bytes that are read of a good run."""
MIN_TEMPLATE_CHARS = 4
MIN_HEALTHY_LINES = 8
"""A shorter healthy phase does not show which lines are unusual."""
MARGIN_LINES = 20
"""Lines before the first failure that do not count as healthy, because trouble may begin unnoticed."""
MAX_SHOWN = 6
FREQUENT = 8
"""A line that is printed more often is seldom the cause."""
NUMBERS = re.compile(r"[0-9a-fA-F]*\d[0-9a-fA-F]*")
ALARM_WORDS = re.compile(
    r"(?i)error|fail|fatal|exception|cannot|can't|could not|unable|refus|denied|invalid|abort|panic|lost|timed? ?out"
    r"|corrupt|missing|not found|unexpected|exceed|mismatch|broken|killed|died|unreachable|no such|critical|warn"
)


def add_new_templates(diagnosis: Diagnosis, excerpts: Excerpts, words: Catalogue, baseline: str = "") -> Diagnosis:
    """Add new lines to a diagnosis without a cause from a rule.

    Any other diagnosis is returned as it is. A ``baseline`` that cannot be read becomes a problem of the diagnosis.
    """
    if (diagnosis.verdict in CALM and not baseline) or any(c.by == "rule" for c in diagnosis.causes):
        return diagnosis
    first_failure = diagnosis.job.first_failure.line if diagnosis.job.first_failure else None
    try:
        healthy = _good_run_templates(baseline) if baseline else _healthy_phase_templates(excerpts.logs, first_failure)
    except InputError as error:
        return replace(diagnosis, problems=(*diagnosis.problems, error.as_problem()))
    if not healthy:
        return diagnosis
    shown_places = {(e.line.file, e.line.number) for e in diagnosis.unexplained}
    why = words("why.new.good" if baseline else "why.new")
    new_lines = _find_new(excerpts.logs, first_failure, healthy, shown_places)
    return replace(diagnosis, novel=tuple(_with_reason(novel, why, words) for novel in new_lines[:MAX_SHOWN]))


def _with_reason(novel: Novel, why: str, words: Catalogue) -> Novel:
    why += words("why.new.times", n=novel.count) if novel.count > 1 else ""
    return replace(novel, evidence=replace(novel.evidence, why=why))


def _good_run_templates(baseline: str) -> set[str]:
    """Return the templates of the excerpts of a good run."""
    problems: list[Problem] = []
    excerpts, remaining = Excerpts(), BASELINE_BYTES
    buffer = memoryview(bytearray(CHUNK_BYTES))
    for stream in open_streams(Job(Path(baseline).name, (baseline,)), problems, Bounds()):
        if stream.document:
            continue
        read = excerpts.record(stream.name, stream.readinto)
        while remaining > 0 and (count := read(buffer)):
            remaining -= count
    if not excerpts.logs:
        raise InputError("the log of a good run cannot be read", baseline, problems[0].why if problems else "")
    return _templates((text for log in excerpts.logs for text in log.texts()), MAX_SHAPES * 10)


def _healthy_phase_templates(logs: Iterable[Excerpt], first_failure: Line | None) -> set[str]:
    """Return the templates printed before trouble began.

    Return an empty set if the phase has fewer than `MIN_HEALTHY_LINES` lines.
    """
    texts: list[str] = []
    for log in logs:
        end = max(0, first_failure.number - MARGIN_LINES) if first_failure and first_failure.file == log.name else None
        if end is None:  # a log without the first failure: its first half counts as healthy
            end = log.lines // 2
        lines = {line.number: line.text for line in (*log.first_lines(), *log.last_lines())}
        texts += (text for number, text in lines.items() if number < end)
        if end >= log.lines // 2:
            texts += log.middle_lines()
    templates = _templates(texts)
    return templates if len(texts) >= MIN_HEALTHY_LINES else set()


def _templates(texts: Iterable[str], limit: int = MAX_SHAPES) -> set[str]:
    """Return the templates of ``texts``.

    Masking is slow, so of lines that differ in numbers alone only the first is masked.
    """
    from logdoctor.pipeline.masking import to_template

    shapes = dict.fromkeys(map(_shape, itertools.islice(texts, MAX_LINES * limit // MAX_SHAPES)))
    return {to_template(shape) for shape in itertools.islice(shapes, limit)}


def _shape(text: str) -> str:
    return NUMBERS.sub("0", text)


def _find_new(
    logs: Iterable[Excerpt], first_failure: Line | None, healthy: set[str], shown_places: set[tuple[str, int]]
) -> list[Novel]:
    """Return templates printed around and after the first failure and not ``healthy``.

    Templates with alarm words come first, then rare templates.
    """
    from logdoctor.pipeline.masking import to_template

    groups: dict[str, list[Line]] = {}
    for line in itertools.islice((line for log in logs for line in _candidates(log, first_failure)), MAX_LINES):
        if line.text.strip() and (line.file, line.number) not in shown_places:
            groups.setdefault(_shape(line.text), []).append(line)
    new_lines: dict[str, Novel] = {}
    for shape, lines in itertools.islice(groups.items(), MAX_SHAPES):
        masked = to_template(shape)
        if len(masked) >= MIN_TEMPLATE_CHARS and masked not in healthy:
            first = new_lines.setdefault(masked, Novel(masked, 0, Evidence(lines[0])))
            new_lines[masked] = replace(first, count=first.count + len(lines))
    return sorted(new_lines.values(), key=lambda n: (not ALARM_WORDS.search(n.template), n.count > FREQUENT))


def _candidates(log: Excerpt, first_failure: Line | None) -> Iterator[Line]:
    start = first_failure.number - MARGIN_LINES if first_failure and first_failure.file == log.name else log.lines // 2
    numbers: set[int] = set()
    for line in (*log.first_lines(), *log.last_lines()):
        if line.number >= start and line.number not in numbers:
            numbers.add(line.number)
            yield line
