"""The state of a job that still runs: waiting, running, suspicious, failed, finished.

New bytes are only searched for words that a failure is told with. If one is there, `diagnose` is asked about the new
lines. If it finds a failure in them, or if the files grow no more, it is asked about all that was written. Its share of
the time is bounded.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from msgspec import Struct

from logdoctor.live.silence import SILENT_FOR, Silence, announces_more, describe, find_silence
from logdoctor.live.tails import Tail, Tails
from logdoctor.matcher.words import any_of
from logdoctor.model import Cause, Diagnosis, InputError, JobSummary
from logdoctor.pipeline.diagnosis import diagnose
from logdoctor.pipeline.knowledge import Knowledge

State = Literal["waiting", "running", "suspicious", "failed", "finished"]
CERTAIN = 0.85
"""A cause with less confidence is no alarm while lines come: the job may get over it."""
WAITS = frozenset(("app.hang", "collective.straggler", "collective.timeout", "mpi.hang", "rdzv.timeout"))
SETTLE = 0.6
"""Seconds after a word of failure in which the rest of its message is written."""
STILL, STILL_TIMES, STILL_MOST = 2.0, 4, 4.0
"""Seconds, and usual gaps, without a line after which the job may be over."""
PATIENCE = SILENT_FOR
"""The same if no line tells a cause, or if the log itself says that more follows."""
SHARE, SAVED, OWED = 0.02, 10.0, 3.0
"""Share of the time that may be spent on asking, seconds that may be saved for an alarm, and that may be owed."""
ABOVE = 4 << 10
"""Bytes above the new ones that are asked about with them."""
FIND_EVERY, SILENCE_EVERY = 2.0, 2.0
_SIGNS = """
error fail fatal exception cannot can't could_not unable refus denied invalid abort panic lost timed_out timed-out
timeout time_out corrupt missing not_found unexpected exceed mismatch broken killed died unreachable no_such critical
warn traceback signal sigterm cancel xid stopping stoping exit nan evict preempt
"""
"""Words that a failure is told with."""


class Change(Struct, frozen=True):
    """A new state of the job. ``about`` says more in a few words, the diagnosis is there if one was made."""

    state: State
    about: str = ""
    diagnosis: Diagnosis | None = None


class Watch:
    """Follows the files of one job. The clock is that of the caller."""

    def __init__(self, paths: Sequence[str], knowledge: Knowledge, clock: Callable[[], float], **options: Any) -> None:
        """``options`` are those of `diagnose`."""
        self._tails, self._paths = Tails(paths), [*paths]
        self._knowledge, self._clock, self._options = knowledge, clock, options
        self.state: State = "waiting"
        self._found = self._listened = float("-inf")
        self._grown = clock()
        self._alarms: dict[str, float] = {}
        """The files with a word of failure among their new bytes, and its time."""
        self._is_new = False
        """True if bytes came since the whole was judged."""
        self._doubts = False
        """True if something was found that is an alarm only if no line follows it."""
        self._is_unclear = False
        """True if it was no cause, a wait that may end, or a failure after which the job was started again."""
        self._suspects: tuple[Tail, ...] = ()
        self._progress_of: dict[str, tuple[bool, int]] = {}
        """True for a file that shows progress, and its size when it was asked about it."""
        self._budget = Budget(clock())
        self._told: tuple[object, ...] = ()

    def poll(self) -> Iterator[Change]:
        """Look at the files once, and yield what changed."""
        now = self._clock()
        if now - self._found >= FIND_EVERY:
            self._tails.find()
            self._found = now
        grew = self._read(now)
        is_still = self._is_still(now)
        if self._budget.allows(now) and self._is_worth_asking(now, is_still=is_still):
            yield from self._judge(self.answer(), is_still=is_still)
        elif grew and (self.state == "waiting" or (self.state == "suspicious" and self._goes_on(now))):
            yield from self._change("running", self._progress() if self.state == "waiting" else "")
        elif not self._told:
            yield from self._change("waiting", "nothing is written yet")
        elif self.state == "running" and now - self._listened >= SILENCE_EVERY:
            self._listened = now
            yield from self._listen(now)

    def answer(self, *, hung: bool = False) -> Diagnosis | None:
        """Return the diagnosis of all that was written, None if there is nothing to read yet."""
        self._is_new = False
        return self._ask(self._paths, hung=hung, **self._options)

    def _ask(self, inputs: Any, **options: Any) -> Diagnosis | None:
        start = time.process_time()
        try:
            return diagnose(inputs, knowledge=self._knowledge, **options)
        except InputError:
            return None
        finally:
            self._budget.spend(time.process_time() - start)

    def _read(self, now: float) -> bool:
        """Read what is new, and return whether there is anything."""
        grew = False
        for tail, data in self._tails.read_new(now):
            grew = self._is_new = True
            self._is_unclear = False
            self._grown = now
            if tail.path not in self._alarms and _has_sign(data):
                self._alarms[tail.path] = now
        return grew

    def _is_worth_asking(self, now: float, *, is_still: bool) -> bool:
        """Return whether the new lines may change the state. The job may be over if none comes any more."""
        if (self._is_new or self._doubts) and is_still:
            self._alarms.clear()
            return True
        if not self._alarms or now - min(self._alarms.values()) < SETTLE:
            return False
        tails = [self._tails.files[path] for path in self._alarms]
        self._alarms.clear()
        seen = self._ask([_as_file(tail, tail.take_fresh(ABOVE)) for tail in tails])
        return seen is not None and seen.verdict in ("failed", "stopped", "unknown")

    def _is_still(self, now: float) -> bool:
        last = max(self._tails.files.values(), key=lambda tail: tail.grown, default=None)
        usual = max(STILL, STILL_TIMES * (last.usual_gap if last else 0.0))
        is_urgent = self._alarms or self._doubts or self.state == "failed"
        if self._is_unclear or (last and announces_more(last)):
            usual = max(usual, PATIENCE)
        elif is_urgent:
            usual = min(usual, STILL_MOST)
        return now - self._grown >= usual

    def _judge(self, diagnosis: Diagnosis | None, *, is_still: bool) -> Iterator[Change]:
        if diagnosis is None:
            return
        cause = diagnosis.answer
        is_wait = cause is not None and _is_only_a_wait(cause, diagnosis.job)
        self._is_unclear = is_wait or diagnosis.verdict == "unknown" or _is_started_again(diagnosis)
        is_over = is_still and not (self._is_unclear and self._clock() - self._grown < PATIENCE)
        is_certain = cause is not None and not self._is_unclear and cause.confidence >= CERTAIN
        is_ended = cause is not None or diagnosis.verdict in ("unknown", "finished")
        self._doubts = is_ended and not is_over and not is_certain
        if is_over and is_wait:
            yield from self._suspect(diagnosis, self._silence())
        elif is_certain or (is_over and is_ended and diagnosis.verdict != "finished"):
            yield from self._change("failed", cause.title if cause else "", diagnosis)
        elif is_over and is_ended:
            yield from self._change("finished", "", diagnosis)
        elif (cause is None or self._is_unclear) and self.state in ("failed", "finished"):
            yield from self._change("running")

    def _listen(self, now: float) -> Iterator[Change]:
        """Yield a change if the job or a few of its files are silent. What is over is not silent."""
        silence = self._silence()
        if silence is None or not self._budget.allows(now):
            return
        if self._is_new:
            yield from self._judge(self.answer(), is_still=silence.kind == "all")
            if self.state != "running":
                return
        yield from self._suspect(self.answer(hung=True), silence)

    def _silence(self) -> Silence | None:
        return find_silence([*self._tails.files.values()], self._clock(), self._shows_progress)

    def _suspect(self, diagnosis: Diagnosis | None, silence: Silence | None) -> Iterator[Change]:
        self._suspects = (silence and silence.apart) or tuple(self._tails.files.values())
        about = [describe(silence)] if silence else []
        if diagnosis and diagnosis.answer:
            about.insert(0, diagnosis.answer.title)
        elif diagnosis and diagnosis.suspects and silence and silence.kind == "all":
            about.insert(0, diagnosis.suspects[0].why)
        yield from self._change("suspicious", "; ".join(about), diagnosis)

    def _goes_on(self, now: float) -> bool:
        return any(tail.grown == now for tail in self._suspects)

    def _shows_progress(self, tail: Tail) -> bool:
        """Return whether the end of the file tells how far the job is. It is asked again when it grew twofold."""
        shows, size = self._progress_of.get(tail.path, (False, 0))
        if not shows and tail.offset >= 2 * size:
            end = self._ask([_as_file(tail, tail.end)]) if tail.end else None
            shows = end is not None and end.job.last_progress is not None
            self._progress_of[tail.path] = shows, tail.offset
        return shows

    def _progress(self) -> str:
        """Return how far the job is, read from the ends of the files."""
        ends = [_as_file(tail, tail.end) for tail in self._tails.files.values() if tail.end][:16]
        diagnosis = self._ask(ends) if ends else None
        if diagnosis is None or diagnosis.job.last_progress is None:
            return ""
        job, progress = diagnosis.job, diagnosis.job.last_progress
        speed = f", {job.step_seconds:.3g} s a step" if job.step_seconds else ""
        return f"{progress.unit} {progress.value}{speed}"

    def _change(self, state: State, about: str = "", diagnosis: Diagnosis | None = None) -> Iterator[Change]:
        """Yield a state that differs from the last one. Progress is no change, nor are more details of a cause."""
        cause = diagnosis.answer if diagnosis else None
        blamed = (cause.signature, cause.culprit.ranks, cause.culprit.hosts) if cause else about
        told = (state, blamed if state in ("failed", "suspicious") else "")
        if told != self._told:
            self.state, self._told = state, told
            yield Change(state, about, diagnosis)


class Budget:
    """Seconds of work: a share of the time, of which some are saved."""

    def __init__(self, now: float) -> None:
        self._left, self._at = SAVED, now

    def allows(self, now: float) -> bool:
        self._left = min(SAVED, self._left + SHARE * (now - self._at))
        self._at = now
        return self._left > 0

    def spend(self, seconds: float) -> None:
        self._left = max(-OWED, self._left - seconds)


_has_sign = any_of(word.replace("_", " ") for word in _SIGNS.split())


def _is_only_a_wait(cause: Cause, job: JobSummary) -> bool:
    """Return whether the cause is told by processes that wait and may get on, and no line tells of a failure."""
    told = job.first_failure or any(row.failure for row in job.rank_table)
    return cause.signature in WAITS and not told


def _is_started_again(diagnosis: Diagnosis) -> bool:
    """Return whether the log shows an attempt after the one that failed, in which nothing failed yet."""
    told, last = next((run for run in diagnosis.runs if run.told), None), diagnosis.runs[-1:]
    return any(run.verdict == "no-end-seen" and told is not None and run.file == told.file for run in last)


def _as_file(tail: Tail, data: bytes) -> Any:
    """Return bytes of the file as an open file of its name."""
    file: Any = io.BytesIO(data)
    file.name = tail.path
    return file
