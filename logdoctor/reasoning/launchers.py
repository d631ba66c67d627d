"""What launchers give away: which one started the job, and the process whose end each one names.

That process is only the first one that the launcher noticed: its end may follow from another's.  Which end no other
explains is for the ledger of deaths to say.
"""

from __future__ import annotations

from collections.abc import Collection

from logdoctor.model import Event
from logdoctor.reasoning.attempts import Attempts
from logdoctor.reasoning.clocks import SKEW, elapsed

LAUNCHERS = {"elastic": "torchrun", "openmpi": "mpirun", "mpich": "mpiexec", "slurm": "srun", "ray": "ray"}
"""Which dialect gives away which launcher; the first one seen in this order names it."""


def launcher_of(dialects: Collection[str]) -> str | None:
    """The launcher that the dialects of a log give away."""
    return next((name for dialect, name in LAUNCHERS.items() if dialect in dialects), None)


def names_an_end(event: Event) -> bool:
    """Whether a launcher names a process that ended; an exception of its own may be about a local rank."""
    if "named end" in event.means:  # mpirun may say that one ended before it says which
        return (event.rank, event.host, event.pid, event.fields.get("local_rank")) != (None, None, None, None)
    return event.dialect == "python" and "local_rank" in event.fields


def told_local_rank(event: Event) -> int | None:
    """The local rank of the process that a launcher, or Python of its children, tells about."""
    if event.kind == "lightning.child_died":  # here the tag is the child, not the speaker
        return event.speaker.local_rank
    local = event.fields.get("local_rank") if event.dialect in ("elastic", "frameworks", "python") else None
    return local if isinstance(local, int) else None


class NamedEnds:
    """Folds the ends that launchers name: of each attempt the first one; ``first_death`` is what the ledger tells."""

    def __init__(self, attempts: Attempts) -> None:
        """Start with none; ``attempts`` tells them apart."""
        self._attempts = attempts
        self._first: list[Event] = []
        self.first_death: Event | None = None

    def observe(self, event: Event) -> None:
        """Take one event in: by place, by time where files that are read one after the other tell it."""
        known = self._first[-1] if self._first else None
        if known is None or not self._attempts.same_span(known, event):
            self._first.append(event)
        elif (elapsed(event, known) or 0.0) > SKEW:
            self._first[-1] = event

    def learn(self, derived: Event) -> None:
        """Take in what the ledgers tell: which end came before all others."""
        if derived.kind == "ledger.first_death":
            self.first_death = derived

    def in_the_attempt_of(self, event: Event) -> list[Event]:
        """Those of the attempt that ``event`` belongs to: the one that surely came first, where the log tells it."""
        died = self.first_death
        if died is not None and died.rank is not None and self._attempts.same_span(died, event):
            return [died]
        return [end for end in self._first if self._attempts.same_span(end, event)]
