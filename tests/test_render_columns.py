"""Columns of a terminal: widths, wrapping, shortening."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdoctor.render.catalogue import catalogue
from logdoctor.render.columns import shorten, shorten_end, shorten_path, text_width, words_in, wrap
from logdoctor.render.entity_names import ranges
from logdoctor.render.phrases import size

texts = st.text(
    st.sampled_from("ab 错误，e\u0301/🔥") | st.characters(codec="utf-8", exclude_categories=["C"]), max_size=80
)


def test_wide_characters_take_two_columns_and_marks_none():
    assert [text_width(text) for text in ("ab", "错误", "e\u0301")] == [2, 4, 1]


@given(texts, st.integers(2, 50))
def test_wrapped_lines_fit_and_lose_only_spaces(text, room):
    lines = wrap(text, room)
    assert all(text_width(line) <= room for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@given(texts, st.integers(12, 50))
def test_a_shortened_line_fits(text, room):
    assert text_width(shorten(text, room)) <= room


def test_a_line_that_fits_is_not_touched():
    assert shorten("a  b", 4) == "a  b"


def test_shortened_line_keeps_the_failure_words():
    line = (
        "2025-03-04 02:14:07 node-3 trainer[311]: " + "config=x " * 40 + "RuntimeError: out of memory " + "frame " * 60
    )
    assert "RuntimeError: out of memory" in shorten(line, 90)
    assert shorten(line, 90).startswith("2025-03-04 02:14:07")


def test_failure_at_the_start_leaves_room_for_the_end():
    text = shorten("Error: cannot write " + "/very/long/path" * 20 + ": No space left on device", 100)
    assert text.startswith("Error: cannot write")
    assert text.endswith("left on device")


def test_a_long_path_keeps_its_name_and_line():
    assert shorten_path("/a/long/way/to/the/logs/rank_0003/stdout.log:17", 28) == "…/rank_0003/stdout.log:17"


def test_chinese_wraps_between_characters_but_not_before_a_comma():
    assert wrap("先修复，再重启", 6) == ["先修", "复，再", "重启"]


@pytest.mark.parametrize(
    ("numbers", "text"),
    [((), ""), ((3,), "3"), ((3, 1, 2, 2), "1-3"), ((0, 1, 3), "0-1,3"), (range(0, 40, 2), "0,2,4,6,8,10,…,38")],
)
def test_numbers_become_ranges(numbers, text):
    assert ranges(tuple(numbers)) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (4_812_337, "4.8 MB"),
        (118_204_118, "118 MB"),
        (12_400_118_000, "12.4 GB"),
    ],
)
def test_bytes_become_decimal_units(number, text):
    assert size(number) == text


def test_count_uses_singular_and_plural():
    words = catalogue("en")
    assert (words.count("line", 1), words.count("line", 412_903)) == ("1 line", "412,903 lines")


def test_shortened_line_keeps_the_values_that_the_answer_tells():
    line = (
        f"Error: built with {'the libraries of a release ' * 4}22902, but runs with 22703. {'Update one of them. ' * 5}"
    )
    assert "22902" not in shorten(line, 80)
    assert "22902, but runs with 22703" in shorten(line, 80, {"22902", "22703"})


def test_shortened_line_keeps_the_plain_words_that_the_answer_tells():
    line = (
        f"what():  [Rank 2] watchdog terminated with exception: {'at a frame ' * 9}CUDA error: an illegal memory access"
    )
    assert "illegal" not in shorten(f"{line} {'at a frame ' * 9}", 90)
    assert "illegal memory" in shorten(f"{line} {'at a frame ' * 9}", 90, words_in("an Illegal Memory address"))


def test_quote_cut_at_its_end_keeps_its_start():
    assert shorten_end("RuntimeError: NCCL error: unhandled system error (run with it)", 40) == (
        "RuntimeError: NCCL error: unhandled …"
    )
    assert shorten_end("short", 40) == "short"


@given(st.lists(st.text("ab1/ 汉", min_size=1, max_size=9), max_size=60).map(" ".join), st.integers(20, 100))
def test_line_shortened_around_values_fits(text, room):
    assert text_width(shorten(text, room, {*text.split()[::3]})) <= room


def test_told_value_at_the_cut_of_the_start_is_no_error():
    line = f"{'a' * 10} 0000000000000000000022902{'0' * 30} {'no space left ' * 20}"
    assert text_width(shorten(line, 60, {word for word in line.split() if word[0] == "0"})) <= 60


PLACES = (
    "/opt/third_party/gloo/gloo/transport/tcp/pair.cc:211]",
    "ProcessGroupNCCL.cpp:1319]",
    "/home/kim/fit/run.py:88",
)
PLAIN = "[rank3]: RuntimeError: failed at 2 vs 10 of the peer node-a1:29500 closed step400 watchdog".split()


@given(st.lists(st.sampled_from([*PLACES, *PLAIN, *PLAIN]), min_size=12, max_size=30), st.integers(110, 200), st.data())
def test_cut_falls_between_words_or_folders_and_never_inside_a_place(words, room, data):
    told = set(data.draw(st.lists(st.sampled_from(words), max_size=2)))
    folders = {place[:at] for place in PLACES for at in range(1, len(place)) if place[at - 1] == "/"}
    folders |= {place[at:] for place in PLACES for at in range(1, len(place)) if place[at - 1] == "/"}
    assert {*shorten(" ".join(words), room, told).split()} - {"…", *words} <= folders
