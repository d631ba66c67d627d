"""Final messages that two jobs printed into one file.

Ranks of one job start at different times, so a second start proves little. A second end proves another job:

- Slurm cancels a job once, and names it.
- LSF, and PBS at some sites, report once on a job, above or below its output.
- torchrun's agent prints one failure summary. A rank in two summaries with two process ids is a rank of two jobs.
- An uncaught exception leaves a script once, if no launcher started the script. Several ranks could have been started
  without a launcher, and each could end like that. So one more sign is required:
  - a library warned at the same place of its source before and after the first end, because Python prints such a
    warning once a process;
  - or the job script loaded the same software module again (lifecycle sign ``once``);
  - or the first end was a Ctrl-C, and the second end is no consequence of an interrupt.
- A command typed at a shell's prompt stands below an end, because the shell had come back.
"""

from __future__ import annotations

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.pack.regexes import later

MAX_PLACES = 256
AT_ONCE = 10.0
"""Seconds.  Jobs cancelled within this time wrote into the file side by side."""
_AFTER_INTERRUPT = frozenset(
    (
        "KeyboardInterrupt SystemExit Exception RuntimeError OSError EOFError BrokenPipeError ConnectionError "
        "ConnectionResetError ConnectionRefusedError ConnectionAbortedError CalledProcessError ChildFailedError "
        "SignalException ProcessExitedException ProcessRaisedException DistBackendError DistNetworkError DistStoreError"
    ).split()
)
"""Exceptions that end the other processes of a job after one process was interrupted."""
_SCRIPT = later(r'File "(?P<script>[^"]{1,400})", line \d+, in <module>')


class LastWords(Struct):
    """Final messages of one file that another job may repeat."""

    cancelled: Record | None = None
    summary: Record | None = None
    report: Record | None = None
    """Last report of a batch system on a job."""
    follows: bool = False
    """True if the output of a job stands below its report."""
    left: Record | None = None
    """Last exception that left a script, without a rank or worker in the line."""
    latest: Record | None = None
    """Last exception that left a script, or last interrupt of any process."""
    ended: Record | None = None
    """Last end of any process since the last typed command."""
    warned: set[tuple[object, object]] = field(default_factory=set)
    """Places of library warnings, and loaded software modules."""
    started_again: bool = False
    """True if a place in ``warned`` was repeated after ``left``."""

    def add_place(self, record: Record) -> None:
        """Note a library's warning or a loaded software module."""
        place = record.fields.get("file"), record.fields.get("line")
        self.started_again = self.started_again or (self.left is not None and place in self.warned)
        if len(self.warned) < MAX_PLACES:
            self.warned.add(place)

    def end_of_earlier_job(self, record: Record) -> Record | None:
        """Return the final message of the earlier job.

        Return None if ``record`` is no final message of another job.
        """
        if record.has("is ended", "job") and record.fields.get("what") == "JOB":
            return self._earlier_cancellation(record)
        if record.is_last_word and record.has("fails", "named"):
            return self._earlier_summary(record)
        return self._earlier_report(record)

    def _earlier_report(self, record: Record) -> Record | None:
        if record.tells("output"):
            self.follows, self.report = True, self.report or record
        # if output stands below its report, the new job begins with the head of the new report
        if not record.tells("report" if self.follows else "reported") and "report" not in record.fields:
            return None
        earlier, self.report = self.report, record
        return earlier

    def _earlier_cancellation(self, record: Record) -> Record | None:
        earlier, self.cancelled = self.cancelled, record
        if earlier is None or _job(earlier) == _job(record):
            return None
        return earlier if None in (earlier.time, record.time) or abs(record.time - earlier.time) > AT_ONCE else None  # type: ignore[operator]

    def _earlier_summary(self, record: Record) -> Record | None:
        earlier, self.summary = self.summary, record
        if earlier is None or record.rank is None or earlier.rank != record.rank:
            return None
        pids = earlier.fields.get("pid"), record.fields.get("pid")
        return earlier if None not in pids and pids[0] != pids[1] else None

    def end_of_earlier_script(self, record: Record) -> Record | None:
        """Return the end of the first run of a script.

        Return None if ``record`` did not end a second run of that script.
        """
        earlier, latest, again = self.left, self.latest, self.started_again
        self.latest = record
        if (script := _script(record)) is None:
            return None
        self.left, self.started_again = record, False
        if earlier is None or _script(earlier) != script:
            return None
        return earlier if again else latest if _was_interrupted(earlier) and not _may_follow(record) else None

    def note_end(self, record: Record, *, over: bool) -> None:
        """Note the end of a process (``over``), or an interrupt."""
        if over:
            self.ended = record
        elif _was_interrupted(record):
            self.latest = record

    def end_before_command(self) -> Record | None:
        """Return and forget the last end above a typed command."""
        ended, self.ended = self.ended, None
        return ended


def _job(record: Record) -> str:
    """Return the job id of a Slurm step.

    ``4471.0`` and ``4471+1`` give ``4471``.
    """
    return str(record.fields.get("step")).partition(".")[0].partition("+")[0]


def _was_interrupted(record: Record) -> bool:
    return record.fields.get("exception") == "KeyboardInterrupt"


def _may_follow(record: Record) -> bool:
    """Return whether an interrupt may have caused the exception."""
    kind = str(record.fields.get("inner") or record.fields.get("exception", "")).rpartition(".")[2]
    return "chained" in record.fields or not kind or kind in _AFTER_INTERRUPT


def _script(record: Record) -> str | None:
    scripts = (_SCRIPT.search(line.text) for line in record.lines[:3])
    return next((hit["script"] for hit in scripts if hit), None)
