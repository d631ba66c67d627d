"""Rules with their symptoms, words and examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from logdoctor.model.claims import Claim
from logdoctor.model.log import Level, Scalar
from logdoctor.model.mechanism import Side, Who

Action = Literal["stop", "retry", "exclude", "none"]
"""Advice for the job: fix first, start again as is, drain the named part and start again, nothing."""

Do = Literal["requeue", "requeue-without-host", "resubmit-with-changes", "fix-first", "do-nothing", "investigate"]
"""The decision after a failure, see `Decision.do`."""

Strength = Literal["proof", "strong", "likely", "hint"]

Role = Literal["cause", "symptom", "fallback", "benign"]


class Symptom(Struct, frozen=True):
    """Conditions on one record; all conditions that are not None or empty must hold."""

    name: str
    text: str | None = None
    """Regular expression, searched in `Record.text`."""
    kind: str | None = None
    """Glob pattern."""
    format: str | None = None
    """Glob pattern."""
    level: tuple[Level, ...] = ()
    fields: tuple[tuple[str, tuple[Scalar, ...] | str], ...] = ()
    """For each field a regular expression that matches its whole value, or a list of values."""


class DecisionRow(Struct, frozen=True):
    """A row of decisions.tsv: what to do if the condition ``when`` holds.

    ``when`` is "" (always), or conditions joined by ``&``: ``checkpoint``, ``progress``, ``one-host``,
    ``one-host-of-many``, ``NAME``, ``NAME=VALUE,...``.
    """

    when: str
    do: Do
    what: str = ""
    """The thing to change or to repair: ``memory`` for RESUBMIT WITH MORE MEMORY, a setting ``NAME=VALUE``, or both
    (``recorder:NAME=VALUE,...``). Of ``investigate`` the look that would decide."""
    shown_by: str = ""
    """Regular expression: a headline names the thing only if the proof, its facts or the words about it hold it."""


MEASURED = tuple(
    "exit_code signal exception pid xid limit rss wanted free reason status errno towards resume_off stands".split()
)
"""Values of a finding that are facts of the failure."""
ONCE = ("recorder", "checks", "store-log", "nccl-log", "blocking")
"""Things that only make the next failure tell more. To start again with them is worth one attempt."""
LOOKS = tuple(
    "counters dead driver dumps evicted first-error head heap host kernel node other-ranks peer peer-stack previous"
    " sender server stack stacks store values".split()
)
"""Looks that would decide what to do."""


def split_thing(what: str) -> tuple[str, tuple[str, ...]]:
    """Return the thing of a row, and its settings. A setting alone has no thing."""
    thing, colon, settings = what.partition(":")
    if not colon and "=" in what:
        thing, settings = "", what
    return thing, tuple(settings.split(",")) if settings else ()


class PackageRow(Struct, frozen=True):
    """A row of packages.tsv: a package of which defects are known."""

    package: str
    name: str
    """The name for a person."""
    spelling: str
    """Regular expression for the name in logs, for example ``(?:py)?torch``."""


class DefectRow(Struct, frozen=True):
    """A row of defects.tsv: a defect of some versions of a package, and how it shows."""

    package: str
    first: str
    """The first version with the defect, or "" for all before."""
    last: str
    """The last version with the defect."""
    signature: str
    when: str
    """The conditions by which it shows, as in `DecisionRow`."""
    mended: str
    """The first version without it, or ""."""
    way_round: str
    """A way to do without another version, or ""."""
    defect: str
    source: str


class Defects(Struct, frozen=True):
    """Known defects, and the packages that have them."""

    rows: tuple[DefectRow, ...] = ()
    packages: tuple[PackageRow, ...] = ()
    words: tuple[tuple[str, Mapping[str, str]], ...] = ()
    """The sentences in other languages, by language and English sentence."""

    def name(self, package: str) -> str:
        return next((row.name for row in self.packages if row.package == package), package)

    def say(self, sentence: str, lang: str) -> str:
        return dict(self.words).get(lang, {}).get(sentence, sentence)


class OwnerRow(Struct, frozen=True):
    """A row of owners.tsv: who has to change something if the condition ``when`` holds.

    ``when`` is "" (always), ``NAME`` (the cause has this measured value) or ``NAME=VALUE,...``.
    """

    when: str
    who: Who | Literal["frames"]
    """``frames``: the owner is found in the codes and frames of the failure."""


class Example(Struct, frozen=True):
    """A log that a rule must diagnose, or must not diagnose."""

    log: str
    truth: str
    """The signature of the right answer, which is another signature for a log that the rule must not diagnose."""
    because: str = ""
    finds: tuple[tuple[str, Scalar], ...] = ()
    line: int = 0


class Because(Struct, frozen=True):
    """A signature that a rule brings about though the failure classes do not say so, with the reason."""

    of: str
    reason: str


Forms = tuple[str, ...]
"""Forms of one sentence, the fullest first. The first form whose slots are all known is told."""


class Confirmed(Struct, frozen=True):
    """The ends of public threads, or the manuals, that show that a step mends the failure."""

    threads: int = 0
    """Number of threads in which it was the mend."""
    see: tuple[str, ...] = ()
    """Two or three of them as ``owner/repo#number``, or the page of a manual."""
    last: int = 0
    """The year of the last one."""


