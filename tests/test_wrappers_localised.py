"""The journal in the words of another language still says which host spoke."""

from __future__ import annotations

import pytest

from logdoctor.parsers.line_parser import peel


@pytest.mark.parametrize("month", ["11月", "11월", "kvě", "Mär", "janv.", "Dez"])
def test_the_month_may_be_written_in_any_language(month):
    bare = peel(f"{month} 15 14:15:47 gq17 trainer[4177]: lost touch with the store")
    assert (bare.text, bare.speaker.host, bare.speaker.pid) == ("lost touch with the store", "gq17", 4177)


def test_a_word_before_a_time_of_day_is_no_host_where_no_program_follows():
    bare = peel("Etappe 15 14:15:47 fertig nach 12 Schritten")
    assert bare.speaker.host is None
