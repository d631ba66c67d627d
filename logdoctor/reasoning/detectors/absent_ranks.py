"""The rank that is not in the launcher's list of failures.

Derived record (format ``ledger``, on the line of the first who gave up waiting):

- ``ledger.absent_rank``  missing, host, listed (number of the others)

All other ranks of a node gave up waiting, and their agent lists them. The one that is not listed did not wait with
them: it still worked, hung, or never came.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.reasoning.derived import derive_of_other
from logdoctor.reasoning.identity.addresses import short_host
from logdoctor.reasoning.job_state import JobState

GAVE_UP = (-6, 134)
"""Exit codes of SIGABRT, by which torch's watchdog ends a process that waited in vain."""
MIN_LISTED = 3
MAX_LISTS = 4096


class Detector(Struct):
    """The lists of failures, the number of workers of a node, and the first who gave up waiting."""

    READS: ClassVar = ("starts again", "gives up", "elastic.config", "elastic.failure_summary")

    lists: list[Record] = field(default_factory=list)
    per_node: int = 0
    waited: Record | None = None

    def observe(self, record: Record) -> None:
        if record.has("starts again"):
            self.lists.clear()
        if self.waited is None and record.has("gives up"):
            self.waited = record.without_lines()
        size = record.fields.get("nproc_per_node")
        if record.kind == "elastic.config" and isinstance(size, int):
            self.per_node = size
        elif record.kind == "elastic.failure_summary" and len(self.lists) < MAX_LISTS:
            self.lists.append(record.without_lines())

    def derive(self, state: JobState) -> Iterator[Record]:
        size = state.places.per_node or self.per_node
        for record in self.lists if self.waited is not None else ():
            others, local = record.fields.get("other_ranks"), record.fields.get("local_rank")
            if record.rank is None or not isinstance(others, tuple) or not isinstance(local, int):
                continue
            listed, first = {record.rank, *others}, record.rank - local
            missing = [rank for rank in range(first, first + size) if rank not in listed]
            if record.fields.get("exit_code") in GAVE_UP and len(listed) >= MIN_LISTED and len(missing) == 1:
                host, line = short_host(record.host or ""), self.waited or record
                yield derive_of_other("absent_rank", line, missing=missing[0], host=host, listed=len(listed))
                return
