"""Ends of processes as the log tells them, each with the line that shows it.

A launcher names the process whose end it noticed first. That end may follow from the end of another process. The
question of the first death decides which end came first.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.reasoning.lifecycle.attempts import Attempts
from logdoctor.reasoning.lifecycle.clocks import SKEW, elapsed

MAX_ENDS = 1024
SIGNALS = range(1, 65)
SIGKILL = 9


class End(Struct, frozen=True):
    """The end of a process: how it ended, as far as the line says so."""

    record: Record
    signal: int | None = None
    code: int | None = None
    exception: str = ""

    @property
    def is_well(self) -> bool:
        return self.code == 0 and self.signal is None and not self.exception


def end_of(record: Record) -> End:
    """Return what a record says of an end."""
    code, exception = record.fields.get("exit_code"), record.fields.get("exception")
    own = exception if record.reports_own_end and isinstance(exception, str) else ""
    return End(record, signal_of(record), code if isinstance(code, int) else None, own)


def signal_of(end: Record) -> int | None:
    """Return the signal that ended a process, as told or by the exit code."""
    fields = end.fields
    signal, code = fields.get("signal"), fields.get("exit_code")
    if fields.get("reason") == "oom" or any(s.mark == "is ended" and s.by == "signal" and s.late for s in end.signs):
        return SIGKILL
    if isinstance(signal, int) and signal in SIGNALS:
        return signal
    number = 0 if not isinstance(code, int) else -code if code < 0 else code - 128 if code > 128 else 0
    return number if number in SIGNALS else None


class NamedEnds(Struct, frozen=True):
    """The ends that launchers name, in reading order.

    ``first_death`` is the end that came before all others, see `JobState.knowing`.
    """

    attempts: Attempts
    ends: list[Record] = field(default_factory=list)
    first_death: Record | None = None

    def add(self, record: Record) -> None:
        if len(self.ends) < MAX_ENDS:
            self.ends.append(record)

    def is_of_first(self, records: Iterable[Record]) -> bool:
        """Return whether a launcher's report of the first death is among the records."""
        died = self.first_death
        return died is not None and died.fields["reporter"] != "itself" and any(e.order == died.order for e in records)

    def ends_in_attempt_of(self, record: Record) -> list[Record]:
        """Return the first named end in the attempt of the record, for each file that tells of attempts.

        Reading order decides, unless a later file shows a clearly earlier time. Return only ``first_death`` if that
        names a rank.
        """
        died = self.first_death
        if died is not None and died.rank is not None and self.attempts.same_span(died, record):
            return [died]
        first: list[Record] = []
        for end in self.ends:
            if not first or not self.attempts.same_span(first[-1], end):
                first.append(end)
            elif (elapsed(end, first[-1]) or 0.0) > SKEW:
                first[-1] = end
        return [*filter(self.attempts.span_test(record), first)]

    def all_in_attempt_of(self, record: Record) -> list[Record]:
        """Return the named ends in the attempt of the record."""
        return [*filter(self.attempts.span_test(record), self.ends)]
