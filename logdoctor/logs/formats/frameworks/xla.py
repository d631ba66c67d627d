r"""JAX, XLA and TensorFlow: tasks of a job that lose each other.

Kinds and fields:

``xla.coordination``  status, message: the service that keeps the tasks together, or this task's agent, gave up
``xla.collective``    status, message: TensorFlow aborts its collectives;  the end of a data set is none

Sources: XLA `tsl/distributed_runtime/coordination` and `pjrt/distributed/client.cc` (jaxlib 0.3 to 0.7), TensorFlow
`core/common_runtime/base_collective_executor.cc` and `ring_reducer.cc` (1.13 to 2.19), abseil `status.cc`.
"""

from __future__ import annotations

from logdoctor.logs.record_pattern import RecordPattern

_STATUS = r"(?P<status>[A-Z][A-Za-z_ ]{2,24}): (?P<message>.{0,400})"
"""``UNAVAILABLE: text``, before 2022 ``Unavailable: text``."""

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "xla.coordination",
        rf"[Cc]oordination (?:service )?agent (?:is )?(?:in error status|set to ERROR|encountered an error): {_STATUS}"
        rf"|has been set to ERROR in coordination service: {_STATUS}",
        "error",
        note="A task of the job lost the others: the service that keeps them together says so.",
        priority=1,
        scan=r"oordination (?:service )?agent .{0,30}(?:status|ERROR|error): |to ERROR in coordination service",
    ),
    RecordPattern(
        "xla.coordination",
        r"Polled an error from coordination service",
        "error",
        note="The service that keeps the tasks together reports a failure of this or of another task.",
    ),
    RecordPattern(
        "xla.collective",
        r"(?:BaseCollectiveExecutor::StartAbort|Aborting \w{3,40} with|Collective ops is aborted by:) "
        rf"(?!Out of range|OUT_OF_RANGE|Cancelled|CANCELLED)(?:{_STATUS}|(?P<message>.{{1,400}}))",
        "error",
        note="TensorFlow gives up its collectives, because one of them failed.",
        priority=-1,
        scan=r"BaseCollectiveExecutor::StartAbort [A-Z]|Aborting \w{3,40} with [A-Z]|Collective ops is aborted by",
    ),
)
