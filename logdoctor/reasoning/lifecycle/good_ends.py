"""What shows that a job came to a good end, or got over what was only reported before."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from logdoctor.model import LifecycleSign, Record
from logdoctor.reasoning.lifecycle.clocks import printed_after
from logdoctor.reasoning.lifecycle.greetings import Greetings

Run = Callable[[Record], bool] | None
"""Which events count; None: those of the same job, also of its later attempts."""
BATCH_ENDS = frozenset({"batch.exit", "batch.killed"})
"""How a batch system says that a job ended badly; where it writes on into one file, the job that ended last counts."""
ENDS: frozenset[LifecycleSign] = frozenset({"last words", "named end", "end told"})
_BAR = "%|"


class GoodEnds(Struct):
    """Keeps the last sign of each kind."""

    done: Record | None = None
    """Where the program said last that it is done."""
    job_done: Record | None = None
    """Where a batch system said last that a job ended well."""
    job_failed: Record | None = None
    """The same of one that ended badly."""
    finished: Record | None = None
    """The last step of all, if it is the last one that was to be made; a bar may be of any loop."""
    scored: Record | None = None
    """The scores at the end of an evaluation, if no process had ended before."""
    greetings: Greetings = field(default_factory=Greetings)
    over: bool = False
    """Whether somebody told of a process's end: what is scored after that is another program's work."""

    def observe(self, record: Record) -> None:
        """Take one event in."""
        self.over = self.over or not ENDS.isdisjoint(record.signs)
        self.greetings.observe(record, over=self.over)
        if record.kind == "progress.step":
            self.finished = record if _is_the_last_one(record) else None
        elif record.kind == "progress.done":
            self.done = record
        elif record.kind == "progress.scored":
            self.scored = None if self.over else record
        elif record.kind == "batch.done":
            self.job_done = record
        elif record.kind in BATCH_ENDS:
            self.job_failed = record

    def outlast(self, record: Record, run: Run) -> bool:
        """Whether the job, or ``run`` of it, ended well after ``event``.

        What a batch system says of a job's bad end is outlived where it says later that one ended well.  The scores of
        an evaluation show that it got over errors that were only reported, not that a process lived on; so do
        greetings of all ranks.
        """
        if self.done is not None and printed_after(self.done, record) and (run is None or run(self.done)):
            return True
        if self.scored is not None and record.level != "fatal" and printed_after(self.scored, record):
            return True
        if self.greetings.covers(record):
            return True
        return self.outlast_by_report(record, run)

    def outlast_by_report(self, record: Record, run: Run) -> bool:
        """Whether the batch system's last word is that a later job ended well.

        It ended another one badly before; an exception that ended a program is of that one, if it stands in a file of
        its own without a time, as stderr does.
        """
        done, ended = self.job_done, self.job_failed
        if done is None or (run is not None and not run(done)):
            return False
        if record.kind in BATCH_ENDS:
            return printed_after(done, record)
        if ended is None or record.line.file == done.line.file or record.time is not None or record.level != "fatal":
            return False
        return "own end" in record.signs and ended.line.file == done.line.file and printed_after(done, ended)


def _is_the_last_one(step: Record) -> bool:
    value, total = step.fields.get("value"), step.fields.get("total")
    return value is not None and value == total and _BAR not in step.text
