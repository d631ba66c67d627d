"""Failures that the job survived ("outlived").

- A record is outlived in these cases:
  - the job ended well after it (good_ends.py);
  - the program logged it as a caught exception and nothing failed after that (got_over.py);
  - its rank made enough steps after it (steps.py);
  - a later job in its file reached its last step.
  A batch report above the output of its job was written last, so steps below it do not outlive it.
- A finding is outlived if all its records are, or if it is old noise. Its rule may require a good end, or may say
  that it is never outlived.
- A rule may require less (``job: {went_on: true}``): ranks printed any line later (spoken.py).
- A failing line without a rule is outlived in two more cases. The same complaint was outlived once, or it was only
  logged and its file went on for long.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from logdoctor.model import Finding, Record
from logdoctor.pack.regexes import later
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.good_ends import BATCH_ENDS, Run

NOISE = 5
"""Number of outlived exceptions of one type that make the next reported exception of that type harmless."""
CALM = 200
"""Number of lines below a logged error that may show that the program recovered."""
SHORT, LONG = 40, 200
_ENDING = later(r"(?i)\bexit|abort|terminat|crash|fatal|kill|shut|\bdie[ds]?\b|giv\w+ up|\bstop|memory|cannot continue")
_DIGITS = later(r"\d+")


def outlived(record: Record, rank: int | None, state: JobState, run: Run = None) -> bool:
    """Return whether the job went on well after the record.

    The job ended well, or ``rank`` made steps. If ``rank`` is None, steps of any rank count.
    """
    if state.runs.is_in_report_header(record):
        return state.good_ends.outlive_by_report(record, run)
    if state.good_ends.outlive(record, run) or state.got_over.cover(record):
        return True
    if run is None and _later_job_finished(record, state):
        return True
    counts = run or functools.partial(state.runs.same_job, record)
    own = [*state.steps.values()] if rank is None else [s for r in (rank, None) if (s := state.steps.get(r))]
    return any(s.outlive(record, lambda e: counts(e) and _surely_after(e, record, state)) for s in own)


def _later_job_finished(record: Record, state: JobState) -> bool:
    """Return whether a later job in the file made its last step.

    No step may follow that last step.
    """
    finished = state.good_ends.finished
    return finished is not None and record.order < finished.order and not state.runs.same_job(record, finished)


def _surely_after(later: Record, earlier: Record, state: JobState) -> bool:
    """Return whether the order is sure although clocks may differ."""
    host, earlier_host = state.places.host_of(later), state.places.host_of(earlier)
    return host is None or earlier_host is None or host == earlier_host or state.surely_after(later, earlier)


def outlived_by_source(record: Record, state: JobState, run: Run = None) -> bool:
    """Return whether the record's rank went on well after it."""
    return outlived(record, state.places.rank_of(record), state, run)


def went_on(record: Record, state: JobState) -> bool:
    """Return whether ranks went on after the record.

    They printed lines or made steps. A rule asks for this with ``went_on``.
    """
    return state.spoke.after(record) or outlived(record, None, state)


def finding_outlived(finding: Finding, state: JobState, run: Run = None) -> bool:
    """Return whether the job or ``run`` outlived the finding."""
    if finding.rule.outlived == "never":
        return False
    if finding.rule.outlived == "by a good end":
        return state.good_ends.outlive(finding.latest, run)
    ranks: list[int | None] = [*finding.ranks] or [None]
    return all(outlived(finding.latest, rank, state, run) for rank in ranks) or _is_old_noise(finding, state, run)


def _is_old_noise(finding: Finding, state: JobState, run: Run) -> bool:
    """Return whether the program often went on after this exception.

    Example: a loop that runs code of a model, or retries a service, prints the traceback of each failed try. The last
    traceback often stands below the last step of the log.
    """
    caught = finding.rule.role == "fallback" and all(e.level == "error" for e in (*finding.records, finding.latest))
    if not caught or finding.count <= NOISE:
        return False
    same = [e for e in finding.records if e.fields.get("exception") == finding.latest.fields.get("exception")]
    return sum(outlived_by_source(e, state, run) for e in same) >= NOISE


def not_outlived(failures: Sequence[Record], state: JobState) -> list[Record]:
    """Return those of ``failures`` that the job did not outlive.  No rule explains any of ``failures``."""
    over = {shape(e) for e in failures if outlived_by_source(e, state)}
    left = [e for e in failures if shape(e) not in over]
    return [] if all(_went_on_for_long(e, state.lines_after(e)) for e in left) else left


def shape(record: Record) -> tuple[str, str]:
    """Return a key that repeated prints of one complaint share.

    The key is the kind, and the text with ``#`` for numbers. If one such record was outlived, all are. The end of a job
    has a key of its own, because another job of the file may outlive it. A reported exception is cut early, because the
    rest of its text quotes data.
    """
    if record.format == "python" and record.level == "error":
        return "python", _DIGITS.sub("#", record.text[:SHORT])
    return record.kind, str(record.order) if record.kind in BATCH_ENDS else _DIGITS.sub("#", record.text[:LONG])


def _went_on_for_long(record: Record, lines_after: int) -> bool:
    """Return whether a file went on for long after a logged error.

    The text must not sound like an end. At least as many lines must follow as stand above, because a job that ends
    after an error seldom prints so much more.
    """
    if record.format != "generic" or record.level != "error" or _ENDING.search(record.text):
        return False
    return lines_after >= max(CALM, record.line.number)
