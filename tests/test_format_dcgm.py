"""Warnings of a failed DCGM diagnosis, as a table and as JSON."""

from __future__ import annotations

import pytest
from format_probe import read, read_record, records

RECORDS = records("dcgm")


WARNED = "Found 9 faulty memory elements on GPU 2 Run a field diagnostic on the GPU."


@pytest.mark.parametrize("warning", [f'"warning" : "{WARNED}"', f'"{WARNED}"'], ids=["DCGM 3", "DCGM 2"])
def test_lines_below_a_failed_status_give_the_reason(warning):
    log = f'  "status" : "Fail",\n  "warnings" :\n  [\n    {{\n      "error_id" : 52,\n      {warning}\n    }}\n  ]\n'
    record = read_record(RECORDS, log)
    assert (record.fields["message"], record.fields["gpu"]) == (WARNED, 2)


def test_a_status_without_a_warning_is_of_another_program():
    assert not read(RECORDS, '{\n  "status": "Fail",\n  "name": "nightly"\n}\n')
