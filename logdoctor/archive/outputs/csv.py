"""CSV with one row per job, for spreadsheets.  Lists are joined by spaces."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import Any, TextIO

from logdoctor.archive.record import JobRecord
from logdoctor.archive.tables import job_row
from logdoctor.model.escape import spreadsheet_cell


def write(records: Iterable[JobRecord], out: TextIO) -> None:
    """Write a header and the table of jobs as CSV."""
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(job_row(JobRecord("")).keys())
    for record in records:
        rows.writerow([_cell(value) for value in job_row(record).values()])


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, tuple):
        value = " ".join(str(part) for part in value)
    return spreadsheet_cell(value)
