"""One JSON object a job and line, with all that is kept of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from logdoctor.scan.record import JobRecord


def write(records: Iterable[JobRecord], out: TextIO) -> None:
    """Write the records as JSON lines."""
    out.writelines(record.to_line() + "\n" for record in records)
