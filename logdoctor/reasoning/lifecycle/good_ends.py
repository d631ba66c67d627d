"""Signs that a job ended well or recovered from errors."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.reasoning.lifecycle.clocks import printed_after
from logdoctor.reasoning.lifecycle.greetings import Greetings

Run = Callable[[Record], bool] | None
"""Test whether a record belongs to the run.  None means the same job, with its later attempts."""
BATCH_ENDS = frozenset({"batch.exit", "batch.killed"})
"""Reports of a batch system that a job failed.  If one file holds several reports, the last one counts."""
_BAR = "%|"


class GoodEnds(Struct):
    """Last sign of each kind of good end."""

    done: Record | None = None
    """Last record in which the program reports that it is done."""
    job_done: Record | None = None
    """Last report of a batch system that a job ended well."""
    job_failed: Record | None = None
    """Last report of a batch system that a job failed."""
    finished: Record | None = None
    """Last step of all, if its number is the total.  Progress bars do not count, because any loop may draw one."""
    scored: Record | None = None
    """Scores at the end of an evaluation, if no process had ended before."""
    greetings: Greetings = field(default_factory=Greetings)
    over: bool = False
    """True if the end of a process was reported.  Scores after that come from another program."""

    def observe(self, record: Record) -> None:
        self.over = self.over or (record.is_last_word or record.tells("first end") or record.reports_end_of_other)
        self.greetings.observe(record, over=self.over)
        if record.kind == "progress.step":
            self.finished = record if _is_final_step(record) else None
        elif record.kind == "progress.done":
            self.done = record
        elif record.kind == "progress.scored":
            self.scored = None if self.over else record
        elif record.kind == "batch.done":
            self.job_done = record
        elif record.kind in BATCH_ENDS:
            self.job_failed = record

    def outlive(self, record: Record, run: Run) -> bool:
        """Return whether the job or ``run`` ended well after the record.

        A batch system's report of a failure is outlived if a later report says that a job ended well. Scores of an
        evaluation and greetings of all ranks outlive only reported errors (not ``fatal`` records), because they do not
        show that the process itself survived.
        """
        if self.done is not None and printed_after(self.done, record) and (run is None or run(self.done)):
            return True
        if self.scored is not None and record.level != "fatal" and printed_after(self.scored, record):
            return True
        if self.greetings.cover(record):
            return True
        return self.outlive_by_report(record, run)

    def outlive_by_report(self, record: Record, run: Run) -> bool:
        """Return whether the last batch report shows a good end.

        The record may be a report of the earlier, failed job. It may also be the exception that ended this job, if it
        stands in another file without a time, as stderr does.
        """
        done, ended = self.job_done, self.job_failed
        if done is None or (run is not None and not run(done)):
            return False
        if record.kind in BATCH_ENDS:
            return printed_after(done, record)
        if ended is None or record.line.file == done.line.file or record.time is not None or record.level != "fatal":
            return False
        return record.reports_own_end and ended.line.file == done.line.file and printed_after(done, ended)


def _is_final_step(step: Record) -> bool:
    value, total = step.fields.get("value"), step.fields.get("total")
    return value is not None and value == total and _BAR not in step.text
