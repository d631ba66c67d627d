"""Last words that are said a second time: nobody ends twice, so another job wrote into the same file in between.

Other than a start, which ranks of one job make at different times, such a pair is proof:

- Slurm cancels a job once, and names it;
- LSF and the PBS of some sites report once on a job, above or below what it printed;
- torchrun's agent sums up once; a rank that ended in two summaries under two process ids is a rank of two jobs;
- an exception leaves a script that nobody launched once.  Where several ranks were started without a word, each may
  end like that; so a library must have warned, before and again after the first end, at the same place of its source:
  Python's warnings are printed once a process.  Or the job script loaded the same software module again (``once``).
  Or the first end was somebody's Ctrl-C, and the second one nothing that an interrupt brings about;
- a command that somebody typed at a shell's prompt stands below an end: the shell had come back.
"""

from __future__ import annotations

from msgspec import Struct, field

from logdoctor.model import Record
from logdoctor.pack.regexes import later

MAX_PLACES = 256
AT_ONCE = 10.0
"""Jobs that are cancelled within so many seconds wrote into the file side by side."""
_AFTER_INTERRUPT = frozenset(
    (
        "KeyboardInterrupt SystemExit Exception RuntimeError OSError EOFError BrokenPipeError ConnectionError "
        "ConnectionResetError ConnectionRefusedError ConnectionAbortedError CalledProcessError ChildFailedError "
        "SignalException ProcessExitedException ProcessRaisedException DistBackendError DistNetworkError DistStoreError"
    ).split()
)
"""Exceptions with which the other processes of a job end once one of them was interrupted."""
_SCRIPT = later(r'File "(?P<script>[^"]{1,400})", line \d+, in <module>')


class LastWords(Struct):
    """The last words of one file, as far as they may be said again."""

    cancelled: Record | None = None
    summary: Record | None = None
    report: Record | None = None
    """The last report of a batch system on a job."""
    follows: bool = False
    """Whether a job's output stands below its report."""
    left: Record | None = None
    """The last exception that left a script which names no rank or worker."""
    latest: Record | None = None
    """The same, or any process that was interrupted."""
    ended: Record | None = None
    """The last end of anything since somebody typed a command."""
    warned: set[tuple[object, object]] = field(default_factory=set)
    """Where libraries warned, and which modules were loaded."""
    started_again: bool = False
    """Whether one of them was told of again since ``left``."""

    def warn(self, record: Record) -> None:
        """A library warned, or a module was loaded."""
        place = record.fields.get("file"), record.fields.get("line")
        self.started_again = self.started_again or (self.left is not None and place in self.warned)
        if len(self.warned) < MAX_PLACES:
            self.warned.add(place)

    def said_before(self, record: Record) -> Record | None:
        """The last word of the job before, if ``event`` is one of another job."""
        if record.kind == "slurm.cancelled":
            return self._cancelled(record) if record.fields.get("what") == "JOB" else None
        if record.kind == "elastic.failure_summary":
            return self._summed_up(record)
        if record.kind.startswith("batch."):
            return self._reported(record)
        return None

    def _reported(self, record: Record) -> Record | None:
        """The report on the job before; where output follows its report, the new job begins with the new report."""
        if record.kind == "batch.follows":
            self.follows, self.report = True, self.report or record
        if record.kind != ("batch.report" if self.follows else "batch.reported") and "report" not in record.fields:
            return None
        earlier, self.report = self.report, record
        return earlier

    def _cancelled(self, record: Record) -> Record | None:
        earlier, self.cancelled = self.cancelled, record
        if earlier is None or _job(earlier) == _job(record):
            return None
        return earlier if None in (earlier.time, record.time) or abs(record.time - earlier.time) > AT_ONCE else None  # type: ignore[operator]

    def _summed_up(self, record: Record) -> Record | None:
        earlier, self.summary = self.summary, record
        if earlier is None or record.rank is None or earlier.rank != record.rank:
            return None
        pids = earlier.fields.get("pid"), record.fields.get("pid")
        return earlier if None not in pids and pids[0] != pids[1] else None

    def left_before(self, record: Record) -> Record | None:
        """The exception that ended the script before, if ``event`` ended it when it was run again."""
        earlier, latest, again = self.left, self.latest, self.started_again
        self.latest = record
        if (script := _script(record)) is None:
            return None
        self.left, self.started_again = record, False
        if earlier is None or _script(earlier) != script:
            return None
        return earlier if again else latest if _was_interrupted(earlier) and not _may_follow(record) else None

    def note_end(self, record: Record, *, over: bool) -> None:
        """Note what ended, or was interrupted."""
        if over:
            self.ended = record
        elif _was_interrupted(record):
            self.latest = record

    def typed(self) -> Record | None:
        """Somebody typed a command: the last end before it, if there was one since the command before."""
        ended, self.ended = self.ended, None
        return ended


def _job(record: Record) -> str:
    return str(record.fields.get("step")).partition(".")[0].partition("+")[0]


def _was_interrupted(record: Record) -> bool:
    return record.fields.get("exception") == "KeyboardInterrupt"


def _may_follow(record: Record) -> bool:
    """Whether this may be what an interrupt left behind."""
    kind = str(record.fields.get("inner") or record.fields.get("exception", "")).rpartition(".")[2]
    return "chained" in record.fields or not kind or kind in _AFTER_INTERRUPT


def _script(record: Record) -> str | None:
    found = (_SCRIPT.search(line.text) for line in record.lines[:3])
    return next((hit["script"] for hit in found if hit), None)
