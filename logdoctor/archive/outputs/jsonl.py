"""JSON Lines: one complete record per line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from logdoctor.archive.record import JobRecord


def write(records: Iterable[JobRecord], out: TextIO) -> None:
    out.writelines(record.to_line() + "\n" for record in records)
