"""An expression that does not ask for the value of a digit finds the same in all texts of one shape."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from logdoctor.pack.regexes import names_digits

EXPRESSIONS = {
    r"Xid (\d+)": False,
    r"Xid 4[38]": True,
    r"[0-9a-f]{2,4}x": False,
    r"(?P<rank>\d{1,7})\b": False,
    r"(\d)\1": True,
    r"(?P<a>\d)(?P=a)": True,
    r"0x[0-9a-f]+": True,
    r"a{3}|\x41": False,
    r"[1-9]\d*": True,
    r"exit code 1": True,
    r"(?:(a)|b)(?(1)c|d)": True,
}


@pytest.mark.parametrize(("expression", "names"), EXPRESSIONS.items())
def test_expression_names_digits(expression, names):
    assert names_digits(expression) is names


@given(
    st.sampled_from([e for e, names in EXPRESSIONS.items() if not names]), st.text("aX4id 013x", max_size=20), st.data()
)
def test_blind_expression_finds_the_same_whatever_the_digits(expression, text, data):
    other = "".join(data.draw(st.sampled_from("0123456789")) if c.isdigit() else c for c in text)
    found = [match and match.span() for match in (regex.search(expression, text), regex.search(expression, other))]
    assert found[0] == found[1]
