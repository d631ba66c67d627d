"""The failure that came first by the clock, or by its place in the only file."""

from __future__ import annotations

from collections.abc import Iterable

from logdoctor.model import Record
from logdoctor.reasoning.lifecycle.clocks import A_YEAR


def earliest(failures: Iterable[Record]) -> Record | None:
    """Return the earliest of ``failures``, which stand in reading order.

    Return None if they stand in several files and no clock tells which came first. The name of a file tells nothing.
    """
    first_of_file: dict[str, Record] = {}
    for record in failures:
        first_of_file.setdefault(record.line.file, record)
    if len(first_of_file) < 2:
        return next(iter(first_of_file.values()), None)
    timed = [(record.time < A_YEAR, record.time, record) for record in first_of_file.values() if record.time]
    kinds = {without_year for without_year, *_ in timed}
    return min(timed, key=lambda entry: entry[1])[-1] if len(kinds) == 1 else None
