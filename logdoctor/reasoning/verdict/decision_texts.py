"""Texts of a decision: its headline, its sentence, and its reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from logdoctor.model import Cause, Change, Diagnosis, Do, Progress, split_thing
from logdoctor.model.catalogue import Catalogue
from logdoctor.pack.version_ranges import is_between, is_version
from logdoctor.reasoning.findings.conditions import has_words

BY_OWNER: Mapping[str, str] = {
    "your code": "code",
    "your data": "data",
    "your settings": "settings",
    "framework": "installation",
    "gpu-or-driver": "gpu",
    "fabric": "network",
    "host": "host",
    "storage": "storage",
    "scheduler": "scheduler",
}
"""Things to repair, by the owner of a failure."""
GOES_ON = frozenset({"job.preempted-again"})
"""Rules of jobs whose newest state says that they go on."""
SPECIAL = ("hung", "no-host", "most-hosts")
"""Reasons that change the texts of their decision."""


RENAMED = {"TORCH_FR_BUFFER_SIZE": ("2.9", "TORCH_NCCL_TRACE_BUFFER_SIZE")}
"""Settings of PyTorch with the version that brought their name, and the name before."""
OF_HOST = ("kernel", "dead")
"""Looks that a known host makes exact."""


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
    shown_by: str = ""
    """See `DecisionRow.shown_by`."""


def headline_of(choice: Choice, diagnosis: Diagnosis, words: Catalogue) -> str:
    """Return the decision in a few words, for example RESUBMIT WITH MORE MEMORY."""
    cause = diagnosis.causes[0]
    match choice.do:
        case "requeue-without-host":
            return words("head.requeue-without-host", hosts=words("joint").join(choice.hosts))
        case "requeue":
            step = restart_step(diagnosis)
            return words("head.requeue") if step is None else words("head.requeue.step", step=f"{step:,}")
        case "resubmit-with-changes":
            thing, settings = split_thing(choice.what)
            if settings and not thing:
                return words("head.change.setting", setting=" ".join(settings))
            return words(f"head.change.{thing}" if thing and is_shown(choice, cause) else "head.change")
        case "fix-first":
            thing = choice.what if is_shown(choice, cause) else ""
            what = thing or BY_OWNER.get(cause.owner.who, "")
            return words(f"head.fix.{what}" if what else "head.fix")
        case "do-nothing":
            return words("head.nothing" if goes_on(diagnosis) else "head.stopped")
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
        return words(f"decide.{goes_on(diagnosis) or 'stopped'}")
    if choice.do == "requeue" and step is not None:
        return words("decide.requeue.step", step=f"{step:,}")
    return words(f"decide.{choice.do}", hosts=hosts)


def because_of(choice: Choice, cause: Cause, look: str, words: Catalogue) -> str:
    """Return the reason of the decision. ``look``: the sentence about the look that would decide."""
    if look and choice.why == "investigate":
        return look
    why = "goes-on" if cause.rule in GOES_ON and choice.why == "do-nothing" else choice.why
    reason = words(
        f"because.{why}",
        hosts=words("joint").join(choice.hosts),
        attempts=choice.attempts,
        said=choice.said,
        cause=cause.signature,
        before=_format_progress(choice.before, words),
        now=_format_progress(choice.now, words),
    )
    return words("space").join((reason, look)) if look and choice.why != "no-host" else reason


def look_of(choice: Choice, cause: Cause, words: Catalogue) -> str:
    """Return the one look that would decide, as a sentence."""
    if choice.do != "investigate" or not choice.what:
        return ""
    host = next(iter(cause.culprit.hosts), "") if len(cause.culprit.hosts) == 1 else ""
    key = f"{choice.what}.host" if host and choice.what in OF_HOST else choice.what
    return words(f"look.at.{key}", host=host)


def changes_of(choice: Choice, torch: Callable[[], str]) -> tuple[Change, ...]:
    """Return the settings to change, if the table of decisions names their values, by the names of this PyTorch."""
    settings = split_thing(choice.what)[1] if choice.do == "resubmit-with-changes" else ()
    parts = (setting.partition("=") for setting in settings)
    return tuple(Change(_name_in(torch, name), "", value) for name, _, value in parts)


def _name_in(torch: Callable[[], str], setting: str) -> str:
    since, before = RENAMED.get(setting, ("", ""))
    version = torch() if before else ""
    return before if is_version(version) and not is_between(version, since, "") else setting


def older_names(changes: Sequence[Change], torch: Callable[[], str], words: Catalogue) -> str:
    """Return the older names of the settings, if the version of PyTorch is not known."""
    renamed = [(change.name, *RENAMED[change.name]) for change in changes if change.name in RENAMED]
    told = (words("restart.before", name=name, version=since, old=old) for name, since, old in renamed)
    return "" if renamed and torch() else "".join(told)


def is_shown(choice: Choice, cause: Cause) -> bool:
    """Return whether the proof, its facts or the words about it show the thing that a headline names."""
    facts = (f"{fact.of} {fact.said}" for fact in cause.facts)
    proof = (evidence.line.text for evidence in cause.evidence)
    return any(has_words(choice.shown_by, text) for text in (cause.title, cause.summary, *proof, *facts))


def restart_step(diagnosis: Diagnosis) -> int | None:
    """Return the step of the last checkpoint, if the log tells it."""
    checkpoint = diagnosis.job.last_checkpoint
    return checkpoint.step if checkpoint else None


def _find_host(cause: Cause, words: Catalogue) -> str:
    ranks = cause.culprit.ranks
    return words("head.find-host.rank", rank=ranks[0]) if len(ranks) == 1 else words("head.find-host")


def goes_on(diagnosis: Diagnosis) -> str:
    """Return ``goes-on`` if the scheduler has started the job again, ``requeued`` if it has put it into its queue."""
    cause = diagnosis.causes[0]
    if cause.rule in GOES_ON:
        return "goes-on"
    reason = str(dict(cause.values).get("reason"))
    states = (str(fact.value) for fact in cause.facts if (fact.type, fact.role) == ("state", "state"))
    is_requeued = "requeue" in reason.casefold() or any(state.casefold() == "requeued" for state in states)
    return "requeued" if is_requeued else ""


def _format_progress(progress: Progress | None, words: Catalogue) -> str:
    if progress is None:
        return words("because.no-progress")
    epoch = f"epoch {progress.epoch} " if progress.epoch else ""
    return f"{epoch}{progress.unit} {progress.value}".strip()
