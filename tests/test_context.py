"""The lines around a proof: read again where that can be done, and never another line in their place."""

from __future__ import annotations

import gzip
import io
import os
import threading

import pytest
from failing_job import LOG, OOM

from logdoctor import diagnose

LINES = LOG.splitlines()


def decisive(found):
    return found.causes[0].evidence[0]


def test_a_proof_comes_with_the_lines_above_and_below_it(log, knowledge):
    one = decisive(diagnose(log, knowledge=knowledge, context=2))
    at = one.line.number
    assert [line.number for line in one.around] == [n for n in range(at - 2, at + 3) if 0 < n <= len(LINES)]
    assert [line.text for line in one.around] == [LINES[line.number - 1] for line in one.around]


def test_nobody_reads_twice_who_did_not_ask(log, knowledge):
    assert decisive(diagnose(log, knowledge=knowledge)).around == ()


def test_lines_in_a_packed_log_are_found_too(tmp_path, knowledge):
    path = tmp_path / "job.log.gz"
    path.write_bytes(gzip.compress(LOG.encode()))
    assert OOM in [line.text for line in decisive(diagnose(path, knowledge=knowledge, context=1)).around]


@pytest.mark.parametrize("given", [lambda: io.BytesIO(LOG.encode())])
def test_what_can_be_read_only_once_has_no_lines_around(given, knowledge):
    assert decisive(diagnose(given(), knowledge=knowledge, context=3)).around == ()


def test_a_pipe_is_not_waited_for_a_second_time(tmp_path, knowledge):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(LOG,))
    writer.start()
    found = diagnose(path, knowledge=knowledge, context=3)
    writer.join()
    assert decisive(found).around == ()


def test_a_log_that_was_written_anew_in_between_gives_no_false_lines(log, knowledge, monkeypatch):
    from logdoctor import diagnosis

    real = diagnosis.add_context

    def rotated(*args):
        log.write_text("another job\n" * 200)
        return real(*args)

    monkeypatch.setattr(diagnosis, "add_context", rotated)
    assert decisive(diagnose(log, knowledge=knowledge, context=3)).around == ()


def test_a_line_across_many_windows_is_kept_short(tmp_path, knowledge):
    path = tmp_path / "job.log"
    huge = "x" * 3_000_000
    path.write_text(f"{huge}\n{LOG}\n{huge}")
    around = decisive(diagnose(path, knowledge=knowledge, context=50)).around
    assert around[0].text == "x" * len(around[0].text)
    assert len(around[0].text) < 5000
    assert [line.text for line in around[1:4]] == LINES[:3]


def test_a_sentence_that_was_quoted_whole_stands_around_itself_as_it_was_printed(tmp_path, knowledge):
    frame = [
        "-" * 74,
        "A request was made to bind to that would result in binding more",
        "processes than cpus on a resource:",
    ]
    (tmp_path / "job.log").write_text("\n".join([*frame, "", "   Bind to:     CORE", "-" * 74]) + "\n")
    one = decisive(diagnose(tmp_path / "job.log", knowledge=knowledge, context=1))
    assert one.line.text == " ".join(frame[1:])
    assert [line.text for line in one.around] == frame
