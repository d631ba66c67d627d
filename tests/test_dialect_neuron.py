"""AWS Neuron: who reports what, where it ran, and what it survives."""

from __future__ import annotations

import pytest
from dialect_probe import one

from logdoctor.parsers.dialects.neuron import RECORDS

STAMP = "2024-Mar-07 07:07:29.008211  8649:8757  "


def test_an_error_of_the_run_time_names_its_part_and_its_process():
    seen = one(RECORDS, STAMP + "ERROR  TDRV:dmem_alloc_internal            Failed to alloc DEVICE memory: 4096")
    assert (seen.kind, seen.level, seen.text) == ("neuron.error", "error", "Failed to alloc DEVICE memory: 4096")
    assert (seen.fields["part"], seen.fields["func"], seen.fields["by_pid"]) == ("TDRV", "dmem_alloc_internal", 8649)


def test_what_the_run_time_ignores_is_a_warning():
    line = STAMP + "ERROR  TDRV:exec_consume_infer_status_notifications (NON-FATAL, Ignoring) inference timeout (9 ms)"
    assert one(RECORDS, line).level == "warning"


@pytest.mark.parametrize(
    ("tail", "kind"),
    [("Failure: NRT_TIMEOUT in nrt_execute()", "neuron.failure"), ("Cluster ID: N/A", "neuron.dump")],
)
def test_of_a_dump_the_failure_is_told_apart(tail, kind):
    assert one(RECORDS, STAMP + "ERROR   NRT:nrt_infodump                " + tail).kind == kind


def test_a_dump_says_on_which_host():
    seen = one(RECORDS, STAMP + "ERROR   NRT:nrt_infodump                Nodename: trn-a1.example")
    assert (seen.kind, seen.fields["by_host"]) == ("neuron.node", "trn-a1.example")


def test_its_collectives_warn_with_their_place():
    seen = one(RECORDS, "2024-Mar-07 07:07:29.0082 41:43 [5] bootstrap.cc:106 CCOM WARN Call to accept failed")
    assert (seen.kind, seen.fields["file"], seen.fields["line"]) == ("neuron.ccom", "bootstrap.cc", 106)
