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

from logdoctor.model import Event, Finding
from logdoctor.reasoning.good_ends import BATCH_ENDS, Run
from logdoctor.reasoning.picture import Picture
from logdoctor.regexes import later

NOISE = 5
"""So many exceptions of one type that were only reported, and that the job outlived, make the next one harmless."""
CALM = 200
"""So many lines after an error that was only logged may show that the program got over it."""
SHORT, LONG = 40, 200
_ENDING = later(r"(?i)\bexit|abort|terminat|crash|fatal|kill|shut|\bdie[ds]?\b|giv\w+ up|\bstop|memory|cannot continue")
_DIGITS = later(r"\d+")


def outlived(event: Event, rank: int | None, picture: Picture, run: Run = None) -> bool:
    """Whether the job went on well after ``event``: it ended well, or ``rank`` (or nobody by name) made steps."""
    if picture.runs.told_above(event):
        return picture.good_ends.outlast_by_report(event, run)
    if picture.good_ends.outlast(event, run) or picture.got_over.covers(event):
        return True
    if run is None and _done_later(event, picture):
        return True
    counts = run or functools.partial(picture.runs.same_job, event)
    own = [*picture.steps.values()] if rank is None else [s for r in (rank, None) if (s := picture.steps.get(r))]
    return any(s.survived(event, lambda e: counts(e) and _well_after(e, event, picture)) for s in own)


def _done_later(event: Event, picture: Picture) -> bool:
    """Whether a later job in the file of ``event`` counted its steps to the end, and made no others since."""
    finished = picture.good_ends.finished
    return finished is not None and event.order < finished.order and not picture.runs.same_job(event, finished)


def _well_after(later: Event, earlier: Event, picture: Picture) -> bool:
    """Whether the clocks of two hosts, which may differ, leave no doubt about the order."""
    one, two = picture.places.host_of(later), picture.places.host_of(earlier)
    return one is None or two is None or one == two or picture.surely_after(later, earlier)


def outlived_by_speaker(event: Event, picture: Picture, run: Run = None) -> bool:
    """Whether the rank that ``event`` is about went on well after it."""
    return outlived(event, picture.places.rank_of(event), picture, run)


def went_on(event: Event, picture: Picture) -> bool:
    """Whether ranks spoke after ``event``, or made steps: a slip of the job script (``went_on`` in a rule)."""
    return picture.spoke.after(event) or outlived(event, None, picture)


def finding_outlived(finding: Finding, picture: Picture, run: Run = None) -> bool:
    """Whether the job, or only the ``run``, went on well after all that this rests on."""
    if finding.rule.outlived == "never":
        return False
    if finding.rule.outlived == "by a good end":
        return picture.good_ends.outlast(finding.latest, run)
    ranks: list[int | None] = [*finding.ranks] or [None]
    return all(outlived(finding.latest, rank, picture, run) for rank in ranks) or _is_old_noise(finding, picture, run)


def _is_old_noise(finding: Finding, picture: Picture, run: Run) -> bool:
    """Whether it is what the program reports again and again and goes on: the job outlived most of what it rests on.

    So do loops that let a model's code run, or retry a service: they print the traceback of each try that failed, the
    last one mostly behind the last steps of the log.
    """
    caught = finding.rule.role == "fallback" and all(e.level == "error" for e in (*finding.events, finding.latest))
    if not caught or finding.count <= NOISE:
        return False
    same = [e for e in finding.events if e.fields.get("exception") == finding.latest.fields.get("exception")]
    return sum(outlived_by_speaker(e, picture, run) for e in same) >= NOISE


def not_outlived(unknown: Sequence[Event], picture: Picture) -> list[Event]:
    """The failing lines, of those that no rule knows, that the job did not outlive."""
    over = {shape(e) for e in unknown if outlived_by_speaker(e, picture)}
    left = [e for e in unknown if shape(e) not in over]
    return [] if all(_got_over(e, picture.lines_after(e)) for e in left) else left


def shape(event: Event) -> tuple[str, str]:
    """What stays the same when a program prints the same complaint again: if it was outlived once, it always is.

    Not so the end of a job, which another job of the same file outlived.  Of an exception that was only reported the
    beginning counts: what follows quotes the sample that it met.
    """
    if event.dialect == "python" and event.level == "error":
        return "python", _DIGITS.sub("#", event.text[:SHORT])
    return event.kind, str(event.order) if event.kind in BATCH_ENDS else _DIGITS.sub("#", event.text[:LONG])


def _got_over(event: Event, lines_after: int) -> bool:
    """Whether a program only logged an error, in no words that an end has, and its file went on for long.

    Longer than all that stood before it: a job that ends of what it reports seldom prints so much more.
    """
    if event.dialect != "generic" or event.level != "error" or _ENDING.search(event.text):
        return False
    return lines_after >= max(CALM, event.line.number)
