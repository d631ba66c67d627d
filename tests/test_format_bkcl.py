from __future__ import annotations

from format_probe import read_record, records

RECORDS = records("bkcl")


def test_newer_lines_name_host_and_process():
    record = read_record(RECORDS, "[xpu-a.lan][4288][ERR][BKCL][init.cpp:1485] connect failed")
    assert (record.fields["by_host"], record.fields["by_pid"], record.fields["file"]) == ("xpu-a.lan", 4288, "init.cpp")
