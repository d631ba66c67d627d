"""The journal in the words of another language still says which host spoke."""

from __future__ import annotations

import pytest

from logdoctor.parsers.line_parser import peel


@pytest.mark.parametrize("month", ["11月", "11월", "kvě", "Mär", "janv.", "Dez"])
def test_the_month_may_be_written_in_any_language(month):
    bare = peel(f"{month} 15 14:15:47 gq17 trainer[4177]: lost touch with the store")
    assert (bare.text, bare.speaker.host, bare.speaker.pid) == ("lost touch with the store", "gq17", 4177)


@pytest.mark.parametrize("file", ["messages", "/var/log/syslog", "kern-2026:17", "dmesg.old"])
def test_what_grep_found_in_a_system_log_still_says_which_host_spoke(file):
    bare = peel(f"{file}:Mar  4 09:12:07 gq17 kernel: a card was lost")
    assert (bare.text, bare.speaker.host) == ("a card was lost", "gq17")


def test_a_program_called_messages_is_no_file():
    assert peel("messages: 17 sent").text == "messages: 17 sent"


def test_a_word_before_a_time_of_day_is_no_host_where_no_program_follows():
    bare = peel("Etappe 15 14:15:47 fertig nach 12 Schritten")
    assert bare.speaker.host is None
