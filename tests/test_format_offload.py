from __future__ import annotations

import pytest
from format_probe import kinds, read_record, records

RECORDS = records("offload")


@pytest.mark.parametrize(
    ("line", "kind", "fields"),
    [
        (
            "Accelerator Fatal Error: call to cuLaunchKernel returned error 719 (CUDA_ERROR_LAUNCH_FAILED): Launch failed",
            "offload.error",
            {"call": "cuLaunchKernel", "code": 719},
        ),
        ("call to cuMemFreeHost returned error 700: Illegal address", "offload.error", {"code": 700}),
        ("This file was compiled: -acc=gpu -gpu=cc80", "offload.no_code", {}),
        ("libgomp: device type nvidia not supported", "offload.no_code", {}),
        (
            "3: ALLOCATE: 4294967296 bytes requested; status = 2(out of memory)",
            "offload.no_memory",
            {"size": 4294967296},
        ),
    ],
)
def test_run_times_of_directives_say_why_they_end(line, kind, fields):
    record = read_record(RECORDS, line)
    assert (record.kind, record.level) == (kind, "fatal")
    assert fields.items() <= record.fields.items()


@pytest.mark.parametrize("line", ["     340, Generating NVIDIA GPU code", "call to curl returned error 7: no route"])
def test_compiler_messages_give_no_record(line):
    assert not kinds(RECORDS, line)
