"""Spans of one file: its jobs and attempts (see attempts.py)."""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from logdoctor.model import Record
from logdoctor.pack.regexes import later
from logdoctor.reasoning.steps import Steps, is_first_of_count

Kind = Literal["attempt", "job"]

MAX_SPANS = 32
MAX_WORKERS = 1 << 10
STARTED_AFTER = 3.0
"""Seconds that an agent needs at least to start workers that fail."""
GOING = 3
"""Number of steps after a supposed end that show that it was no end, if nothing started in between."""
AGAIN = frozenset({"requeue", "preemption", "node failure"})
"""Reasons for which a scheduler ends a job and starts it again."""
_MAIN = later(r", in <module>\s*$|, in _run_module_as_main\s*$")


class Span(Struct, frozen=True):
    """Part of one file, from the `Record.order` ``first`` on.

    - ``start``: the record that shows that the span begins
    - ``after_all``: the job before had ended for certain
    - ``fresh``: this is a new start for certain
    """

    first: int
    kind: Kind = "job"
    start: Record | None = None
    after_all: bool = False
    fresh: bool = False
    steps: int = 0
    died_again: bool = False
    """The workers were started again, as the launcher found another of the same local rank dead."""

    called: bool = False
    """The job calls its roll again after the batch system put it back into the queue."""

    @property
    def restarted(self) -> bool:
        """Return whether a restart of the workers, or of the job, began the span."""
        return self.died_again or self.called or (self.start is not None and self.start.has("starts again"))

    @property
    def sure(self) -> bool:
        """Return whether the span is a run of its own."""
        return self.restarted or (self.after_all and self.fresh and self.steps >= GOING)