class NoHelp(Struct, frozen=True):
    """Advice that threads showed to be useless or harmful. The steps of the rule must not give it."""

    text: str
    """Regular expression for the text of a step and its commands."""
    because: str
    see: tuple[str, ...] = ()


class StepWords(Struct, frozen=True):
    """A step of a remedy."""

    do: Forms
    run: tuple[str, ...] = ()
    """Commands with slots. A command is told if all its slots are known."""
    when: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The jobs that the step fits, for example ``(("scheduler", ("slurm",)), ("knows", ("host",)))``."""
    first: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The jobs in which the step stands first, in the same form."""
    confirmed: Confirmed = Confirmed()
    silences: bool = False
    """After the step, lines that did no harm are printed no more."""


class Words(Struct, frozen=True):
    """Texts for a person, in one language.

    The finding fills in the slots: ``{name}``, and ``{name? words with {name}}``, which is left out if the name is
    unknown.
    """

    title: Forms
    cause: Forms
    remedy: tuple[StepWords, ...]

    @property
    def texts(self) -> tuple[Forms, ...]:
        """Return title, cause and the steps, without commands."""
        return (self.title, self.cause, *(step.do for step in self.remedy))


InLanguages = tuple[tuple[str, Words], ...]


def pack_words(words: InLanguages) -> bytes:
    """Return ``words`` in the form of `Rule.packed_words`."""
    return msgspec.msgpack.encode(words)


class Rule(Struct, frozen=True):
    """A failure signature with its symptoms and conditions.  See docs/rules.md for every key."""

    id: str
    """The path below the rules folder: ``net/ib-completion`` becomes ``net.ib-completion``."""
    signature: str
    """The signature in the report.  Only variants have a signature that differs from ``id``."""
    action: Action
    role: Role
    strength: Strength
    packed_words: bytes
    symptoms: tuple[Symptom, ...]
    when: Mapping[str, Any]
    """The table of conditions as loaded."""
    culprit: Mapping[str, str] = field(default_factory=dict)
    """The field that names ``ranks``, ``hosts``, ``gpus``, ``peers`` of the culprit, or ``nobody``.

    Without a field, ranks and hosts follow from the failure class.
    """
    failure_class: str = ""
    """Its own failure class, or that of its signature."""
    side: Side = "own"
    """Side of that class: it took place inside the guilty one, or others saw it."""
    place: str = "process"
    """Scope of that class: the process, host, device, group or job that the failure is of."""
    because: tuple[Because, ...] = ()
    claims: tuple[Claim, ...] = ()
    """Claims that must be true beside those of its failure class."""
    references: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    near_misses: tuple[Example, ...] = ()
    path: str = ""
    evidence: str = ""
    """The program, file and version that print the lines, if no case of the corpus shows them."""
    decisions: tuple[DecisionRow, ...] = ()
    """The decisions for a failure of this kind. The first whose condition holds counts.

    They are the one that the rule file names, else those of decisions.tsv.
    """
    owners: tuple[OwnerRow, ...] = ()
    """The owners of a failure of this kind, from owners.tsv, then those of the failure class.

    The first whose condition holds counts.
    """
    reason: str = "own"
    """``above``: its lines tell that something ended or did not start, and the reason stands in a plain line above."""
    outlived: str = "by progress"
    """Evidence after the finding that shows that it was no failure.

    ``by progress``: steps or a good end.  ``by a good end``: only a good end, because the failure ended the job and
    steps below it in the log were printed before.  ``never``: the work that continues is wrong.
    """
    no_help: tuple[NoHelp, ...] = ()
    guards: Mapping[str, str] = field(default_factory=dict)
    """Regular expressions for the whole values of slots. Another value is not told."""

    @property
    def words(self) -> InLanguages:
        """Return the texts by language.

        They are unpacked on demand, because a report needs the texts of few of the rules.
        """
        return msgspec.msgpack.decode(self.packed_words, type=InLanguages)

    def say(self, lang: str) -> Words:
        """Return the words in ``lang``, or in English if there are none.

        Commands and conditions of the steps are those of the English words.
        """
        table = dict(self.words)
        english, words = table["en"], table.get(lang)
        if words is None or len(words.remedy) != len(english.remedy):
            return words or english
        steps = zip(words.remedy, english.remedy, strict=True)
        return Words(words.title, words.cause, tuple(replace(step, do=own.do) for own, step in steps))
