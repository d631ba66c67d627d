"""Jobs of Slurm that ended badly, asked for once a minute. Slurm's epilog is not needed.

sacct tells the ends since the last look. Without an accounting the controller tells those that it remembers (squeue).
Jobs that wait for what never comes are told once too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct

from logdoctor.codes import catalogue
from logdoctor.model import InputError
from logdoctor.slurm.accounting import PARTED, Row, read_rows, run

OVERLAP = timedelta(minutes=5)
"""The accounting may tell an end late."""
MOST_NOTES = 1000
STUCK = ("change-request", "ask-admin", "fix-settings")
"""Actions of the reasons that do not go away by waiting (`codes/data/slurm-reason.tsv`)."""
_ENDS = "JobID,JobIDRaw,State,ExitCode,Start,End"
_NAMES = ("id", "raw_id", "state", "exit_code", "start", "end")
_SHORT = "F,OOM,TO,NF,BF,DL,PR,CA"


class Ended(Struct, frozen=True):
    """A job that ended badly, or that will never start."""

    job: str
    state: str
    reason: str = ""


class Poller:
    """Tells each job once that ended since the poller was made. The clock is that of the caller."""

    def __init__(self, clock: Callable[[], datetime], user: str = "", notes: Path | None = None) -> None:
        self._clock, self._notes = clock, notes
        self._whose = ("-u", user) if user else ()
        self._everybody = () if user else ("-a",)
        self._start = self._since = clock()
        self._told: dict[tuple[str, str], datetime] = {}

    def poll(self) -> Iterator[Ended]:
        """Ask once, and yield the jobs that were not told before. Raise `InputError` if nobody answers."""
        now = self._clock()
        for row in self._ended(now):
            if row.is_bad and row.start and self._is_new(row.raw_id, row.end, now):
                yield Ended(row.id, row.state)
        for job, reason in self._waiting():
            if self._is_new(job, reason, now):
                yield Ended(job, "PENDING", reason)
        self._forget(now)
        self._since = now

    def take_notes(self) -> bool:
        """Report whether the epilog dropped a note since the last look, and remove the notes."""
        if self._notes is None:
            return False
        taken = False
        try:
            for _, note in zip(range(MOST_NOTES), self._notes.iterdir(), strict=False):
                if note.name.isdecimal():
                    note.unlink(missing_ok=True)
                    taken = True
        except OSError as error:
            raise InputError("the notes cannot be taken", str(self._notes), error.strerror or "") from None
        return taken

    def _ended(self, now: datetime) -> list[Row]:
        since = max(self._start, self._since - OVERLAP).strftime("%Y-%m-%dT%H:%M:%S")
        until = (now + OVERLAP).strftime("%Y-%m-%dT%H:%M:%S")
        asked = ("-X", "-n", "-p", f"--delimiter={PARTED}", "-o", _ENDS, "-s", _SHORT, "-S", since, "-E", until)
        try:
            rows = read_rows(run("sacct", *asked, *self._whose, *self._everybody), _NAMES)
            return [row for row in rows if row.end >= since]
        except InputError:
            return self._remembered(since)

    def _remembered(self, since: str) -> list[Row]:
        """Return the ends that the controller remembers, five minutes long unless the site says otherwise."""
        asked = run("squeue", "-h", "-t", _SHORT, "-o", "%i|%A|%T|%S|%e", *self._whose)
        rows = [line.split("|") for line in asked.splitlines() if line.count("|") == 4]
        return [Row(i, raw, state, start=start, end=end) for i, raw, state, start, end in rows if end >= since]

    def _waiting(self) -> list[tuple[str, str]]:
        """Return the jobs whose reason to wait does not go away by waiting."""
        asked = run("squeue", "-h", "-t", "PD", "-o", "%i|%r", *self._whose)
        jobs = [line.split("|", 1) for line in asked.splitlines() if "|" in line]
        return [(job, reason) for job, reason in jobs if is_stuck(reason)]

    def _is_new(self, job: str, end: str, now: datetime) -> bool:
        is_new = (job, end) not in self._told
        self._told[job, end] = now
        return is_new

    def _forget(self, now: datetime) -> None:
        """Forget what was not asked about for so long that no answer can hold it."""
        self._told = {key: at for key, at in self._told.items() if now - at <= 4 * OVERLAP}


def is_stuck(reason: str) -> bool:
    """Return whether a job with this reason waits for ever unless somebody acts."""
    entry = catalogue("slurm-reason").find(reason)
    return entry is not None and entry.columns["action"] in STUCK
