from __future__ import annotations

from format_probe import PRINTABLE, read, records
from hypothesis import given, settings
from hypothesis import strategies as st

RECORDS = records("kubernetes")


WORDS = st.sampled_from(
    [
        "  Warning  ",
        "Failed ",
        " 2m (x3 over 5m) kubelet ",
        "    State:     Terminated",
        "      Reason:       Error",
        "low on resource: ",
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(WORDS, st.text(st.sampled_from(PRINTABLE), max_size=60)), max_size=8))
def test_garbage_around_known_words_never_raises(parts):
    read(RECORDS, "\n".join(parts))
