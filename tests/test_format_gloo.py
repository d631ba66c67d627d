"""Gloo's exceptions, alone and behind the name of a Python exception."""

from hypothesis import given, settings
from hypothesis import strategies as st

from logdoctor.logs import parse_text

PAIR = "[../third_party/gloo/gloo/transport/tcp/pair.cc:534] "


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_rubbish_around_known_words_never_raises(before, after):
    for record in parse_text(f"{before}{PAIR}{after}"):
        assert record.format
