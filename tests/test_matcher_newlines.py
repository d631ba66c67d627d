from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from logdoctor.matcher.newlines import count_newlines


@given(st.lists(st.integers(0, 300), max_size=40), st.integers(0, 500), st.integers(0, 9000))
def test_newlines_are_counted_in_short_and_long_lines_of_any_span(lengths, start, size):
    buffer = bytearray(b"".join(b"x" * length + b"\n" for length in lengths))
    end = min(start + size, len(buffer))
    assert count_newlines(buffer, min(start, end), end) == list(buffer[start:end]).count(10)
