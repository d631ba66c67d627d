"""A line a job, for `grep` and `cut`: the job, then the columns of ``logdoctor -q``, separated by tabs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from logdoctor.archive.record import JobRecord
from logdoctor.render.entity_names import place_column, ranges
from logdoctor.render.one_line import UNKNOWN


def write(records: Iterable[JobRecord], out: TextIO) -> None:
    """Write the lines. A column of which nothing is known is ``-``."""
    for record in records:
        columns = (column.replace("\t", " ") or UNKNOWN for column in _columns(record))
        out.write("\t".join(columns) + "\n")


def _columns(record: JobRecord) -> tuple[str, ...]:
    has_cause = "." in record.signature
    problem = next((f"{p.what}: {p.why}" for p in record.problems), "") if record.status != "diagnosed" else ""
    return (
        record.job,
        record.decision,
        record.verdict or record.status,
        record.signature if has_cause else "",
        f"{record.confidence:.2f}" if has_cause else "",
        ranges(record.ranks),
        ",".join(record.hosts),
        ",".join(record.gpus),
        f"{record.proof_file}:{record.proof_line}" if record.proof_file else "",
        place_column(record.place_ranks, record.place_hosts),
        problem or record.title or record.reason,
    )
