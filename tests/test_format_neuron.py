"""AWS Neuron: who reports what, where it ran, and what it survives."""

from __future__ import annotations

from format_probe import read_record, records

RECORDS = records("neuron")


STAMP = "2024-Mar-07 07:07:29.008211  8649:8757  "


def test_an_error_of_the_run_time_names_its_part_and_its_process():
    record = read_record(
        RECORDS, STAMP + "ERROR  TDRV:dmem_alloc_internal            Failed to alloc DEVICE memory: 4096"
    )
    assert (record.kind, record.level, record.text) == ("neuron.other", "error", "Failed to alloc DEVICE memory: 4096")
    assert (record.fields["part"], record.fields["func"], record.fields["by_pid"]) == (
        "TDRV",
        "dmem_alloc_internal",
        8649,
    )


def test_error_that_the_run_time_ignores_is_a_warning():
    line = STAMP + "ERROR  TDRV:exec_consume_infer_status_notifications (NON-FATAL, Ignoring) inference timeout (9 ms)"
    assert read_record(RECORDS, line).level == "warning"


def test_dump_has_its_host():
    record = read_record(RECORDS, STAMP + "ERROR   NRT:nrt_infodump                Nodename: trn-a1.example")
    assert (record.kind, record.fields["by_host"]) == ("neuron.other", "trn-a1.example")


def test_collectives_of_neuron_warn_with_their_place():
    record = read_record(
        RECORDS, "2024-Mar-07 07:07:29.0082 41:43 [5] bootstrap.cc:106 CCOM WARN Call to accept failed"
    )
    assert (record.kind, record.fields["file"], record.fields["line"]) == ("neuron.other", "bootstrap.cc", 106)
