"""The one answer to "did the job get over this?".

An alarm is a failing record, or a finding.  It is refuted if its process worked on or the job ended well after it.
Its rule may demand a good end, or forbid any refutation (``outlived``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from logdoctor.model import Finding, Record
from logdoctor.pack.regexes import later
from logdoctor.reasoning.lifecycle.clocks import printed_after
from logdoctor.reasoning.lifecycle.heartbeat import SILENCE, Heartbeat
from logdoctor.reasoning.lifecycle.lives import Lives, is_place
from logdoctor.reasoning.processes import process_of
from logdoctor.reasoning.steps import ENOUGH_STEPS, Work, is_final

Run = Callable[[Record], bool] | None
"""Test whether a record belongs to the run.  None means the same job, with its later attempts."""

NOISE = 5
"""Number of refuted exceptions of one type that refute the next one of that type."""
CALM = 200
"""Number of lines below a logged error that may show that the program recovered."""
SHORT, LONG = 40, 200
OUTLIVED = "by progress"
"""Default of rules. Work after their lines shows that the failure is over."""
_ENDING = later(r"(?i)\bexit|abort|terminat|crash|fatal|kill|shut|\bdie[ds]?\b|giv\w+ up|\bstop|memory|cannot continue")
_DIGITS = later(r"\d+")


class Refutation(Struct, frozen=True):
    """Reason why an alarm is over."""

    by: Record
    why: Literal["worked on", "fell back", "ended well", "caught", "said again and again", "newer state"]
    steps: int = 0
    """Steps after the alarm, as far as they are kept."""


def is_refuted(alarm: Record | Finding, lives: Lives, run: Run = None) -> Refutation | None:
    """Return why the job, or ``run``, got over an alarm.  Return None if it did not."""
    if isinstance(alarm, Finding):
        return _refute_finding(alarm, lives, run)
    return _refute(alarm, lives.names.rank_of(alarm), lives, run)


def fell_back(finding: Finding, lives: Lives) -> Refutation | None:
    """Return the work behind a complaint of a rule whose program gives up by it, or falls back.

    The program prints on in its own words, and nothing ended badly.
    """
    first, last = finding.records[0], finding.latest
    ends = (e for e in (*finding.records, last) if e.level == "fatal" or e.reports_own_end or e.has("gives up"))
    if finding.rule.outlived != OUTLIVED or lives.any_failed or lives.anyone_waited or next(ends, None):
        return None
    line = lives.hear_work(first.line, last.line)
    return Refutation(Record(line, "text", "text.line", line.text), "fell back") if line else None


def goes_on(record: Record, lives: Lives) -> bool:
    """Return whether ranks printed lines or made steps after the record (``job: {went_on: true}`` of a rule)."""
    return lives.ranks_spoke_after(record) or _refute(record, None, lives, None) is not None


def standing(alarms: Sequence[Record], lives: Lives, heartbeat: Heartbeat = SILENCE) -> list[Record]:
    """Return the alarms that nothing refutes.  No rule explains any of ``alarms``.

    If the job got over a complaint once, it did so each time.  A logged error that does not sound like an end is also
    refuted if its file goes on for long, or if a heartbeat follows.
    """
    over = {shape(e) for e in alarms if is_refuted(e, lives)}
    left = [e for e in alarms if shape(e) not in over and not (_may_calm_down(e) and heartbeat.beats_after(e))]
    return [] if all(_calms_down(e, lives.lines_after(e)) for e in left) else left


def shape(record: Record) -> tuple[str, str]:
    """Return a key that repeated prints of one complaint share.

    The key is the kind, and the text with ``#`` for numbers.  The end of a job has a key of its own, because another
    job of the file may end well.  A reported exception is cut early, because the rest of its text quotes data.
    """
    if record.reports_own_end and record.level == "error":
        return record.format, _DIGITS.sub("#", record.text[:SHORT])
    return record.kind, str(record.order) if _is_report_on_job(record) else _DIGITS.sub("#", record.text[:LONG])


# ── records ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _refute(alarm: Record, rank: int | None, lives: Lives, run: Run) -> Refutation | None:
    """Return why ``rank`` got over an alarm.  If ``rank`` is None, steps of any rank count."""
    if newer := lives.states.newer(alarm):
        return Refutation(newer, "newer state")
    if lives.attempts.is_in_report_header(alarm):  # it was written after all output below it
        return _ended_well_by_report(alarm, lives, run)
    if refutation := _ended_well(alarm, lives, run):
        return refutation
    if lives.caught.holds(alarm):
        return Refutation(alarm, "caught")
    if run is None and (refutation := _later_job_ended_well(alarm, lives)):
        return refutation
    if refutation := _reached_last_step(alarm, lives, run) or _is_only_a_place(alarm, lives):
        return refutation
    counts = run or functools.partial(lives.attempts.same_job, alarm)
    works = (_worked_on(alarm, work, lives, counts) for work in lives.steps.of(rank))
    return next(filter(None, works), None)


def _worked_on(alarm: Record, work: Work, lives: Lives, counts: Callable[[Record], bool]) -> Refutation | None:
    steps = list(work.after(alarm, lambda step: counts(step) and _clearly_after(step, alarm, lives)))
    return Refutation(steps[0], "worked on", len(steps)) if len(steps) >= ENOUGH_STEPS else None


def _clearly_after(later_record: Record, earlier: Record, lives: Lives) -> bool:
    """Return whether the order is clear although clocks of two hosts may differ."""
    host, other = lives.names.host_of(later_record), lives.names.host_of(earlier)
    return None in (host, other) or host == other or lives.surely_after(later_record, earlier)


def _ended_well(alarm: Record, lives: Lives, run: Run) -> Refutation | None:
    """Return the good end of the job or of ``run`` after an alarm. Nothing tells when a snapshot came true.

    A final result refutes only what is not fatal, because it does not show that the process itself survived.
    Cases: corpus/healthy-caught-exceptions, corpus/restarts-then-success.
    """
    done, result = lives.program.well, lives.result
    is_after = done is not None and (printed_after(done, alarm) or alarm.tells("snapshot"))
    if done is not None and is_after and (run is None or run(done)):
        return Refutation(done, "ended well")
    if result is not None and alarm.level != "fatal" and printed_after(result, alarm):
        return Refutation(result, "ended well")
    return _all_greeted(alarm, lives) or _ended_well_by_report(alarm, lives, run)


def _all_greeted(alarm: Record, lives: Lives) -> Refutation | None:
    """Return the last greeting if all ranks greeted after an alarm.  Then the network works.

    It refutes only what is not fatal, because it does not show that the process itself survived.
    Shown by tests/messages/openmpi.tsv and the near miss of mpi.pmi-shared-refused.
    """
    later = [greeting for greeting in lives.greetings.values() if greeting.order > alarm.order]
    if not later or alarm.level == "fatal" or alarm.order < lives.started_at:
        return None
    last = max(later, key=lambda greeting: greeting.order)
    total = last.fields.get("total")
    return Refutation(last, "ended well") if isinstance(total, int) and 1 < total <= len(later) else None


def _ended_well_by_report(alarm: Record, lives: Lives, run: Run) -> Refutation | None:
    """Return the batch system's last report if it says that a job ended well.

    The alarm may be a report of the earlier, failed job.  It may also be the exception that ended this job, if it
    stands in another file without a time, as stderr does.
    Shown by tests/messages/schedulers.tsv.
    """
    done, failed = lives.job.well, lives.job_failed
    if done is None or (run is not None and not run(done)):
        return None
    if _is_report_on_job(alarm):
        return Refutation(done, "ended well") if printed_after(done, alarm) else None
    if failed is None or alarm.line.file == done.line.file or alarm.time is not None or alarm.level != "fatal":
        return None
    is_after = alarm.reports_own_end and failed.line.file == done.line.file and printed_after(done, failed)
    return Refutation(done, "ended well") if is_after else None


def _later_job_ended_well(alarm: Record, lives: Lives) -> Refutation | None:
    """Return the last step of a later job in the file, if it was its total and no step followed."""
    final = lives.steps.final
    if final is None or alarm.order >= final.order or lives.attempts.same_job(alarm, final):
        return None
    return Refutation(final, "ended well")


def _reached_last_step(alarm: Record, lives: Lives, run: Run) -> Refutation | None:
    """Return the last step if the last step of all processes was their total, and none failed.

    Example: ``step 3/3``, then one process sees another close its connection.  An alarm that is itself an end, or of
    which nobody knows whether it came before or after that step, is not refuted so.
    """
    if alarm.level == "fatal" or any(sign.mark for sign in alarm.signs):
        return None
    last = [work.latest[-1] for work in lives.steps.of(None)]
    if run is not None:
        last = [step for step in last if run(step)]
    if not last or not all(map(is_final, last)) or lives.any_failed:
        return None
    has_order = lives.surely_after(alarm, last[-1]) or lives.surely_after(last[-1], alarm)
    return Refutation(last[-1], "ended well") if has_order else None


def _is_only_a_place(alarm: Record, lives: Lives) -> Refutation | None:
    """Return the next sign of life of the process if the alarm is a stack without an exception."""
    life = lives.processes.get(process_of(alarm)) if is_place(alarm) else None
    last = life.last if life is not None else None
    if last is None or last.failing or not printed_after(last, alarm) or lives.any_failed:
        return None
    return Refutation(last, "worked on")


def _is_report_on_job(record: Record) -> bool:
    return any(sign.of == "job" and sign.late and sign.mark != "ends well" for sign in record.signs)


def _may_calm_down(alarm: Record) -> bool:
    """Return whether a program only logged the alarm, as an error whose text does not sound like an end."""
    is_logged = alarm.level == "error" and alarm.format == "generic" and not any(sign.mark for sign in alarm.signs)
    return is_logged and not _ENDING.search(alarm.text)


def _calms_down(alarm: Record, lines_after: int) -> bool:
    """Return whether a file goes on for long after a logged error.

    At least as many lines must follow as stand above, because a job that ends
    after an error seldom prints so much more.
    """
    return _may_calm_down(alarm) and lines_after >= max(CALM, alarm.line.number)


# ── findings ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _refute_finding(finding: Finding, lives: Lives, run: Run) -> Refutation | None:
    if finding.rule.outlived == "never":
        return None
    if newer := lives.states.newer(finding.latest):
        return Refutation(newer, "newer state")
    if finding.rule.outlived == "by a good end":
        return _ended_well(finding.latest, lives, run)
    ranks: list[int | None] = [*finding.ranks] or [None]
    refutations = [_refute(finding.latest, rank, lives, run) for rank in ranks]
    return refutations[0] if all(refutations) else _said_again_and_again(finding, lives, run)


def _said_again_and_again(finding: Finding, lives: Lives, run: Run) -> Refutation | None:
    """Return the refutation of an exception that the program often got over.

    Example: a loop that runs code of a model, or retries a service, prints the traceback of each failed try.  The last
    traceback often stands below the last step of the log.
    """
    reported = finding.rule.role == "fallback" and all(e.level == "error" for e in (*finding.records, finding.latest))
    if not reported or finding.count <= NOISE:
        return None
    same = [e for e in finding.records if e.fields.get("exception") == finding.latest.fields.get("exception")]
    refuted = [refutation for e in same if (refutation := is_refuted(e, lives, run))]
    return Refutation(refuted[-1].by, "said again and again") if len(refuted) >= NOISE else None
