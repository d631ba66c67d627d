"""Text in other Unicode encodings is read as UTF-8."""

import io

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_inputs import read

LINES = "rank 3: 连接超时\r\nstep 17 – loss 2.5 🔥\n" * 300


@pytest.mark.parametrize("piece", [1, 3, 1000, 1 << 16])
@pytest.mark.parametrize(
    ("bom", "encoding"),
    [
        (b"\xff\xfe", "utf-16-le"),
        (b"\xfe\xff", "utf-16-be"),
        (b"\xff\xfe\0\0", "utf-32-le"),
        (b"\0\0\xfe\xff", "utf-32-be"),
        (b"\xef\xbb\xbf", "utf-8"),
    ],
)
def test_marked_text_becomes_utf_8_without_its_mark(tmp_path, bom, encoding, piece):
    (tmp_path / "a.log").write_bytes(bom + LINES.encode(encoding))
    texts, problems = read(str(tmp_path / "a.log"), piece=piece)
    assert list(texts.values()) == [LINES.encode()]
    assert not problems


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_plain_utf_16_without_a_mark_is_detected(tmp_path, encoding):
    text = "step 17 loss 2.5\r\n" * 20
    (tmp_path / "a.log").write_bytes(text.encode(encoding))
    assert list(read(str(tmp_path / "a.log"))[0].values()) == [text.encode()]


def test_cut_or_broken_utf_16_keeps_the_rest(tmp_path):
    (tmp_path / "a.log").write_bytes("one\n".encode("utf-16") + b"\x00\xd8" + "two\n".encode("utf-16-le") + b"x")
    assert list(read(str(tmp_path / "a.log"))[0].values()) == ["one\n\ufffdtwo\n\ufffd".encode()]


@pytest.mark.parametrize("text", [b"\xef\xbb\xbf", b"\xff\xfe", b"\xff\xfe\0\0"])
def test_a_mark_alone_is_an_empty_log(tmp_path, text):
    (tmp_path / "a.log").write_bytes(text)
    assert list(read(str(tmp_path / "a.log"))[0].values()) == [b""]


def test_broken_utf_8_is_left_unchanged():
    text = b"ok \xc3\x28 \xe4\xb8 \xff\n" * 5
    assert list(read(io.BytesIO(text))[0].values()) == [text]


DISGUISES = "\x1b\xa0\u202f&"
"""Characters that are removed: see test_inputs_terminal_codes.py."""


@settings(max_examples=30, deadline=None)
@given(
    st.text(st.characters(exclude_categories=["Cs", "Cf"], exclude_characters=DISGUISES)),
    st.sampled_from(["utf-16", "utf-32", "utf-8-sig"]),
)
def test_any_text_survives_its_encoding(text, encoding):
    assume(not (encoding == "utf-16" and text.startswith("\0")))  # behind its mark a NUL makes the mark of UTF-32
    assert list(read(io.BytesIO(text.encode(encoding)), piece=5)[0].values()) == [text.encode()]
