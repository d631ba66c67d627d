"""A row for each sick host and GPU, for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from logdoctor.archive.bad_hosts import BadHost
from logdoctor.archive.decision_counts import tell_decisions
from logdoctor.archive.exclusions.json import rows
from logdoctor.model.escape import spreadsheet_cell

COLUMNS = "host gpu reason failures jobs expected confidence first last decisions".split()


def render(hosts: Sequence[BadHost]) -> str:
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for row in rows(hosts):
        cells = {**row, "decisions": tell_decisions(row["decisions"])}
        table.writerow([spreadsheet_cell(cells[name]) for name in COLUMNS])
    return out.getvalue()
