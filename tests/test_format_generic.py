from __future__ import annotations

import pytest
from format_probe import PRINTABLE, read, read_record, records
from hypothesis import given, settings
from hypothesis import strategies as st

from logdoctor.model import Source

ALL = (*records("generic"), *records("os_errors"))


def test_error_word_in_a_logged_warning_stays_a_warning():
    record = read_record(ALL, "cannot open /data/x.idx: No such file or directory", Source(level="warning"))
    assert (record.level, record.fields["errno"]) == ("warning", 2)


def test_sentence_with_level_error_is_an_error():
    assert read_record(ALL, "something odd is gone", Source(level="fatal")).level == "fatal"
    assert read_record(ALL, "something odd is gone", Source(level="error")).kind == "generic.error"


@pytest.mark.parametrize(
    "line", ['  File "/srv/x.py", line 3, in run', "    ^^^^^^", "", "Traceback (most recent call last):"]
)
def test_stack_lines_logged_as_errors_are_no_errors(line):
    assert read(ALL, line, Source(level="error")) == []


def test_plain_sentence_logged_as_warning_gives_no_record():
    assert read(ALL, "something odd is gone", Source(level="warning")) == []


def test_an_errno_text_behind_the_word_warning_is_a_warning():
    assert read_record(ALL, "Warning: cache file missing: No such file or directory").level == "warning"


def test_an_optional_driver_that_is_not_installed_is_no_error():
    line = "libibverbs: Warning: couldn't load driver 'libqux-rdmav34.so': libqux-rdmav34.so: cannot open shared object file: No such file"
    assert read_record(ALL, line).level == "info"


def test_status_of_a_web_server_is_a_field():
    assert read_record(ALL, "HTTP Error 503: Service Unavailable").fields["status"] == 503


def test_printed_usage_is_information():
    record = read_record(ALL, "usage: train.py [-h] [--lr LR]")
    assert (record.kind, record.level) == ("generic.other", "info")


KNOWN = (
    "ERROR ",
    "error: ",
    "[ERROR]",
    "level=error",
    "fatal: ",
    "No such file or directory",
    "command not found",
    "exit code ",
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(KNOWN), st.text(PRINTABLE, max_size=120), st.text(PRINTABLE, max_size=120))
def test_garbage_around_known_words_never_raises(words, before, after):
    read(ALL, f"{before}{words}{after}")
