"""Decision whether to start the job again.

Earlier attempts correct the action of the cause.

- the same cause again without progress in between: stop, because another attempt would fail too
- the same cause again with progress in between: retry, because attempts help
- a host that several attempts name: exclude the host
- only one attempt: take the action of the cause
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, takewhile

from logdoctor.model import Cause, Decision, Diagnosis, Progress, Run

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "stop": "a restart would fail the same way: fix the cause first",
        "retry": "this often passes when the job is started again",
        "exclude": "it would fail the next job too",
        "none": "nothing has to be done",
        "guess": "the cause is only a guess; ",
        "host": "{attempts} attempts name {hosts}",
        "still": "{attempts} attempts failed by {cause} without progress in between",
        "further": "the job failed by {cause} before too, and got further since ({before}, now {now})",
        "open": "the cause is not known: nothing speaks for or against another attempt",
        "open.still": "{attempts} attempts failed for a reason that is not known, without progress in between",
        "nothing": "no progress",
    },
    "zh": {
        "stop": "直接重启会以同样方式失败：先修复原因",
        "retry": "这类故障重启后多能通过",
        "exclude": "它也会使下一个作业失败",
        "none": "无需处理",
        "guess": "原因只是推测；",
        "host": "{attempts} 次尝试都指向 {hosts}",
        "still": "{attempts} 次尝试都因 {cause} 失败，其间没有进展",
        "further": "作业此前也因 {cause} 失败过，此后有进展（{before}，现在 {now}）",
        "open": "原因未知：没有依据说明应否再试",
        "open.still": "{attempts} 次尝试都因未知原因失败，其间没有进展",
        "nothing": "没有进展",
    },
}
Words = dict[str, str]
OWN_FAULT = frozenset({"app", "checkpoint", "job", "rdzv"})
"""Families of signatures that are never the fault of a machine."""


def decide(diagnosis: Diagnosis, lang: str = "en") -> Decision:
    """Return the decision for the diagnosed job.

    It is empty if the job did not fail.
    """
    if diagnosis.verdict == "healthy":
        return Decision()
    words, attempts = WORDS.get(lang, WORDS["en"]), _attempts(diagnosis.runs)
    if not diagnosis.causes:
        return _without_cause(attempts, words)
    cause = diagnosis.causes[0]
    named = _hosts_named_again(cause, attempts[:-1], diagnosis.job_summary.hosts)
    if named:
        count = 1 + sum(bool(named & {*run.culprit.hosts}) for run in attempts[:-1])
        hosts = tuple(sorted(named))
        return Decision("exclude", hosts, words["host"].format(attempts=count, hosts=", ".join(hosts)), count)
    if cause.action != "exclude" or not cause.culprit.hosts:
        again = [run for run in attempts[:-1] if run.verdict == "failure" and run.signature == cause.signature]
        if again:
            return _decide_by_progress(again, attempts[-1], cause, words)
    hosts = cause.culprit.hosts if cause.action == "exclude" else ()
    guessed = words["guess"] if cause.by == "classifier" else ""
    return Decision(cause.action, hosts, f"{guessed}{words[cause.action]}")


def _attempts(runs: Sequence[Run]) -> Sequence[Run]:
    """Return the attempts of the job up to the reported run.

    Without a reported run, return the attempts of the last job.
    """
    end = next((number for number, run in enumerate(runs) if run.told), len(runs) - 1)
    start = end
    while start > 0 and runs[start].kind == "attempt":
        start -= 1
    return runs[start : end + 1]


def _hosts_named_again(cause: Cause, earlier: Sequence[Run], hosts: Sequence[str]) -> set[str]:
    """Return the culprit hosts that an earlier attempt named too.

    Return none if they are more than half of the job's hosts, because then no single host is at fault.
    """
    if cause.action == "stop" or cause.signature.partition(".")[0] in OWN_FAULT:
        return set()
    named = {*cause.culprit.hosts} & {host for run in earlier for host in run.culprit.hosts}
    return named if len(hosts) <= 1 or len(named) * 2 <= len(hosts) else set()


def _decide_by_progress(again: Sequence[Run], last: Run, cause: Cause, words: Words) -> Decision:
    """Decide by the progress since the earlier attempts.

    ``again`` are the earlier attempts that failed by the same cause.
    """
    before, now = again[-1].last_progress, last.last_progress
    if _is_further(before, now):
        reached = {"before": _format_progress(before, words), "now": _format_progress(now, words)}
        return Decision("retry", (), words["further"].format(cause=cause.signature, **reached), 1 + len(again))
    points = [run.last_progress for run in (*again, last)]
    progress = [_is_further(*pair) for pair in pairwise(points)]
    count = 2 + sum(1 for _ in takewhile(lambda further: not further, reversed(progress[:-1])))
    return Decision("stop", (), words["still"].format(attempts=count, cause=cause.signature), count)


def _without_cause(attempts: Sequence[Run], words: Words) -> Decision:
    if len(attempts) > 1 and attempts[-2].verdict == "unknown":
        before, now = (run.last_progress for run in attempts[-2:])
        if not _is_further(before, now):
            return Decision("stop", (), words["open.still"].format(attempts=2), 2)
    return Decision("none", (), words["open"])


def _is_further(before: Progress | None, now: Progress | None) -> bool:
    """Return whether ``now`` is beyond ``before``.

    If the units differ, any progress in ``now`` counts.
    """
    if before is None or now is None or before.unit != now.unit:
        return now is not None
    try:
        return _place(now) > _place(before)
    except ValueError:
        return False


def _place(progress: Progress) -> tuple[float, float]:
    """Return the epoch and the number of the step.

    ``120/500`` without an epoch gives (0.0, 120.0).
    """
    return float(progress.epoch or 0), float(progress.value.partition("/")[0])


def _format_progress(progress: Progress | None, words: Words) -> str:
    if progress is None:
        return words["nothing"]
    epoch = f"epoch {progress.epoch} " if progress.epoch else ""
    return f"{epoch}{progress.unit} {progress.value}".strip()
