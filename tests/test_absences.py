"""Absences: what was looked for around a proof and not found."""

from __future__ import annotations

import pytest

from logdoctor.examination.absences import Absences
from logdoctor.examination.questions import Scene
from logdoctor.model import ABSENCES, Line, Record, Source

PROOF = "[rank3] collective timed out"


def around(above: str = "", below: str = "") -> set[str]:
    texts = [text for text in (above, PROOF, below) if text]
    lines = [Line("a.log", number, text) for number, text in enumerate(texts, 1)]
    proof = next(line for line in lines if line.text == PROOF)
    record = Record(proof, "c10d", "c10d.timeout", PROOF, Source(rank=3), "error", {}, 1)
    absent = Absences(Scene(None, record, proof, lines, lambda text: (text, Source())))
    return {sort for sort in ABSENCES if sort in absent}


def test_lone_proof_has_no_frames_names_or_reason():
    assert around() == ABSENCES


@pytest.mark.parametrize(
    ("above", "below", "sort"),
    [
        ('  File "/job/train.py", line 7, in step', "", "frames"),
        ("", "#1  0x00007f2a in poll () from /lib64/libc.so.6", "frames"),
        ("", "ranks 5, 6 did not come", "names"),
        ("", "missing: host gpu-07", "names"),
        ("open /data/x: No such file or directory", "", "reason"),
        ("", "it stopped because the key is missing", "reason"),
    ],
)
def test_line_that_shows_it_takes_the_denial_away(above, below, sort):
    assert sort not in around(above, below)


@pytest.mark.parametrize(
    ("above", "below", "sort"),
    [
        ("[rank3] collective timed out", "", "reason"),  # the same complaint again
        ("", "error: the process is taken down", "reason"),  # what follows is a result
        ("", "rank 3 gives up", "names"),  # the process itself
        ("step 4 loss 2.1", "step 5 loss 2.0", "reason"),
    ],
)
def test_other_lines_do_not(above, below, sort):
    assert sort in around(above, below)
