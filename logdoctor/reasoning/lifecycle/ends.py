"""Ends of processes as the log tells them, each with the line that shows it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from logdoctor.model import Record

MAX_ENDS = 4096
SIGNALS = range(1, 65)
SIGKILL = 9
KILLED_BY_KERNEL = "kernel.oom_kill"


class End(Struct, frozen=True):
    """The end of a process: how it ended, as far as the line says so."""

    record: Record
    signal: int | None = None
    code: int | None = None
    exception: str = ""

    @property
    def is_well(self) -> bool:
        return self.code == 0 and self.signal is None and not self.exception


class Ends:
    """Lines that tell how processes ended, in reading order."""

    def __init__(self) -> None:
        self._records: list[Record] = []

    def observe(self, record: Record) -> None:
        own = "own end" in record.signs and record.level == "fatal"
        if (own or "end told" in record.signs) and len(self._records) < MAX_ENDS:
            self._records.append(record.without_lines())

    def __iter__(self) -> Iterator[End]:
        return map(end_of, self._records)


def end_of(record: Record) -> End:
    """Return what a record says of an end."""
    code, exception = _number(record, "exit_code"), record.fields.get("exception")
    own = exception if "own end" in record.signs and isinstance(exception, str) else ""
    return End(record, _signal(record, code), code, own)


def _signal(record: Record, code: int | None) -> int | None:
    """Return the signal that the record names, or the one that its exit code stands for."""
    if record.kind == KILLED_BY_KERNEL or record.fields.get("reason") == "oom":
        return SIGKILL
    signal = _number(record, "signal")
    if signal is None and code is not None:
        signal = -code if code < 0 else code - 128
    return signal if signal in SIGNALS else None


def _number(record: Record, name: str) -> int | None:
    value = record.fields.get(name)
    return value if isinstance(value, int) else None
