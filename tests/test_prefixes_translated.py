"""Journal prefixes in another language give the host."""

from __future__ import annotations

import pytest

from logdoctor.logs.line_parser import read_message


@pytest.mark.parametrize("month", ["11月", "11월", "kvě", "Mär", "janv.", "Dez"])
def test_journal_prefix_with_a_foreign_month_is_stripped(month):
    message = read_message(f"{month} 15 14:15:47 gq17 trainer[4177]: lost touch with the store")
    assert (message.text, message.source.host, message.source.pid) == ("lost touch with the store", "gq17", 4177)


@pytest.mark.parametrize("file", ["messages", "/var/log/syslog", "kern-2026:17", "dmesg.old"])
def test_syslog_line_behind_a_grep_prefix_gives_the_host(file):
    message = read_message(f"{file}:Mar  4 09:12:07 gq17 kernel: a card was lost")
    assert (message.text, message.source.host) == ("a card was lost", "gq17")


def test_program_name_messages_is_no_file_name():
    assert read_message("messages: 17 sent").text == "messages: 17 sent"


def test_word_behind_a_time_of_day_without_program_is_no_host():
    message = read_message("Etappe 15 14:15:47 fertig nach 12 Schritten")
    assert message.source.host is None
