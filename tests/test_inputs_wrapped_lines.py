"""Wrapped lines are joined, and all others keep their numbers."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_inputs import read

from logdoctor import diagnose
from logdoctor.inputs.streams import Guarded
from logdoctor.inputs.wrapped_lines import LineJoiner, detect_width

TIMEOUT = (
    "[rank0]:[E1103 10:14:22.481920377 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=4411, OpType=ALLREDUCE, NumelIn=8192, NumelOut=8192, Timeout(ms)=600000) ran for 600033 "
    "milliseconds before timing out."
)
PRINTED = [
    "gpu07:8812:9140 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.8.0.7<0>",
    "gpu07:8812:9140 [0] NCCL INFO Using network IB",
    TIMEOUT,
    "",
    "gpu07: task 0: the last of the steps that were asked for is given up now, and so are all that were to come after it",
    "srun: error: gpu07: task 0: Exited with exit code 1",
]


def wrap_lines(lines, width):
    return "".join(line[n : n + width] + "\n" for line in lines for n in range(0, max(1, len(line)), width))


def join_lines(lines, width):
    return "".join(f"{line}\n" + "\n" * ((max(len(line), 1) - 1) // width) for line in lines)


@pytest.mark.parametrize("width", [60, 72, 80, 100])
def test_wrapped_lines_are_joined_and_others_keep_their_numbers(tmp_path, width):
    (tmp_path / "a.log").write_text(wrap_lines(PRINTED, width))
    assert list(read(str(tmp_path / "a.log"))[0].values()) == [join_lines(PRINTED, width).encode()]


def test_wrapped_line_is_diagnosed_with_the_number_of_its_first_line(knowledge):
    diagnosis = diagnose(io.BytesIO(wrap_lines(PRINTED, 80).encode()), knowledge=knowledge)
    assert diagnosis.causes[0].signature == "collective.timeout"
    assert diagnosis.causes[0].evidence[0].line.number == 4


@pytest.mark.parametrize(
    "lines",
    [
        PRINTED,
        [f"gpu{n:02}: error while loading shared libraries: libcudart.so.{n:02}: cannot open shared object" for n in range(9)],
        ["=" * 80, "PARAMETERS", "=" * 80, "lr 1e-4", "=" * 80, "bs 8", "=" * 80, "RESULTS"],
        [f"| {'device':30} | {word:43} |" for word in ("memory", "power", "clock", "name", "driver")],
        [f"{n}.batch      {word:30}      COMPLETED      00:12:4{n}      0:0      gpu{n:02}" for n, word in enumerate("abcdef")],
        [f"/opt/lib/{word}.py:88: UserWarning: this is so and so and was never otherwise, as all know\n  warn()" for word in "abcd"],
        ["short"] * 9,
        ["x" * 900, "y" * 900, "z" * 900, "a"] * 3,
        [],
    ],
    ids=["not broken", "one kind", "rulers", "box", "table", "indented below", "short", "longer than a terminal", "empty"],
)  # fmt: skip
def test_lines_of_equal_length_for_other_reasons_have_no_width(lines):
    assert detect_width("".join(f"{line}\n" for line in lines).encode()) == 0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("ab é", max_size=90)), st.integers(1, 300), st.booleans())
def test_any_read_size_keeps_all_characters_and_lines(lines, size, ended):
    text = ("\n".join(lines) + "\n" * ended).encode()
    reader = LineJoiner(Guarded(io.BytesIO(text), "a"), 60)
    read = b"".join(iter(lambda: reader.read(size), b""))
    assert read.replace(b"\n", b"") == text.replace(b"\n", b"")
    assert read.count(b"\n") == text.count(b"\n")


def test_an_endless_line_is_read_in_parts():
    reader = LineJoiner(Guarded(io.BytesIO(b"x" * 5_000_000), "a"), 80)
    assert len(reader.read(100_000)) == 100_000