class Track(Struct):
    """Spans of one file, and the current span's state."""

    spans: list[Span] = field(default_factory=lambda: [Span(0)])
    begun: bool = False
    ended: Record | None = None
    restart_expected: bool = False
    """True if torchrun found a dead worker and has not given up.  The next start is then another attempt."""
    steps_since: int = 0
    """Number of steps since ``ended``."""
    dead: dict[int, Record] = field(default_factory=dict)
    """Last worker that was found dead, by local rank, since an agent of torchrun gave up."""
    restarts: int = 0
    opened: Record | None = None
    """Record at which the last report of a batch system begins."""
    headers: list[tuple[int, int]] = field(default_factory=list)
    """First and last `Record.order` of each report that stands above the output of its job."""

    def runs(self) -> list[Span]:
        """Return the first span of each run."""
        return [s for i, s in enumerate(self.spans) if i == 0 or s.sure]

    def span_at(self, order: int) -> int:
        """Return the number of the span at a `Record.order`."""
        return bisect_right(self.spans, order, 1, key=attrgetter("first")) - 1

    def job_at(self, order: int) -> int:
        """Return the number of the job at a `Record.order`."""
        return sum(s.kind == "job" and s.first <= order for s in self.spans[1:])

    def step(self, record: Record, steps: Steps) -> None:
        """Add a step.

        Begin a span if the job had printed its final message, or if a process had ended and the count starts over.
        """
        if self.ended is not None and (is_over(self.ended) or is_first_of_count(record) or steps.starts_over(record)):
            self.begin(record, steps)
        span = self.spans[-1]
        self.spans[-1] = replace(span, fresh=span.fresh or steps.begins_anew(record), steps=span.steps + 1)
        self.begun = True
        self.steps_since += 1
        if self.steps_since >= GOING:
            self.ended = None

    def end(self, record: Record) -> None:
        """Note the end of the job or of a process."""
        if is_over(record) or str(record.fields.get("exception")).endswith("ChildFailedError"):
            self.restart_expected = False
            self.dead.clear()
        if self.begun and (self.ended is None or is_over(record)):
            self.ended, self.steps_since = record, 0

    def begin(self, record: Record, steps: Steps) -> None:
        """Note a start.

        Begin a span if the job before had ended.
        """
        launch, ended, span = is_launch(record), self.ended, self.spans[-1]
        if ended is not None and (launch or not ended.has("ends well")):
            resumes = _resumes(record)
            again = self.restart_expected or ended.fields.get("reason") in AGAIN or resumes
            kind: Kind = "attempt" if again else "job"
            over = is_over(ended) or (not self.restart_expected and _names_no_rank(ended))
            del self.spans[MAX_SPANS - 1 :]  # the last place is for the last job
            self.spans.append(Span(record.order, kind, record, over, launch or resumes))
            self.ended, self.restart_expected = None, False
            steps.begin_span(record.line.file)
        elif launch and not span.steps:  # the first sign of work came before it
            self.spans[-1] = replace(span, fresh=True)
        self.begun = True

    def call_roll(self, record: Record, steps: Steps) -> None:
        """Note that a process says who it is. It does so at a start, so a job that was put back into the queue runs."""
        if self.ended is not None and is_over(self.ended) and self.ended.fields.get("reason") in AGAIN:
            self.begin(record, steps)
            self.spans[-1] = replace(self.spans[-1], called=True)
        self.begun = True

    def read_report(self, record: Record) -> None:
        """Note where a batch system's report on a job begins, and whether the output of the job stands below it."""
        if record.tells("report"):
            self.opened = record
        elif record.tells("output"):
            self._add_header(record)

    def _add_header(self, record: Record) -> None:
        """Note a batch report above the output of its job.

        The report is complete at ``record``. An end within the report is no end in the file, because the output
        follows.
        """
        first = self.opened.order if self.opened else 0
        if len(self.headers) < MAX_SPANS:
            self.headers.append((first, record.order))
        if self.ended is not None and self.ended.order >= first:
            self.ended = None

    def is_in_report_header(self, record: Record) -> bool:
        """Return whether the record is in a report above its job's output.

        Such a record was written after all output below the report.
        """
        return any(first <= record.order <= last for first, last in self.headers)

    def restart(self, record: Record) -> None:
        """Begin an attempt, because the launcher starts the workers again.

        Several agents report one restart, so a second report before any work adds no span. If there are too many
        spans, the last place is for the last attempt.
        """
        last = self.spans[-1]
        once_more = last.restarted and not self.begun
        self.restarts += not once_more
        if once_more or len(self.spans) >= MAX_SPANS:
            self.spans[-1] = replace(last, first=record.order + 1, start=record, kind="attempt")
        else:
            self.spans.append(Span(record.order + 1, "attempt", record))
        self.begun, self.ended = False, None

    def found_dead(self, record: Record) -> None:
        """Note a dead worker.

        If another of its local rank was found dead before, the workers were started again in between. On another node
        they may end at nearly the same time, or after the agent of the first node gave up.
        """
        self.restart_expected = True
        local, pid = record.fields.get("local_rank"), record.fields.get("pid")
        if not isinstance(local, int) or pid is None or (local not in self.dead and len(self.dead) >= MAX_WORKERS):
            return
        before, last = self.dead.get(local), self.spans[-1]
        self.dead[local] = record.without_lines()
        if before is None or before.fields.get("pid") == pid or last.first > before.order:
            return
        if before.time is None or record.time is None or record.time - before.time < STARTED_AFTER:
            return
        self.restarts += 1
        if len(self.spans) < MAX_SPANS:
            self.spans.append(Span(before.order + 1, "attempt", before, died_again=True))
        else:
            self.spans[-1] = replace(last, first=before.order + 1, start=before)


def is_launch(record: Record) -> bool:
    """Return whether the record is printed once, at the start of a job."""
    return record.has("starts", "job") or record.has("starts", "program")


def _names_no_rank(record: Record) -> bool:
    """Return whether the line names no rank or worker.

    The program then had no launcher.
    """
    source = record.source
    return record.rank is None and (source.local_rank, source.pid, source.tag) == (None, None, None)


def is_over(record: Record) -> bool:
    """Return whether the job is over.  Some programs say so after each epoch."""
    return record.is_last_word or record.has("ends well")


def _resumes(record: Record) -> bool:
    return record.tells("resume") or record.fields.get("phase") == "resume"


def may_end_a_run(record: Record) -> bool:
    """Return whether a process or the job ended here.

    Another run may follow in the file.
    """
    return is_over(record) or record.kind == "crash.signal" or left_the_main_script(record)


def left_the_main_script(record: Record) -> bool:
    """Return whether the main script did not catch this exception."""
    if record.level != "fatal" or record.fields.get("caught"):
        return False
    return any(_MAIN.search(line.text) for line in record.lines[:3])
