"""Ends of processes as the log tells them, each with the line that shows it."""

from __future__ import annotations

from msgspec import Struct

from logdoctor.model import Record
from logdoctor.reasoning.lifecycle.lives import Lives, signal_of


class End(Struct, frozen=True):
    """The end of a process: how it ended, as far as the line says so."""

    record: Record
    signal: int | None = None
    code: int | None = None
    exception: str = ""

    @property
    def is_well(self) -> bool:
        return self.code == 0 and self.signal is None and not self.exception


def list_ends(lives: Lives) -> list[End]:
    """Return the ends of processes in the last attempt, in reading order."""
    told = (
        r for life in lives.processes.values() for r in (*life.ends, *life.orders, *((life.well,) if life.well else ()))
    )
    ends = (r for r in told if r.reports_end_of_other or (r.reports_own_end and r.level == "fatal"))
    return [end_of(r) for r in sorted(ends, key=lambda r: r.order)]


def end_of(record: Record) -> End:
    """Return what a record says of an end."""
    code, exception = record.fields.get("exit_code"), record.fields.get("exception")
    own = exception if record.reports_own_end and isinstance(exception, str) else ""
    return End(record, signal_of(record), code if isinstance(code, int) else None, own)
