"""Line templates that never produced a record are skipped."""

from __future__ import annotations

import pytest

from logdoctor.logs.line_parser import LineParser
from logdoctor.logs.quiet_templates import MAX_TEMPLATES, QUIET_AFTER, MuteShapes, template
from logdoctor.model import Candidate
from logdoctor.reasoning.findings.symptoms import load_index


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        (b"09:46:42 step 17: 0 failed", b"12:01:59 step 800: 0 failed", True),
        (b"0 failed", b"1 failed", False),
        (b"0 failed", b"10 failed", False),
        (b"0.000 errors/s", b"0.001 errors/s", False),
        (b"worker 3 failed", b"server 3 failed", False),
    ],
)
def test_lines_that_differ_in_nonzero_numbers_have_one_template(first, second, alike):
    assert (template(first) == template(second)) is alike


def test_template_is_quiet_after_enough_lines_without_record():
    quiet = MuteShapes()
    for number in range(1, QUIET_AFTER):
        quiet.count(b"pass %d: 0 failed" % number)
    assert not quiet.is_quiet(b"pass 7777: 0 failed")
    quiet.count(b"pass 3: 0 failed")
    assert quiet.is_quiet(b"pass 7777: 0 failed")
    assert not quiet.is_quiet(b"pass 7777: 2 failed")


def test_number_of_templates_is_bounded():
    quiet = MuteShapes()
    for number in range(2 * MAX_TEMPLATES):
        for _ in range(QUIET_AFTER):
            quiet.count(b"x" * number)
    assert sum(quiet.is_quiet(b"x" * number) for number in range(2 * MAX_TEMPLATES)) == MAX_TEMPLATES


def test_quiet_lines_are_skipped_and_the_error_below_is_parsed(knowledge):
    search = knowledge.matcher.match
    parsed: list[str] = []
    symptoms = load_index(knowledge.rules, knowledge.scanned)
    parser = LineParser("job.log", search, 0, lambda *line: parsed.append(line[0]) or symptoms.confirm(*line))
    lines = [b"[INFO] pass %d: status=ok, 0 jobs failed" % n for n in range(1, 1000)]
    lines.append(b"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB")
    records = [
        record
        for number, raw in enumerate(lines, 1)
        for record in parser.parse(Candidate(raw, number, search(raw), lambda: iter(())))
    ]
    assert [record.line.number for record in records] == [1000]
    assert len(parsed) == QUIET_AFTER
