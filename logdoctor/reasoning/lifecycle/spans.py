"""The spans of one file: where a job or attempt in it ends and the next one begins (see attempts.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from logdoctor.model import LifecycleSign, Record
from logdoctor.pack.regexes import later
from logdoctor.reasoning.lifecycle.last_words import LastWords

Kind = Literal["attempt", "job"]
Series = tuple[str, str]
Place = tuple[float, float]

MAX_SPANS = 32
MAX_SERIES = 8
GOING = 3
"""So many steps after a supposed end, without any start, and it was none."""
FIRST_VALUES = (0, 1)
OVER: frozenset[LifecycleSign] = frozenset({"last words", "done"})
"""What is said at the end of a job.  Some programs say that they are done after each epoch."""
AGAIN = frozenset({"requeue", "preemption", "node failure"})
"""Reasons of a scheduler to end a job that it starts again."""
_DIGITS = later(r"\d+")
_MAIN = later(r", in <module>\s*$|, in _run_module_as_main\s*$")


class Span(Struct):
    """A stretch of one file: from ``first`` (`Record.order`) on; ``start`` is the event that began it.

    ``after_all``: the job before had ended for sure; ``fresh``: it surely is another start; ``proved``: both ended.
    """

    first: int
    kind: Kind = "job"
    start: Record | None = None
    after_all: bool = False
    fresh: bool = False
    proved: bool = False
    steps: int = 0

    @property
    def restarted(self) -> bool:
        """Whether a launcher began it that had started workers before."""
        return self.start is not None and "restart" in self.start.signs

    @property
    def sure(self) -> bool:
        """Whether it is a run of its own."""
        return self.restarted or self.proved or (self.after_all and self.fresh and self.steps >= GOING)


class Track(Struct):
    """The spans of one file, and how far the present one got."""

    spans: list[Span] = field(default_factory=lambda: [Span(0)])
    begun: bool = False
    ended: Record | None = None
    awaited: bool = False
    """torchrun found a worker dead and has not given up: what starts next is another attempt, which it seldom says."""
    steps_since: int = 0
    counts: dict[Series, tuple[Place, Place]] = field(default_factory=dict)
    """The first and the last step of each series in this span."""
    before: dict[Series, tuple[Place, Place]] = field(default_factory=dict)
    """The same of the span before."""
    restarts: int = 0
    opened: Record | None = None
    """Where the last report of a batch system begins."""
    headers: list[tuple[int, int]] = field(default_factory=list)
    """From where to where (`Record.order`) reports go whose jobs' output stands below them."""
    words: LastWords = field(default_factory=LastWords)

    def runs(self) -> list[Span]:
        """The first span of each run."""
        return [s for i, s in enumerate(self.spans) if i == 0 or s.sure]

    def span_at(self, order: int) -> int:
        """The number of the span that the event of this ``order`` belongs to."""
        return sum(s.first <= order for s in self.spans[1:])

    def job_at(self, order: int) -> int:
        """The number of the job that the event of this ``order`` belongs to."""
        return sum(s.kind == "job" and s.first <= order for s in self.spans[1:])

    def step(self, record: Record) -> None:
        """Work was done."""
        anew = _counts_anew(record)
        if self.ended is not None and (_is_over(self.ended) or anew or _starts_over(record, self.counts)):
            self.begin(record)
        span = self.spans[-1]
        series, place = _series(record), _place(record)
        if series not in self.counts:  # its first step in this span
            span.fresh = span.fresh or (_starts_over(record, self.before) if self.before else anew)
        self.begun = True
        if place is not None and (series in self.counts or len(self.counts) < MAX_SERIES):
            self.counts[series] = (self.counts.get(series, (place,))[0], place)
        span.steps += 1
        self.steps_since += 1
        if self.steps_since >= GOING:
            self.ended = None

    def end(self, record: Record) -> None:
        """The job or a process of it ended."""
        if _is_over(record) or str(record.fields.get("exception")).endswith("ChildFailedError"):
            self.awaited = False
        if self.begun and (self.ended is None or _is_over(record)):
            self.ended, self.steps_since = record, 0

    def begin(self, record: Record) -> None:
        """Something starts: a new span, if the one before had ended."""
        launch, ended, span = "launch" in record.signs, self.ended, self.spans[-1]
        if ended is not None and (launch or "done" not in ended.signs):
            resumes = _resumes(record)
            again = self.awaited or ended.fields.get("reason") in AGAIN or resumes
            kind: Kind = "attempt" if again else "job"
            over = _is_over(ended) or (not self.awaited and _by_nobody(ended))
            del self.spans[MAX_SPANS - 1 :]  # the last place is for the last job
            self.spans.append(Span(record.order, kind, record, over, launch or resumes))
            self.ended, self.awaited = None, False
            self.before, self.counts = self.counts, {}
        elif launch and not span.steps:  # the first sign of work came before it
            span.fresh = True
        self.begun = True

    def prove(self, record: Record) -> None:
        """Look whether ``event`` proves that another job ran since the last word of the one before."""
        words = self.words
        if record.kind == "batch.report":
            self.opened = record
        elif record.kind == "batch.follows":
            self._head(record)
        if "once" in record.signs:
            words.warn(record)
            return
        earlier = words.typed() if record.kind == "shell.launch" else words.said_before(record)
        words.note_end(record, over=may_end_a_run(record))
        if earlier is None and left_the_main_script(record) and _by_nobody(record):
            earlier = words.left_before(record)
        if earlier is None:
            return
        last = self.spans[-1]
        first = record.order if record.kind == "batch.report" else earlier.order + 1
        if last.first <= earlier.order and len(self.spans) < MAX_SPANS:
            last = Span(first, "job", earlier)
            self.spans.append(last)
        elif last.first <= earlier.order:  # the last place is for the last job
            last.first, last.start = first, earlier
        last.proved = True

    def _head(self, record: Record) -> None:
        """What ended, as the report says that is complete here, stands below it."""
        first = self.opened.order if self.opened else 0
        if len(self.headers) < MAX_SPANS:
            self.headers.append((first, record.order))
        if self.ended is not None and self.ended.order >= first:
            self.ended = None

    def told_above(self, record: Record) -> bool:
        """Whether ``event`` is of a report above the output of its job: it came after all that stands below."""
        return any(first <= record.order <= last for first, last in self.headers)

    def restart(self, record: Record) -> None:
        """The launcher starts the workers again; several agents say so one after the other.

        Where there are too many, the last place is for the last attempt.
        """
        last = self.spans[-1]
        once_more = last.restarted and not self.begun
        self.restarts += not once_more
        if once_more or len(self.spans) >= MAX_SPANS:
            last.first, last.start, last.kind = record.order + 1, record, "attempt"
        else:
            self.spans.append(Span(record.order + 1, "attempt", record))
        self.begun, self.ended = False, None


