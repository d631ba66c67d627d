from __future__ import annotations

import pytest
from failing_job import diagnose_log
from format_probe import kinds, read_record, records

RECORDS = records("xla")


@pytest.mark.parametrize(
    "line",
    [
        "Coordination service agent in error status: DEADLINE_EXCEEDED: Deadline Exceeded",
        "Coordination agent is set to ERROR: INTERNAL: bad step",
        "/job:jax_worker/replica:0/task:3 has been set to ERROR in coordination service: UNAVAILABLE: it is gone",
    ],
)
def test_reason_of_the_coordination_service_is_read(line):
    record = read_record(RECORDS, line)
    assert (record.kind, record.level) == ("xla.coordination", "error")
    assert record.fields["status"] in ("DEADLINE_EXCEEDED", "INTERNAL", "UNAVAILABLE")


@pytest.mark.parametrize(
    "line",
    [
        "Aborting RingReduce with Unavailable: Socket closed",
        "BaseCollectiveExecutor::StartAbort UNAVAILABLE: Socket closed",
        "UnavailableError: Collective ops is aborted by: Socket closed",
    ],
)
def test_collectives_that_tensorflow_aborts_are_a_failure(line):
    assert read_record(RECORDS, line).kind == "xla.collective"


def test_the_end_of_a_data_set_aborts_collectives_too_and_is_no_failure():
    assert kinds(RECORDS, "BaseCollectiveExecutor::StartAbort Out of range: End of sequence") == []


def test_title_of_an_nccl_error_quoted_by_xla_has_only_nccls_words(knowledge):
    diagnosis = diagnose_log(
        "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: NCCL operation ncclCommInitRank(&comm, n, id, rank) failed: "
        "internal error. Last NCCL warning(error) log entry (may be unrelated) 'Attribute speed of node pci not found'.; "
        "current tracing scope: all-reduce.3\n",
        knowledge,
    )
    assert diagnosis.causes[0].title.endswith(": Attribute speed of node pci not found")
