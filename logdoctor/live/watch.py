"""The state of a job that still runs: waiting, running, suspicious, failed, finished.

New bytes are only searched for words that a failure is told with. If one is there, or if files grow no more, `diagnose`
is asked about all that was written. How often it is asked is bounded by the time that it takes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from msgspec import Struct

from logdoctor.live.tails import Tail, Tails
from logdoctor.model import Diagnosis, InputError
from logdoctor.pipeline.diagnosis import diagnose
from logdoctor.pipeline.knowledge import Knowledge
from logdoctor.pipeline.new_templates import ALARM_WORDS

State = Literal["waiting", "running", "suspicious", "failed", "finished"]
CERTAIN = 0.6
"""A cause with less confidence is no alarm while lines come."""
SETTLE = 0.6
"""Seconds after a word of failure in which the rest of its message is written."""
SHARE = 0.05
"""Share of the time that is spent on asking."""
SILENT_FOR, SILENT_TIMES = 60.0, 8
"""A file is silent if it did not grow for so many seconds, and so many times its usual gap."""
FIND_EVERY, PROGRESS_EVERY = 2.0, 15.0
_SIGNS = re.compile(
    ALARM_WORDS.pattern.encode() + rb"|traceback|signal|sigterm|cancel|\bxid\b|stopp?ing|exit|nan\b|evict|preempt"
)


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
        self._found = self._progressed = float("-inf")
        self._alarm: float | None = None
        self._grown = float("-inf")
        self._rested = float("-inf")
        """The time from which `diagnose` may be asked again."""
        self._told = ""

    def poll(self) -> Iterator[Change]:
        """Look at the files once, and yield what changed."""
        now = self._clock()
        if now - self._found >= FIND_EVERY:
            self._tails.find()
            self._found = now
        grew = False
        for _, data in self._tails.read_new(now):
            grew, self._grown = True, now
            if self._alarm is None and _SIGNS.search(data):
                self._alarm = now
        if self._alarm is not None and now - self._alarm >= SETTLE and now >= self._rested:
            self._alarm = None
            yield from self._judge()
        elif grew and self.state in ("waiting", "suspicious"):
            yield from self._change("running", self._progress() if self.state == "waiting" else "")
        elif not grew and self.state == "running" and now >= self._rested and (silent := self._silent(now)):
            yield from self._suspect(silent)
        elif grew and self.state == "running" and now - self._progressed >= PROGRESS_EVERY:
            self._progressed = now
            yield from self._change("running", self._progress())

    def answer(self, *, hung: bool = False) -> Diagnosis | None:
        """Return the diagnosis of all that was written, None if there is nothing to read yet."""
        start = self._clock()
        try:
            diagnosis = diagnose(self._paths, knowledge=self._knowledge, hung=hung, **self._options)
        except InputError:
            diagnosis = None
        took = self._clock() - start
        self._rested = self._clock() + took / SHARE
        return diagnosis

    def _judge(self) -> Iterator[Change]:
        diagnosis = self.answer()
        if diagnosis is None:
            return
        cause = diagnosis.answer
        is_over = self._clock() - self._grown >= SETTLE
        if cause is not None and (is_over or cause.confidence >= CERTAIN):
            yield from self._change("failed", cause.title, diagnosis)
        elif diagnosis.verdict == "finished":
            yield from self._change("finished", "", diagnosis)

    def _silent(self, now: float) -> list[Tail]:
        """Return the files that grow no more, though they used to."""
        files = [tail for tail in self._tails.files.values() if tail.grown and tail.usual_gap]
        return [t for t in files if now - t.grown > max(SILENT_FOR, SILENT_TIMES * t.usual_gap)]

    def _suspect(self, silent: Sequence[Tail]) -> Iterator[Change]:
        diagnosis = self.answer()
        if diagnosis is not None and diagnosis.verdict == "finished":
            yield from self._change("finished", "", diagnosis)
            return
        diagnosis = self.answer(hung=True)
        named = [suspect.why for suspect in diagnosis.suspects[:1]] if diagnosis else []
        files = ", ".join(tail.path for tail in silent[:3]) + (" and more" if len(silent) > 3 else "")
        yield from self._change("suspicious", named[0] if named else f"no line comes any more in {files}", diagnosis)

    def _progress(self) -> str:
        """Return how far the job is, read from the ends of the files."""
        ends = [_as_file(tail) for tail in self._tails.files.values() if tail.end][:16]
        try:
            job = diagnose(ends, knowledge=self._knowledge).job if ends else None
        except InputError:
            job = None
        if job is None or job.last_progress is None:
            return ""
        speed = f", {job.step_seconds:.3g} s a step" if job.step_seconds else ""
        return f"{job.last_progress.unit} {job.last_progress.value}{speed}"

    def _change(self, state: State, about: str, diagnosis: Diagnosis | None = None) -> Iterator[Change]:
        """Yield a state that differs from the last one. Progress alone is no change."""
        told = f"{state} {about}" if state != "running" else state
        if told != self._told:
            self.state, self._told = state, told
            yield Change(state, about, diagnosis)


def _as_file(tail: Tail) -> Any:
    """Return the end of the file as an open file of its name."""
    file: Any = io.BytesIO(tail.end)
    file.name = tail.path
    return file
