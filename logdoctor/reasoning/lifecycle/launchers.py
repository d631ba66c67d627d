"""What launchers give away: which one started the job, and the process whose end each one names.

That process is only the first one that the launcher noticed: its end may follow from another's.  Which end no other
explains is for the ledger of deaths to say.
"""

from __future__ import annotations

from collections.abc import Collection

from logdoctor.model import Record
from logdoctor.reasoning.lifecycle.attempts import Attempts
from logdoctor.reasoning.lifecycle.clocks import SKEW, elapsed

LAUNCHERS = {"elastic": "torchrun", "openmpi": "mpirun", "mpich": "mpiexec", "slurm": "srun", "ray": "ray"}
"""Which format gives away which launcher; the first one seen in this order names it."""


def launcher_of(formats: Collection[str]) -> str | None:
    """The launcher that the formats of a log give away."""
    return next((name for log_format, name in LAUNCHERS.items() if log_format in formats), None)


def names_an_end(record: Record) -> bool:
    """Whether a launcher names a process that ended; an exception of its own may be about a local rank."""
    if "named end" in record.signs:  # mpirun may say that one ended before it says which
        return (record.rank, record.host, record.pid, record.fields.get("local_rank")) != (None, None, None, None)
    return record.format == "python" and "local_rank" in record.fields


def told_local_rank(record: Record) -> int | None:
    """The local rank of the process that a launcher, or Python of its children, tells about."""
    if record.kind == "lightning.child_died":  # here the tag is the child, not the source
        return record.source.local_rank
    local = record.fields.get("local_rank") if record.format in ("elastic", "frameworks", "python") else None
    return local if isinstance(local, int) else None


class NamedEnds:
    """Folds the ends that launchers name: of each attempt the first one; ``first_death`` is what the detector tells."""

    def __init__(self, attempts: Attempts) -> None:
        """Start with none; ``attempts`` tells them apart."""
        self._attempts = attempts
        self._first: list[Record] = []
        self.first_death: Record | None = None

    def observe(self, record: Record) -> None:
        """Take one event in: by place, by time where files that are read one after the other tell it."""
        known = self._first[-1] if self._first else None
        if known is None or not self._attempts.same_span(known, record):
            self._first.append(record)
        elif (elapsed(record, known) or 0.0) > SKEW:
            self._first[-1] = record

    def learn(self, derived: Record) -> None:
        """Take in what the detectors tell: which end came before all others."""
        if derived.kind == "ledger.first_death":
            self.first_death = derived

    def in_the_attempt_of(self, record: Record) -> list[Record]:
        """Those of the attempt that ``event`` belongs to: the one that surely came first, where the log tells it."""
        died = self.first_death
        if died is not None and died.rank is not None and self._attempts.same_span(died, record):
            return [died]
        return [end for end in self._first if self._attempts.same_span(end, record)]
