"""Short phrases of a document."""

from __future__ import annotations

import pytest
from render_diagnoses import make_evidence

from logdoctor.model import Progress
from logdoctor.model.sentences import split_sentences
from logdoctor.render.catalogue import catalogue
from logdoctor.render.phrases import clock_time, continue_sentence, progress_phrase, size

EN, ZH = catalogue("en"), catalogue("zh")


@pytest.mark.parametrize(
    ("sentence", "phrase"),
    [
        ("Rank 3 was killed.", "rank 3 was killed"),
        ("Slurm ended job 7.", "Slurm ended job 7"),
        ("GPU 3 fell off the bus", "GPU 3 fell off the bus"),
        ("The node failed...", "the node failed..."),
    ],
)
def test_sentence_behind_a_dash_keeps_the_capital_of_names_only(sentence, phrase):
    assert continue_sentence(sentence, EN) == phrase


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Rank 3 was killed. No line says why.", ["Rank 3 was killed.", "No line says why."]),
        ("It failed in train.py. 3 ranks lost it.", ["It failed in train.py.", "3 ranks lost it."]),
        ("NCCL 2.20.5 failed at 10.0.0.1 again.", ["NCCL 2.20.5 failed at 10.0.0.1 again."]),
        ("rank 3 被杀死。日志没有写出原因。", ["rank 3 被杀死。", "日志没有写出原因。"]),
        ("", []),
    ],
)
def test_text_is_split_into_sentences(text, parts):
    assert split_sentences(text) == parts


@pytest.mark.parametrize(
    ("value", "phrase"), [("14120/20000", "step 14,120 of 20,000"), ("7", "step 7"), ("0.5", "step 0.5")]
)
def test_progress_is_told_with_its_end(value, phrase):
    assert progress_phrase(Progress("step", value, make_evidence("a.log:1", "x")), EN) == phrase


def test_time_without_a_year_is_told_without_a_date():
    assert clock_time(7_200.0) == "02:00:00"
    assert clock_time(1_741_053_600.0) == "2025-03-04 02:00:00"
    assert clock_time(None) == ""
    assert clock_time(1e30) == ""


@pytest.mark.parametrize(("number", "text"), [(0, "0 B"), (4_200, "4.2 kB"), (118_204_118, "118 MB")])
def test_size_is_told_in_decimal_units(number, text):
    assert size(number) == text
