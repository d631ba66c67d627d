from __future__ import annotations

import pytest
from format_probe import read_record, records

RECORDS = records("bkcl")


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("[xpu-a][4288][ERR][BKCL][init.cpp:1485] BKCL dont support it", "error"),
        ("[WARN][BKCL][/b/bkcl/src/init.cpp:714] init_bkcl_context failed", "error"),
        ("[WARN][BKCL][/b/bkcl/src/init.cpp:714] slow link", "warning"),
        ("[INFO][BKCL][net.cpp:45] the card that failed before is left out", "info"),
        ("[XCCL][util.cpp:349] dev 2 addr_window not properly set", "error"),
        ("[XCCL][init.cpp:11] version 2.1", "info"),
    ],
)
def test_level_comes_from_the_words_without_an_error_name(line, level):
    record = read_record(RECORDS, line)
    assert (record.kind, record.level) == ("bkcl.log", level)


def test_newer_lines_name_host_and_process():
    record = read_record(RECORDS, "[xpu-a.lan][4288][ERR][BKCL][init.cpp:1485] connect failed")
    assert (record.fields["by_host"], record.fields["by_pid"], record.fields["file"]) == ("xpu-a.lan", 4288, "init.cpp")
