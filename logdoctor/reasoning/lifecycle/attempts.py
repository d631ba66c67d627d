"""Jobs and attempts of each log file.

One file may hold several jobs. ``nohup.out`` and ``tee -a`` append, Slurm writes a requeued job into the same file,
and torchrun starts all workers again. Each file is cut into **spans**. A new span begins

- if the launcher reports that it starts the workers again (an attempt of the same job);
- if something starts after a job had made progress and ended. A job ends with the last message of its launcher, with
  an exception that left the main script, or with the ``Killed`` of a shell. The new span is another job, unless its
  first record reports that it resumes or was requeued.

A later attempt can show that the job survived a failure. A later job cannot.

A span becomes a **run** with a diagnosis of its own only if the evidence is strong:

- a job that Slurm put back into its queue calls its roll again;
- a launcher restarts the workers, or finds a worker with the same local rank dead again, under another pid;
- a launcher's last message, or an uncaught exception in a script without ranks, is followed by a launch, by a resume,
  or by steps that count from the first one again, and then by several steps.

Weaker signs may come from two ranks of one run, because ranks write into one file in any order. If one rank ends, the
other ranks wait for it and make no more steps. Any other second run that fails before its first steps looks like
another rank, so it gets no run of its own.

A traceback begins at the frame that caught the exception. A traceback that begins at ``<module>`` (or in ``runpy``)
therefore left the main script, and the process ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from logdoctor.model import Record
from logdoctor.model.numbers import number
from logdoctor.pack.regexes import later
from logdoctor.reasoning.lifecycle.spans import MAX_SPANS, Span, Track, is_launch, may_end_a_run
from logdoctor.reasoning.steps import Steps

MAX_FILES = 4096
WORK = frozenset({"load", "resume", "data"})
_FOLDER = later(r"(?:^|[/:])attempt_(\d{1,4})/")


class Attempts:
    """Spans of each file, updated record by record."""

    READS = (
        *("works", "busy", "starts", "starts again", "ends well", "fails", "is ended"),
        *("tells member", "tells rank", "tells resume", "tells report", "tells output"),
    )

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self.tracks: dict[str, Track] = {}
        self.spans = 0
        """Number of spans that followed another span."""
        self._restart_count = 0

    def observe(self, record: Record) -> None:
        track = self._track(record.line.file)
        if track is None:
            return
        before = len(track.spans)
        self._update_track(track, record)
        if len(track.spans) > before:
            self.spans += len(track.spans) - before
            self._steps.begin_attempt()

    def _track(self, file: str) -> Track | None:
        track = self.tracks.get(file)
        if track is None and len(self.tracks) < MAX_FILES:
            track = self.tracks[file] = Track()
        return track

    def _update_track(self, track: Track, record: Record) -> None:
        track.read_report(record)
        if record.has("works", "process"):
            track.step(record, self._steps)
        elif record.has("starts again"):
            track.restart(record)
        elif "restart_count" in record.fields:
            count = record.fields["restart_count"]
            self._restart_count = max(self._restart_count, min(count, MAX_SPANS) if isinstance(count, int) else 0)
        elif is_launch(record) or record.tells("resume") or record.fields.get("phase") in WORK:
            track.begin(record, self._steps)
        elif may_end_a_run(record):
            track.end(record)
        elif record.has("comes up"):
            track.begun = True
        elif record.kind == "elastic.worker_failed":
            track.found_dead(record)
        elif record.tells("rank"):
            track.call_roll(record, self._steps)

    @property
    def count(self) -> int:
        """Return the number of attempts of one job.

        The number is counted from its restarts.
        """
        restarts = (t.restarts for t in self.tracks.values())
        return 1 + max(self._restart_count, *restarts, *map(_attempt_in_path, self.tracks), 0)

    def same_job(self, earlier: Record, later: Record) -> bool:
        """Return whether both records belong to one job.

        Return True if the logs do not tell.
        """
        track = self.tracks.get(earlier.line.file) if earlier.line.file == later.line.file else None
        return track is None or track.job_at(earlier.order) == track.job_at(later.order)

    def same_span(self, earlier: Record, later: Record) -> bool:
        """Return whether both records belong to one attempt.

        Return True if the logs do not tell.
        """
        return self.span_test(earlier)(later)

    def span_test(self, record: Record) -> Callable[[Record], bool]:
        """Return a test whether a record may belong to the attempt of ``record``.

        The result is True if the logs do not tell.
        """
        file, track = record.line.file, self.tracks.get(record.line.file) if self.spans else None
        if track is None or len(track.spans) < 2:
            return lambda _: True
        number = track.span_at(record.order)
        first = track.spans[number].first if number else -1
        end = track.spans[number + 1].first if number + 1 < len(track.spans) else None
        return lambda other: other.line.file != file or (first <= other.order and (end is None or other.order < end))

    def is_in_report_header(self, record: Record) -> bool:
        """Return whether a batch report above its job's output holds the record."""
        track = self.tracks.get(record.line.file)
        return track is not None and track.is_in_report_header(record)

    def runs(self) -> list[Span]:
        """Return the first span of each run.

        The file with most runs counts. The list is empty if there is only one run.
        """
        if not self.spans:
            return []
        most = max((t.runs() for t in self.tracks.values()), key=len)
        return most if len(most) > 1 else []

    def run_of(self, record: Record, runs: Sequence[Span]) -> int | None:
        """Return the index of the record's run among ``runs``.

        Return None for a record of the machine or the cluster, or if the logs do not tell. A file with several runs
        decides by position, an ``attempt_<n>`` folder by its number, any other file by time.
        """
        if not runs or is_of_machine(record):
            return None
        own = self.tracks.get(record.line.file)
        if own is not None and len(own_runs := own.runs()) > 1:
            return sum(s.first <= record.order for s in own_runs[1:])
        if folder := _FOLDER.search(record.line.file):
            return number(folder[1])
        times = [s.start.time for s in runs[1:] if s.start is not None]
        if record.time is None or None in times:
            return None
        return sum(t is not None and t <= record.time for t in times)

    def select_last_run(self, records: Iterable[Record]) -> list[Record]:
        """Return the records of the last run.

        Records without a run are returned too.
        """
        runs = self.runs()
        numbered = [(self.run_of(record, runs), record) for record in records]
        last = max((number for number, _ in numbered if number is not None), default=None)
        return [record for number, record in numbered if number in (None, last)]


def is_of_machine(record: Record) -> bool:
    """Return whether the record is of the machine or the cluster, and so of no single attempt."""
    return record.origin != "job"


def is_of_cluster(record: Record) -> bool:
    """Return whether the record tells of the job's objects in the cluster, such as its pods."""
    return record.origin == "cluster"


def starts_workers(record: Record) -> bool:
    """Return whether the launcher starts workers, for the first time or again."""
    return record.has("starts", "process") or record.has("starts again")


def comes_up(record: Record) -> bool:
    return record.has("starts") or record.has("starts again") or record.has("comes up")


def _attempt_in_path(file: str) -> int:
    """Return the attempt number in the file's path, else 0.

    torchrun ``--log-dir`` makes one folder for each attempt: ``attempt_2/3/stderr.log`` gives 2.
    """
    folder = _FOLDER.search(file)
    return number(folder[1] if folder else None) or 0
