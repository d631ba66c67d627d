"""Journal prefixes in another language give the host."""

from __future__ import annotations

import pytest

from logdoctor.parsers.line_parser import peel


@pytest.mark.parametrize("month", ["11月", "11월", "kvě", "Mär", "janv.", "Dez"])
def test_journal_prefix_with_a_foreign_month_is_stripped(month):
    bare = peel(f"{month} 15 14:15:47 gq17 trainer[4177]: lost touch with the store")
    assert (bare.text, bare.speaker.host, bare.speaker.pid) == ("lost touch with the store", "gq17", 4177)


@pytest.mark.parametrize("file", ["messages", "/var/log/syslog", "kern-2026:17", "dmesg.old"])
def test_syslog_line_behind_a_grep_prefix_gives_the_host(file):
    bare = peel(f"{file}:Mar  4 09:12:07 gq17 kernel: a card was lost")
    assert (bare.text, bare.speaker.host) == ("a card was lost", "gq17")


def test_program_name_messages_is_no_file_name():
    assert peel("messages: 17 sent").text == "messages: 17 sent"


def test_word_behind_a_time_of_day_without_program_is_no_host():
    bare = peel("Etappe 15 14:15:47 fertig nach 12 Schritten")
    assert bare.speaker.host is None
