"""Where one job or attempt of a log ends and the next one begins.

People append: ``nohup.out`` and ``tee -a`` hold one job after the other, Slurm writes a requeued job into the same
file, torchrun starts all workers again.  Each file is cut into **spans**; a new one begins

- where the launcher says that it starts the workers again (an attempt of the same job);
- where a job had shown work, then ended (its launcher's last words, an exception that left the main script, a shell's
  ``Killed``), and something starts.  It is another job, unless it says that it resumes or that it was requeued.

What a later JOB does is no evidence that an earlier one survived its failure; what a later ATTEMPT does, is.  A span is
a **run** of its own, to be diagnosed apart, only where that is sure: where a launcher restarts the workers, or where
after a launcher's last words, or after an exception that nothing caught in a script without ranks, a program was
launched, resumed or counted its steps from the first one again, and made several.  Ranks of one job write into one file
in any order, so that weaker signs may come from two ranks of the same run; but where one of them ended, the others,
which wait for it, make no more steps.  What ends twice ran twice (see `last_words`); any other second run that fails
before its first steps is not told from another rank.

Facts: a traceback begins at the frame that caught the exception, so one that begins at ``<module>`` (or in ``runpy``)
left the main script, and the process ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from logdoctor.model import LifecycleSign, Record
from logdoctor.pack.regexes import later
from logdoctor.reasoning.lifecycle.spans import MAX_SPANS, Span, Track, may_end_a_run

MAX_FILES = 4096
STARTS: frozenset[LifecycleSign] = frozenset({"start", "restart"})
COMING_UP: frozenset[LifecycleSign] = frozenset({"launch", "start", "restart", "comes up"})
WORK = frozenset({"load", "resume", "data"})
OUTSIDE = frozenset({"kernel", "gpu", "journal", "systemd", "kubernetes"})
"""Formats of the machine and the cluster: what they report does not end with an attempt."""
SEEN: frozenset[LifecycleSign] = frozenset({"launch", "start", "restart", "once", "last words", "done"})
SEEN_KINDS = frozenset(
    {
        "progress.step",
        "progress.phase",
        "python.traceback",
        "crash.signal",
        "nccl.comm_init",
        "lightning.resume",
        "elastic.worker_failed",
        "batch.report",
        "batch.reported",
        "batch.follows",
        "shell.launch",
    }
)
"""Only events that mean or are one of these tell anything of attempts."""
_FOLDER = later(r"(?:^|[/:])attempt_(\d{1,4})/")


class Attempts:
    """Folds events into the spans of each file."""

    def __init__(self) -> None:
        """Start with nothing seen."""
        self.tracks: dict[str, Track] = {}
        self.spans = 0
        """How many spans began after another one; what keeps steps by span looks at it."""
        self._restart_count = 0

    def observe(self, record: Record) -> None:
        """Take one event in."""
        if record.kind not in SEEN_KINDS and SEEN.isdisjoint(record.signs):
            return
        track = self._track(record.line.file)
        if track is None:
            return
        before = len(track.spans)
        self._follow(track, record)
        self.spans += len(track.spans) - before

    def _track(self, file: str) -> Track | None:
        track = self.tracks.get(file)
        if track is None and len(self.tracks) < MAX_FILES:
            track = self.tracks[file] = Track()
        return track

    def _follow(self, track: Track, record: Record) -> None:
        kind = record.kind
        track.prove(record)
        if kind == "progress.step":
            track.step(record)
        elif "restart" in record.signs:
            track.restart(record)
        elif kind == "elastic.workers":
            count = record.fields.get("restart_count")
            self._restart_count = max(self._restart_count, min(count, MAX_SPANS) if isinstance(count, int) else 0)
        elif "launch" in record.signs or kind == "lightning.resume" or record.fields.get("phase") in WORK:
            track.begin(record)
        elif may_end_a_run(record):
            track.end(record)
        elif kind == "nccl.comm_init":
            track.begun = True
        elif kind == "elastic.worker_failed":
            track.awaited = True

    @property
    def count(self) -> int:
        """How often the workers of one job were started, as far as the log tells of restarts."""
        restarts = (t.restarts for t in self.tracks.values())
        return 1 + max(self._restart_count, *restarts, *map(_folder, self.tracks), 0)

    def same_job(self, earlier: Record, later: Record) -> bool:
        """Whether ``later`` is of the job of ``earlier``, or nobody knows."""
        track = self._shared(earlier, later)
        return track is None or track.job_at(earlier.order) == track.job_at(later.order)

    def same_span(self, earlier: Record, later: Record) -> bool:
        """Whether ``later`` is of the same attempt of the same job as ``earlier``, or nobody knows."""
        track = self._shared(earlier, later)
        return track is None or track.span_at(earlier.order) == track.span_at(later.order)

    def told_above(self, record: Record) -> bool:
        """Whether ``event`` is of a batch system's report that stands above its job's output."""
        track = self.tracks.get(record.line.file)
        return track is not None and track.told_above(record)

    def _shared(self, one: Record, other: Record) -> Track | None:
        """The file of both events, if it tells anything of attempts."""
        track = self.tracks.get(one.line.file) if self.spans and one.line.file == other.line.file else None
        return track if track and len(track.spans) > 1 else None

    def span_of(self, record: Record) -> int:
        """The number of the span of its file that ``event`` belongs to."""
        track = self.tracks.get(record.line.file) if self.spans else None
        return track.span_at(record.order) if track else 0

    def runs(self) -> list[Span]:
        """The first spans of the runs, from the file that tells of most; empty where there is one run only."""
        if not self.spans:
            return []
        most = max((t.runs() for t in self.tracks.values()), key=len)
        return most if len(most) > 1 else []

    def run_of(self, record: Record, runs: Sequence[Span]) -> int | None:
        """The number among ``runs`` of the one that ``event`` belongs to; None: to none, or nobody knows."""
        if not runs or record.format.partition("_")[0] in OUTSIDE:
            return None
        own = self.tracks.get(record.line.file)
        if own is not None and len(mine := own.runs()) > 1:
            return sum(s.first <= record.order for s in mine[1:])
        if found := _FOLDER.search(record.line.file):
            return int(found[1])
        times = [s.start.time for s in runs[1:] if s.start is not None]
        if record.time is None or None in times:
            return None
        return sum(t is not None and t <= record.time for t in times)

    def of_the_last(self, records: Iterable[Record]) -> list[Record]:
        """Those of the last run that any of them is of, and those that are of none, or nobody knows of which."""
        runs = self.runs()
        numbered = [(self.run_of(record, runs), record) for record in records]
        last = max((number for number, _ in numbered if number is not None), default=None)
        return [record for number, record in numbered if number in (None, last)]


def _folder(file: str) -> int:
    """The attempt that the file's folder names: torchrun gives each one its own (``--log-dir``)."""
    found = _FOLDER.search(file)
    return int(found[1]) if found else 0
