"""What "outlived" means: the job went on well after something, so that it was no failure.

- An event is outlived where the job ended well after it (good_ends.py), where a program logged it as an exception that
  it had caught, and nothing went wrong from then on (got_over.py), where its rank made enough steps after it
  (steps.py), or where a later job in its file came to its last step.  What a batch system's report says above a job's
  output came last: no step below it outlives it.
- A finding is outlived where all that it rests on is, unless its rule asks for a good end or says that it never is;
  or where it is old noise.
- A rule may ask for less (``job: {went_on: true}``): that ranks spoke later, whatever they said (spoken.py).
- A failing line that no rule knows is outlived, besides, where the same complaint was outlived once, or where it was
  only logged and its file went on for long.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from logdoctor.model import Finding, Record
from logdoctor.pack.regexes import later
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.good_ends import BATCH_ENDS, Run

NOISE = 5
"""So many exceptions of one type that were only reported, and that the job outlived, make the next one harmless."""
CALM = 200
"""So many lines after an error that was only logged may show that the program got over it."""
SHORT, LONG = 40, 200
_ENDING = later(r"(?i)\bexit|abort|terminat|crash|fatal|kill|shut|\bdie[ds]?\b|giv\w+ up|\bstop|memory|cannot continue")
_DIGITS = later(r"\d+")


def outlived(record: Record, rank: int | None, state: JobState, run: Run = None) -> bool:
    """Whether the job went on well after ``event``: it ended well, or ``rank`` (or nobody by name) made steps."""
    if state.runs.told_above(record):
        return state.good_ends.outlast_by_report(record, run)
    if state.good_ends.outlast(record, run) or state.got_over.covers(record):
        return True
    if run is None and _done_later(record, state):
        return True
    counts = run or functools.partial(state.runs.same_job, record)
    own = [*state.steps.values()] if rank is None else [s for r in (rank, None) if (s := state.steps.get(r))]
    return any(s.survived(record, lambda e: counts(e) and _well_after(e, record, state)) for s in own)


def _done_later(record: Record, state: JobState) -> bool:
    """Whether a later job in the file of ``event`` counted its steps to the end, and made no others since."""
    finished = state.good_ends.finished
    return finished is not None and record.order < finished.order and not state.runs.same_job(record, finished)


def _well_after(later: Record, earlier: Record, state: JobState) -> bool:
    """Whether the clocks of two hosts, which may differ, leave no doubt about the order."""
    one, two = state.places.host_of(later), state.places.host_of(earlier)
    return one is None or two is None or one == two or state.surely_after(later, earlier)


def outlived_by_speaker(record: Record, state: JobState, run: Run = None) -> bool:
    """Whether the rank that ``event`` is about went on well after it."""
    return outlived(record, state.places.rank_of(record), state, run)


def went_on(record: Record, state: JobState) -> bool:
    """Whether ranks spoke after ``event``, or made steps: a slip of the job script (``went_on`` in a rule)."""
    return state.spoke.after(record) or outlived(record, None, state)


def finding_outlived(finding: Finding, state: JobState, run: Run = None) -> bool:
    """Whether the job, or only the ``run``, went on well after all that this rests on."""
    if finding.rule.outlived == "never":
        return False
    if finding.rule.outlived == "by a good end":
        return state.good_ends.outlast(finding.latest, run)
    ranks: list[int | None] = [*finding.ranks] or [None]
    return all(outlived(finding.latest, rank, state, run) for rank in ranks) or _is_old_noise(finding, state, run)


def _is_old_noise(finding: Finding, state: JobState, run: Run) -> bool:
    """Whether it is what the program reports again and again and goes on: the job outlived most of what it rests on.

    So do loops that let a model's code run, or retry a service: they print the traceback of each try that failed, the
    last one mostly behind the last steps of the log.
    """
    caught = finding.rule.role == "fallback" and all(e.level == "error" for e in (*finding.records, finding.latest))
    if not caught or finding.count <= NOISE:
        return False
    same = [e for e in finding.records if e.fields.get("exception") == finding.latest.fields.get("exception")]
    return sum(outlived_by_speaker(e, state, run) for e in same) >= NOISE


def not_outlived(unknown: Sequence[Record], state: JobState) -> list[Record]:
    """The failing lines, of those that no rule knows, that the job did not outlive."""
    over = {shape(e) for e in unknown if outlived_by_speaker(e, state)}
    left = [e for e in unknown if shape(e) not in over]
    return [] if all(_got_over(e, state.lines_after(e)) for e in left) else left


def shape(record: Record) -> tuple[str, str]:
    """What stays the same when a program prints the same complaint again: if it was outlived once, it always is.

    Not so the end of a job, which another job of the same file outlived.  Of an exception that was only reported the
    beginning counts: what follows quotes the sample that it met.
    """
    if record.format == "python" and record.level == "error":
        return "python", _DIGITS.sub("#", record.text[:SHORT])
    return record.kind, str(record.order) if record.kind in BATCH_ENDS else _DIGITS.sub("#", record.text[:LONG])


def _got_over(record: Record, lines_after: int) -> bool:
    """Whether a program only logged an error, in no words that an end has, and its file went on for long.

    Longer than all that stood before it: a job that ends of what it reports seldom prints so much more.
    """
    if record.format != "generic" or record.level != "error" or _ENDING.search(record.text):
        return False
    return lines_after >= max(CALM, record.line.number)
