"""Numbers in the text of a log: any length, sign and alphabet."""

import ast
import io
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import logdoctor
from logdoctor.model.numbers import (
    MAX_DIGITS,
    code_number,
    format_size,
    hex_number,
    number,
    number_fields,
    numbers_in,
    say_value,
)

PACKAGE = Path(logdoctor.__file__).parent
ROOMS = ("codes", "inputs", "logs", "pipeline", "reasoning", "redaction", "render", "ruleset", "archive")
OWN_NUMBERS = {
    "inputs/file_type.py: int(stored, 8)",  # eight bytes
    "logs/multiline/ucx_blocks.py: int(words[13][4:6], 16)",  # two hex digits
    "logs/multiline/ucx_blocks.py: int(words[13][6:8], 16)",
    "inputs/line_margins.py: int(match[1])",  # nine ASCII digits
    "inputs/terminal_codes.py: int(b'0' + name[1:], 0)",  # two hex digits
    "inputs/terminal_codes.py: int(name[1:])",  # three ASCII digits
    "codes/table.py: int(first)",  # the rest: values, tables and names of our own
    "codes/table.py: int(last)",
    "codes/table.py: int(offset or 0)",
    "logs/error_numbers.py: int(entry.code)",
    "logs/multiline/mpi_blocks.py: int(head.text.rstrip().endswith(':') and 'stack:' not in head.text)",
    "logs/prefix_stripping.py: int(cast('str', match.lastgroup)[1:])",
    "logs/prefix_stripping.py: int(index)",
    "pipeline/masking.py: int(str(match.lastgroup)[1:])",
    "reasoning/lifecycle/scope.py: int(abs(seconds) // seconds_each)",
    "reasoning/questions/progress.py: int(idle)",
    "render/__init__.py: int(getattr(_module(format), 'CONTEXT', 0))",
    "archive/file_listing.py: int(file.info.get('size') or 0)",
    "inputs/remote.py: int(self._open().seek(offset, whence))",
    "inputs/remote.py: int(self._open().tell())",
    "archive/history.py: int(query.limit)",
}
LONG = "7" * 5000
TIMEOUT = (
    "[rank1]:[E604 10:22:31.401117311 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum={}, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600020 milliseconds "
    "before timing out.\n"
)


def conversions(path):
    """Yield each call of `int`, and each other use of it as a function, as source text."""
    tree = ast.parse(path.read_text("utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in calls:
        if (isinstance(call.func, ast.Name) and call.func.id == "int") or (
            call.args and ast.unparse(call.args[0]) == "int"
        ):
            yield ast.unparse(call)


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_turns_text_into_a_number_by_itself(room):
    files = sorted((PACKAGE / room).rglob("*.py"))
    assert files
    found = {f"{path.relative_to(PACKAGE).as_posix()}: {text}" for path in files for text in conversions(path)}
    assert found - OWN_NUMBERS == set(), "use logdoctor.model.numbers, which holds for any text"


def test_each_allowed_conversion_is_still_there():
    found = {
        f"{path.relative_to(PACKAGE).as_posix()}: {text}"
        for path in PACKAGE.rglob("*.py")
        for text in conversions(path)
    }
    assert OWN_NUMBERS - found == set()


@given(st.integers())
def test_number_of_up_to_18_digits_is_read_and_a_longer_one_is_not(value):
    assert number(str(value)) == (value if len(str(abs(value))) <= MAX_DIGITS else None)


@given(st.text() | st.text(st.characters(categories=["Nd", "No"])) | st.text("0123456789-+_ .eExX\n", max_size=40))
@example("٣")
@example("²")
@example("1_000")
@example("3\n")
@example("--3")
@example(LONG)
def test_number_of_any_text_is_an_integer_that_prints_the_same_or_none(text):
    found = number(text)
    assert found is None or int(text) == found
    assert (found is None) == (
        not text.removeprefix("-").isascii()
        or not 0 < len(text.removeprefix("-")) < 19
        or not text.removeprefix("-").isdigit()
    )


@given(st.text() | st.text("0123456789abcdefABCDEFxX-", max_size=24))
@example("0x")
@example("0x" + "f" * 5000)
@example("0005")
def test_code_of_any_text_is_an_integer_of_at_most_64_bits_or_none(text):
    for found in (code_number(text), hex_number(text)):
        assert found is None or abs(found) < 1 << 64


def test_texts_that_are_no_number_are_left_out():
    assert number_fields({"rank": "3", "pid": LONG, "host": "a3", "seq": None}) == {"rank": 3}
    assert numbers_in(f"0, 3-5,{LONG};٣ 9") == [0, 3, 5, 9]


@pytest.mark.parametrize("digits", ["5", LONG, "-1", "NaN", "٣٣"], ids=["short", "long", "negative", "nan", "arabic"])
def test_timeout_is_diagnosed_whatever_its_sequence_number_is(digits, knowledge):
    diagnosis = logdoctor.diagnose(io.BytesIO(TIMEOUT.format(digits).encode()), knowledge=knowledge)
    assert (diagnosis.causes[0].signature, diagnosis.problems) == ("collective.timeout", ())


@pytest.mark.parametrize("task", ["-1", "4294967294"])
def test_task_that_is_no_rank_is_no_culprit(task, knowledge):
    log = f"srun: error: cn-1: task {task}: Segmentation fault (core dumped)\n"
    diagnosis = logdoctor.diagnose(io.BytesIO(log.encode()), knowledge=knowledge)
    assert (diagnosis.causes[0].culprit.ranks, diagnosis.causes[0].culprit.hosts) == ((), ("cn-1",))


@pytest.mark.parametrize(("size", "text"), [(12, "12 B"), (943718400, "900 MiB"), (104261451776, "97.1 GiB")])
def test_size_is_told_for_people(size, text):
    assert format_size(size) == text


@pytest.mark.parametrize(
    ("name", "value", "text", "chinese"),
    [
        ("timeout_ms", 1800000, "30 min", "30 分钟"),
        ("timeout_ms", "600000", "10 min", "10 分钟"),
        ("gil_ms", 250, "250 ms", "250 毫秒"),
        ("seconds", 90, "90 s", "90 秒"),
        ("waited_s", "5400", "1 h 30 min", "1 小时 30 分钟"),
        ("limit", "1800 seconds", "30 min", "30 分钟"),
        ("wanted", "1879048192 bytes", "1.75 GiB", "1.75 GiB"),
        ("free", "4194312 B", "4 MiB", "4 MiB"),
        ("wanted", "70123.5 MB", "68.5 GiB", "68.5 GiB"),
        ("limit_kb", 1 << 20, "1 GiB", "1 GiB"),
    ],
)
def test_time_and_size_are_said_as_people_do(name, value, text, chinese):
    assert say_value(name, value) == text
    assert say_value(name, value, "zh") == chinese


@pytest.mark.parametrize(
    ("name", "value"), [("wanted", "2.00 GiB"), ("wanted", "65536"), ("limit", 8), ("host", "s"), ("ended_pid", 9258)]
)
def test_other_values_and_sizes_in_their_best_unit_stay(name, value):
    assert say_value(name, value) is None