def _counts_anew(record: Record) -> bool:
    """Whether this is the first epoch, or the first step of a count that does not begin with each epoch."""
    if record.fields.get("value") not in FIRST_VALUES:
        return False
    return record.fields.get("unit") == "epoch" or ("epoch" not in record.fields and "%|" not in record.text)


def _series(record: Record) -> Series:
    what = record.fields.get("what", "")
    return str(record.fields.get("unit")), _DIGITS.sub("#", str(what)[:80]) if what else ""


def _place(record: Record) -> Place | None:
    """The epoch and the number of a step; none of a bar that names no epoch: each loop over anything draws its own."""
    if "epoch" not in record.fields and "%|" in record.text:
        return None
    try:
        return float(str(record.fields.get("epoch", 0))), float(str(record.fields.get("value")))
    except ValueError:
        return None


def _starts_over(record: Record, counts: Mapping[Series, tuple[Place, Place]]) -> bool:
    """Whether this step stands where its series began in ``counts``, which had got further since."""
    place, known = _place(record), counts.get(_series(record))
    return place is not None and known is not None and place <= known[0] < known[1]


def _by_nobody(record: Record) -> bool:
    """Whether the line names no rank or worker: a program that was started without a launcher ended."""
    source = record.source
    return record.rank is None and (source.local_rank, source.pid, source.tag) == (None, None, None)


def _is_over(record: Record) -> bool:
    """Whether a launcher or a batch system says that the job ended."""
    return not OVER.isdisjoint(record.signs)


def _resumes(record: Record) -> bool:
    return record.kind == "lightning.resume" or record.fields.get("phase") == "resume"


def may_end_a_run(record: Record) -> bool:
    """Whether a process or all of them ended here: what comes next in the file may be another run."""
    return _is_over(record) or record.kind == "crash.signal" or left_the_main_script(record)


def left_the_main_script(record: Record) -> bool:
    """Whether ``event`` is an exception that nothing in the main script caught."""
    if record.kind != "python.traceback" or record.level != "fatal" or record.fields.get("caught"):
        return False
    return any(_MAIN.search(line.text) for line in record.lines[:3])
