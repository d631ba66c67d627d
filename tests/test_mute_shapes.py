"""Lines like many others that told nothing are not looked at again, and only those."""

from __future__ import annotations

import pytest

from logdoctor.model import Candidate
from logdoctor.parsers.line_parser import LineParser
from logdoctor.parsers.mute_shapes import ENOUGH, MOST, MuteShapes, shape


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (b"09:46:42 step 17: 0 failed", b"12:01:59 step 800: 0 failed", True),
        (b"0 failed", b"1 failed", False),
        (b"0 failed", b"10 failed", False),
        (b"0.000 errors/s", b"0.001 errors/s", False),
        (b"worker 3 failed", b"server 3 failed", False),
    ],
)
def test_lines_are_of_one_shape_if_they_differ_in_numbers_that_are_not_zero(one, other, alike):
    assert (shape(one) == shape(other)) is alike


def test_a_shape_tells_nothing_when_enough_lines_of_it_told_nothing():
    mute = MuteShapes()
    for number in range(1, ENOUGH):
        mute.note(b"pass %d: 0 failed" % number)
    assert not mute.tells_nothing(b"pass 7777: 0 failed")
    mute.note(b"pass 3: 0 failed")
    assert mute.tells_nothing(b"pass 7777: 0 failed")
    assert not mute.tells_nothing(b"pass 7777: 2 failed")


def test_only_so_many_shapes_are_counted():
    mute = MuteShapes()
    for number in range(2 * MOST):
        for _ in range(ENOUGH):
            mute.note(b"x" * number)
    assert sum(mute.tells_nothing(b"x" * number) for number in range(2 * MOST)) == MOST


def test_of_a_thousand_lines_that_tell_nothing_few_are_looked_at_and_what_follows_is_an_event(knowledge):
    search = knowledge.prefilter.match
    parser = LineParser("job.log", search, alone=knowledge.prefilter.standalone)
    lines = [b"[INFO] pass %d: status=ok, 0 jobs failed" % n for n in range(1, 1000)]
    lines.append(b"[INFO] pass 1000: RuntimeError: the 3rd stage is gone")
    events = [
        event
        for number, raw in enumerate(lines, 1)
        for event in parser.parse(Candidate(raw, number, search(raw), lambda: iter(())))
    ]
    assert [event.line.number for event in events] == [*range(1, ENOUGH + 1), 1000]
