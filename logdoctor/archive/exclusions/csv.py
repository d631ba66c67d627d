"""A row for each sick host and GPU, for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from logdoctor.archive.bad_hosts import BadHost
from logdoctor.archive.exclusions.json import rows
from logdoctor.model.escape import spreadsheet_cell

COLUMNS = "host gpu reason failures jobs expected confidence first last".split()


def render(hosts: Sequence[BadHost]) -> str:
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    table.writerows([spreadsheet_cell(row[name]) for name in COLUMNS] for row in rows(hosts))
    return out.getvalue()
