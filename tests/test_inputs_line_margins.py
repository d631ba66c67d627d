"""Line margins of viewers and copies are removed, and nothing else."""

import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_inputs import read

from logdoctor import diagnose
from logdoctor.inputs.line_margins import MarginStripper, detect_margin
from logdoctor.inputs.streams import Guarded

PRINTED = (
    "Traceback (most recent call last):\n"
    '  File "train.py", line 8, in <module>\n'
    "    main()\n"
    "\n"
    '  File "train.py", line 5, in main\n'
    "    load(step)\n"
    "KeyboardInterrupt\n"
    "epoch 3\n"
    "epoch 4\n"
)
STAMPS = [f"2025-03-04T10:00:0{n}.1234567Z " for n in range(9)]


def framed(margins, text=PRINTED):
    return "".join(f"{margin}{line}\n" for margin, line in zip(margins, text.splitlines(), strict=True))


FRAMES = {
    "a code block": framed(["    "] * 9),
    "a deeper code block": framed(["        "] * 9),
    "tabs": framed(["\t"] * 9),
    "cat -n": framed([f"{n:6}\t" for n in range(117, 126)]),
    "an editor": framed([f"{n:3} | " for n in range(1, 10)]),
    "a page that shows code": framed([f"{n}: " for n in range(1, 10)]),
    "brackets": framed([f"[{n}] " for n in range(1, 10)]),
    "a page that shows code from within": framed([f"{n}: " for n in range(1827, 1836)]),
    "a list with numbers": framed([f"{n}. " for n in range(1, 10)]),
    "numbers in a column": framed([f"{n:6} " for n in range(1, 10)]),
    "an item of a list": framed(["  "] * 9),
    "a quotation without blanks": framed([">"] * 9),
    "an item each": framed(["- "] * 9),
    "a box": framed(["│ "] * 9),
    "numbers in a code block": framed([f"    {n:6}\t" for n in range(96, 105)]),
    "gh run view --log": framed([f"test (3.11)\tUNKNOWN STEP\t{stamp}" for stamp in STAMPS]),
}


@pytest.mark.parametrize("piece", [1, 7, 1 << 16])
@pytest.mark.parametrize("frame", FRAMES)
def test_margin_is_removed(tmp_path, frame, piece):
    (tmp_path / "a.log").write_text(FRAMES[frame])
    printed = framed(STAMPS) if frame.startswith("gh ") else PRINTED
    assert list(read(str(tmp_path / "a.log"), piece=piece)[0].values()) == [printed.encode()]


@pytest.mark.parametrize(
    "text",
    [
        PRINTED,
        "".join(f"{rank}: epoch 1 done\n" for rank in range(16)),
        "".join(f"{rank}: epoch 1 done\n" for rank in (0, 1, 2, 3, 4, 5, 6, 7) * 3),
        "".join(f"{rank}: epoch 1 done\n" for rank in range(4, 8)),
        "".join(f"{rank}: epoch 1 done\n" for rank in range(9, 16)),
        "".join(f"{rank}: epoch 1 done on n{rank}\n" for rank in range(16, 24)),
        "".join(f"{n}: epoch 1 done\n" for n in range(10, 40, 3)),
        '  File "a.py", line 1, in f\n    g()\n  File "a.py", line 4, in g\n    h()\n',
        "    main()\n",
        "  step 1\n  step 2\n  step 3\n",
        "| GPU | used |\n|---|---|\n| 0 | 81 |\n| 1 | 80 |\n",
        "- a\n- b\n",
        "name\tvalue\nloss\t2.5\nstep\t7\n",
        "",
        "\n\n\n",
    ],
    ids=[
        "no margin",
        "ranks in order",
        "ranks again",
        "few ranks",
        "ranks that say the same",
        "ranks of a node",
        "not by one",
        "less",
        "one line",
        "indented by the program",
        "a table",
        "few items",
        "table",
        "0",
        "n",
    ],
)
def test_possible_program_output_is_no_margin(tmp_path, text):
    assert detect_margin(text.encode()) == b""


def test_later_lines_without_the_margin_stay():
    text = framed(["    "] * 9) * 90 + "slurmstepd: error: done\n   three\n"
    reader = Guarded(io.BytesIO(text.encode()), "a")
    assert MarginStripper(reader, rb" {4}").read(1 << 20).endswith(b"epoch 4\nslurmstepd: error: done\n   three\n")


def test_margin_of_utf_16_is_removed(tmp_path):
    (tmp_path / "a.log").write_bytes(FRAMES["cat -n"].encode("utf-16"))
    assert list(read(str(tmp_path / "a.log"))[0].values()) == [PRINTED.encode()]


@pytest.mark.parametrize("frame", FRAMES)
def test_log_with_margin_gives_the_diagnosis_and_line_numbers_of_the_plain_log(frame, knowledge):
    plain = diagnose(io.BytesIO(PRINTED.encode()), knowledge=knowledge).causes[0]
    cause = diagnose(io.BytesIO(FRAMES[frame].encode()), knowledge=knowledge).causes[0]
    assert cause.signature == plain.signature == "job.preempted"
    assert [evidence.line.number for evidence in cause.evidence] == [
        evidence.line.number for evidence in plain.evidence
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.one_of(st.sampled_from(["    a", "   b", "", "    ", "      c" * 60]), st.text("x \r", max_size=400))),
    st.integers(1, 700),
    st.booleans(),
)
def test_any_read_size_removes_only_the_margin(lines, size, ended):
    text = "\n".join(lines).encode() + (b"\n" if ended else b"")
    reader = MarginStripper(Guarded(io.BytesIO(text), "a"), rb" {4}")
    assert b"".join(iter(lambda: reader.read(size), b"")) == re.sub(rb"(?m)^ {4}", b"", text)
