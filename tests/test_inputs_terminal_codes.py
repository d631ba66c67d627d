"""Terminal codes and HTML entities are removed, at any piece size."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_inputs import read

from logdoctor.inputs import terminal_codes

PRINTED = {
    "\x1b[1;35mRuntimeError\x1b[0m: \x1b[35mnot enough\x1b[0m": "RuntimeError: not enough",
    "a\x1b[K\x1b[2A\x1b]0;title\x07b": "ab",
    "loss\u00a0nan\u202fat step": "loss nan at step",
    "\u200bNCCL\u200c WARN\ufeff\u2060": "NCCL WARN",
    "rank &lt;3&gt; said &quot;it&#39;s&#x20;over&#34; &amp;&nbsp;left": 'rank <3> said "it\'s over" & left',
    "&amp;gt; of a page in a page": "> of a page in a page",
    "a & b; &c; &#9731; &#999;": "a & b; &c; &#9731; &#999;",
    "bars ▏█ and “quotes” of others … stay": "bars ▏█ and “quotes” of others … stay",
}


def read_text(text: str, piece: int = 1 << 16) -> str:
    (text_bytes,) = read(io.BytesIO(text.encode()), piece=piece)[0].values()
    return text_bytes.decode()


@pytest.mark.parametrize("piece", [1, 3, 1 << 16])
@pytest.mark.parametrize("text", PRINTED, ids=PRINTED.values())
def test_terminal_codes_and_entities_are_removed(text, piece):
    assert read_text(f"{text}\nnext\n{text}", piece) == f"{PRINTED[text]}\nnext\n{PRINTED[text]}"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([*PRINTED, "plain", "\n", "\x1b", "&gt", "\xe2"]), max_size=20), st.integers(1, 9))
def test_any_piece_size_gives_the_same_text_and_line_count(parts, piece):
    text = "".join(parts)
    assert read_text(text, piece) == read_text(text)
    assert read_text(text).count("\n") == text.count("\n")


@pytest.mark.parametrize("piece", [1, 3, 7, 1 << 16])
def test_only_the_first_bytes_of_a_log_are_cleaned(piece, monkeypatch):
    line = "a &gt; \x1b[31mb\x1b[0m\n"
    monkeypatch.setattr(terminal_codes, "CLEANED_BYTES", 2 * len(line))
    assert read_text(4 * line, piece) == 2 * "a > b\n" + 2 * line
    monkeypatch.setattr(terminal_codes, "CLEANED_BYTES", len(line) + 4)
    assert read_text(3 * line, piece) == "a > b\n" + 2 * line


def test_endless_line_is_not_held_back():
    text = "\x1b[31m" + "x" * 300_000
    assert read_text(text, 4096) == "x" * 300_000
