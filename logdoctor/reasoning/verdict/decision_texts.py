"""Texts of a decision: its headline, its sentence, and its reason."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from logdoctor.model import Cause, Change, Diagnosis, Do, Progress
from logdoctor.model.catalogue import Catalogue

BY_OWNER: Mapping[str, str] = {
    "your code": "code",
    "your data": "data",
    "your settings": "settings",
    "framework": "installation",
    "gpu-or-driver": "gpu",
    "fabric": "network",
    "host": "host",
    "storage": "storage",
}
"""Things to repair, by the owner of a failure."""
GOES_ON = frozenset({"job.preempted-again"})
"""Rules of jobs whose newest state says that they go on."""
SPECIAL = ("hung", "no-host", "most-hosts")
"""Reasons that change the texts of their decision."""


class Choice(Struct, frozen=True):
    """A decision with the key of its reason, and the places in that text."""

    do: Do
    why: str
    hosts: tuple[str, ...] = ()
    attempts: int = 1
    said: str = ""
    """Words of the log."""
    before: Progress | None = None
    now: Progress | None = None
    what: str = ""
    """The thing to change or to repair, a key of the words."""


def headline_of(choice: Choice, diagnosis: Diagnosis, words: Catalogue) -> str:
    """Return the decision in a few words, for example RESUBMIT WITH MORE MEMORY."""
    cause = diagnosis.causes[0]
    match choice.do:
        case "requeue-without-host":
            return words("head.requeue-without-host", hosts=words("joint").join(choice.hosts))
        case "requeue":
            step = restart_step(diagnosis)
            return words("head.requeue") if step is None else words("head.requeue.step", step=f"{step:,}")
        case "resubmit-with-changes" if "=" in choice.what:
            return words("head.change.setting", setting=choice.what)
        case "resubmit-with-changes":
            return words(f"head.change.{choice.what}" if choice.what else "head.change")
        case "fix-first":
            what = choice.what or BY_OWNER.get(cause.owner.who, "")
            return words(f"head.fix.{what}" if what else "head.fix")
        case "do-nothing":
            return words("head.nothing" if goes_on(cause) else "head.stopped")
    if choice.why == "no-host":
        return _find_host(cause, words)
    return words("head.hung" if choice.why == "hung" else "head.investigate")


def sentence_of(choice: Choice, diagnosis: Diagnosis, words: Catalogue) -> str:
    """Return the decision as a sentence."""
    hosts = words("joint").join(choice.hosts)
    step = restart_step(diagnosis)
    if choice.why in SPECIAL:
        return words(f"decide.{choice.why}", hosts=hosts)
    if choice.do == "do-nothing":
        return words(f"decide.{goes_on(diagnosis.causes[0]) or 'stopped'}")
    if choice.do == "requeue" and step is not None:
        return words("decide.requeue.step", step=f"{step:,}")
    return words(f"decide.{choice.do}", hosts=hosts)


def reason_of(choice: Choice, cause: Cause, words: Catalogue) -> str:
    """Return the reason of the decision as a sentence."""
    why = "goes-on" if cause.rule in GOES_ON and choice.why == "do-nothing" else choice.why
    return words(
        f"because.{why}",
        hosts=words("joint").join(choice.hosts),
        attempts=choice.attempts,
        said=choice.said,
        cause=cause.signature,
        before=_format_progress(choice.before, words),
        now=_format_progress(choice.now, words),
    )


def changes_of(choice: Choice) -> tuple[Change, ...]:
    """Return the setting to change, if the table of decisions names its value."""
    name, equals, value = choice.what.partition("=")
    return (Change(name, "", value),) if equals and choice.do == "resubmit-with-changes" else ()


def restart_step(diagnosis: Diagnosis) -> int | None:
    """Return the step of the last checkpoint, if the log tells it."""
    checkpoint = diagnosis.job.last_checkpoint
    return checkpoint.step if checkpoint else None


def _find_host(cause: Cause, words: Catalogue) -> str:
    ranks = cause.culprit.ranks
    return words("head.find-host.rank", rank=ranks[0]) if len(ranks) == 1 else words("head.find-host")


def goes_on(cause: Cause) -> str:
    """Return ``goes-on`` if the scheduler has started the job again, ``requeued`` if it has put it into its queue."""
    if cause.rule in GOES_ON:
        return "goes-on"
    return "requeued" if "requeue" in str(dict(cause.values).get("reason")).casefold() else ""


def _format_progress(progress: Progress | None, words: Catalogue) -> str:
    if progress is None:
        return words("because.no-progress")
    epoch = f"epoch {progress.epoch} " if progress.epoch else ""
    return f"{epoch}{progress.unit} {progress.value}".strip()
