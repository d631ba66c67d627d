"""Connections that NCCL was still trying to open when the log ended."""

from __future__ import annotations

from question_probe import derive

from logdoctor.reasoning.questions.links import still_trying

RETRY = "gx07:5120:5288 [3] NCCL INFO socketPollConnect: connect to 10.44.7.12<40311> returned Connection refused, "
COMPLETE = "gx07:5120:5288 [3] NCCL INFO comm 0x55d1 rank 3 nranks 8 cudaDev 3 busId 41000 - Init COMPLETE\n"


def attempt_line(count):
    return f"{RETRY}retrying ({count}/34) after sleep for {count}00 msec\n"


def retries(text):
    return [(e.fields["attempt"], e.fields["attempts"], e.fields["peer"]) for e in derive(still_trying, text)]


def test_many_attempts_without_a_communicator_are_reported():
    assert retries(attempt_line(20) + attempt_line(21)) == [(21, 34, "10.44.7.12:40311")]


def test_few_attempts_give_nothing():
    assert retries(attempt_line(1) + attempt_line(2)) == []


def test_complete_communicator_ends_the_attempts():
    assert retries(attempt_line(21) + COMPLETE) == []


def test_communicator_of_another_process_does_not_end_them():
    assert retries(attempt_line(21) + COMPLETE.replace("5120:5288", "5121:5289")) == [(21, 34, "10.44.7.12:40311")]


def test_lines_are_counted_if_nccl_prints_no_count():
    old = "gx07:5120:5288 [3] NCCL INFO Call to connect returned Connection refused, retrying\n"
    assert [bool([*derive(still_trying, old * lines)]) for lines in (2, 3)] == [False, True]
