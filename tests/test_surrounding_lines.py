"""The lines around evidence, never taken from another log."""

from __future__ import annotations

import gzip
import io
import os
import threading

from failing_job import LOG, OOM

from logdoctor import diagnose

LINES = LOG.splitlines()


def decisive(diagnosis):
    return diagnosis.causes[0].evidence[0]


def test_evidence_has_the_lines_above_and_below(log, knowledge):
    evidence = decisive(diagnose(log, knowledge=knowledge, context=2))
    at = evidence.line.number
    assert [line.number for line in evidence.around] == [n for n in range(at - 2, at + 3) if 0 < n <= len(LINES)]
    assert [line.text for line in evidence.around] == [LINES[line.number - 1] for line in evidence.around]


def test_context_is_not_read_unless_requested(log, knowledge):
    assert decisive(diagnose(log, knowledge=knowledge)).around == ()


def test_context_of_a_compressed_log_is_found(tmp_path, knowledge):
    path = tmp_path / "job.log.gz"
    path.write_bytes(gzip.compress(LOG.encode()))
    assert OOM in [line.text for line in decisive(diagnose(path, knowledge=knowledge, context=1)).around]


def test_input_that_is_read_only_once_has_context(knowledge):
    evidence = decisive(diagnose(io.BytesIO(LOG.encode()), knowledge=knowledge, context=3))
    assert OOM in [line.text for line in evidence.around]


def test_pipe_has_context_and_is_not_opened_a_second_time(tmp_path, knowledge):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(LOG,))
    writer.start()
    diagnosis = diagnose(path, knowledge=knowledge, context=3)
    writer.join()
    assert OOM in [line.text for line in decisive(diagnosis).around]


def test_failure_in_the_middle_of_a_long_log_has_context(tmp_path, knowledge):
    path, filler = tmp_path / "job.log", "".join(f"plain line {n} of a program\n" for n in range(40_000))
    path.write_text(f"{filler}{LOG}\n{filler}")
    evidence, path_lines = decisive(diagnose(path, knowledge=knowledge, context=2)), path.read_text().split("\n")
    near = range(evidence.line.number - 2, evidence.line.number + 3)
    assert [(line.number, line.text) for line in evidence.around] == [(n, path_lines[n - 1]) for n in near]


def test_huge_line_around_evidence_is_cut(tmp_path, knowledge):
    path = tmp_path / "job.log"
    huge = "x" * 3_000_000
    path.write_text(f"{huge}\n{LOG}\n{huge}")
    around = decisive(diagnose(path, knowledge=knowledge, context=50)).around
    assert [line.text for line in around[:3]] == LINES[:3]
    assert around[-1].text == "x" * len(around[-1].text)
    assert len(around[-1].text) < 5000


def test_joined_sentence_is_shown_in_context_as_printed(tmp_path, knowledge):
    frame = [
        "-" * 74,
        "A request was made to bind to that would result in binding more",
        "processes than cpus on a resource:",
    ]
    (tmp_path / "job.log").write_text("\n".join([*frame, "", "   Bind to:     CORE", "-" * 74]) + "\n")
    evidence = decisive(diagnose(tmp_path / "job.log", knowledge=knowledge, context=1))
    assert evidence.line.text == " ".join(frame[1:])
    assert [line.text for line in evidence.around] == frame
