from __future__ import annotations

from failing_job import diagnose_log
from format_probe import kinds, records

RECORDS = records("xla")


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
