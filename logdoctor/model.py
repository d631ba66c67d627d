"""The nouns every room shares, and the errors a user sees.  Standard library only.

One direction: bytes -> `Line` -> `Event` -> `Finding` -> `Diagnosis` -> text.  Everything here is frozen, slotted and
picklable; what is not known is ``None`` or an empty tuple, never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Literal, Protocol

Level = Literal["fatal", "error", "warning", "info"]
"""How loud the program itself was: ``fatal`` it says that it ends, ``error`` it says that something failed."""

Action = Literal["stop", "retry", "exclude", "none"]
"""What to do with the job: fix first, start again as is, drain the named part and start again, nothing."""

Verdict = Literal["failure", "unknown", "healthy"]
Strength = Literal["proof", "strong", "likely", "hint"]
Role = Literal["cause", "symptom", "fallback", "benign"]
Part = Literal["culprit", "victim", "failed", "bystander", "silent", "missing"]
"""What a rank has to do with the failure.

``culprit``: the answer names it or its host; ``victim``: it reports a failure and the answer names others; ``failed``:
it reports a failure and nobody is named; ``bystander``: it reports none; ``silent``: it says nothing after the failure
began, or never did, where its neighbours are heard; ``missing``: nothing in these logs is of it.
"""
Value = str | int | float | tuple[int, ...] | tuple[str, ...]
"""What a field of an event holds."""

SCHEMA = "logdoctor.diagnosis/1"


# ── what goes in ────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Job:
    """One job to be diagnosed: a name and where its logs are.

    ``paths`` hold file names, folders, globs, archives, ``"-"`` for standard input, or open binary files.
    """

    name: str
    paths: tuple[str | IO[bytes], ...]


class Stream(Protocol):
    """One log of a job as plain bytes (already decompressed and in UTF-8), read once from start to end."""

    name: str
    """The name shown to the user: a path, ``archive.tar:member`` or ``<stdin>``."""

    def readinto(self, buffer: memoryview) -> int:
        """Fill ``buffer`` with the next bytes and return how many; 0 at the end.  Raises `InputError`."""
        ...


@dataclass(frozen=True, slots=True)
class Line:
    """A line as evidence: ``number`` is 1-based and counts newlines only, ``text`` is the line as printed."""

    file: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who printed a line, as far as wrappers and prefixes tell.

    ``time`` is in seconds since 1970 of the clock that printed it, zone unknown unless printed; ``tag`` is any other
    name of the process that the launcher printed (a pod, a Ray actor, a task label).
    """

    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    pid: int | None = None
    time: float | None = None
    level: Level | None = None
    source: str | None = None
    tag: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One recognised record of a log.

    ``text`` is the message without wrappers and prefixes (a multi-line record keeps its newlines), ``fields`` what the
    dialect cut out of it.  ``order`` is the position in reading order over the whole job.  A field named ``rank``,
    ``local_rank``, ``host`` or ``pid`` tells whom the record speaks ABOUT and wins over who printed it.
    """

    line: Line
    dialect: str
    kind: str
    text: str
    speaker: Speaker = Speaker()
    level: Level = "info"
    fields: Mapping[str, Value] = field(default_factory=dict)
    order: int = 0
    span: int = 1
    patterns: tuple[int, ...] = ()
    """Which patterns of the rulebook the scan saw in this record (numbers into `Knowledge.owners`)."""
    lines: tuple[Line, ...] = ()
    """All lines of a record of several lines: a rule's proof may be another one than ``line``."""

    @property
    def rank(self) -> int | None:
        """The global rank that the record is about, else the one that printed it."""
        value = self.fields.get("rank", self.speaker.rank)
        return value if isinstance(value, int) else None

    @property
    def host(self) -> str | None:
        """The host that the record is about, else the one that printed it."""
        value = self.fields.get("host", self.speaker.host)
        return value if isinstance(value, str) else None

    @property
    def pid(self) -> int | None:
        """The process that the record is about, else the one that printed it."""
        value = self.fields.get("pid", self.speaker.pid)
        return value if isinstance(value, int) else None

    @property
    def time(self) -> float | None:
        """When the record was printed, see `Speaker.time`."""
        return self.speaker.time


# ── what we know ────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Symptom:
    """What ONE event looks like: every condition given must hold.

    ``text`` is a regular expression searched in `Event.text`; ``kind`` and ``dialect`` are glob patterns; a field
    condition is a regular expression (full match) or a list of values.
    """

    name: str
    text: str | None = None
    kind: str | None = None
    dialect: str | None = None
    level: tuple[Level, ...] = ()
    fields: tuple[tuple[str, tuple[Value, ...] | str], ...] = ()


@dataclass(frozen=True, slots=True)
class Example:
    """A log that a rule must diagnose (``truth`` is its signature) or must not (``truth`` names what it is)."""

    log: str
    truth: str
    because: str = ""
    finds: tuple[tuple[str, Value], ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class Words:
    """What a person reads, in one language; ``{name}`` and ``{name|default}`` are filled in from the finding."""

    title: str
    cause: str
    remedy: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """One failure signature and how to know it.  See docs/rules.md for every key.

    ``id`` is the path below the rules folder (``net/ib-completion`` -> ``net.ib-completion``); ``signature`` is what is
    reported and differs from ``id`` for variants only.  ``when`` is the condition table as loaded.  ``culprit`` says
    which field names the guilty ``ranks``, ``hosts``, ``gpus``, ``peers`` (``speaker``: who printed the decisive line).
    """

    id: str
    signature: str
    action: Action
    role: Role
    strength: Strength
    words: tuple[tuple[str, Words], ...]
    symptoms: tuple[Symptom, ...]
    when: Mapping[str, Any]
    culprit: Mapping[str, str] = field(default_factory=dict)
    explains: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    near_misses: tuple[Example, ...] = ()
    path: str = ""

    def say(self, lang: str) -> Words:
        """The rule's words in ``lang``, else in English."""
        table = dict(self.words)
        return table.get(lang) or table["en"]


# ── what comes out ──────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Culprit:
    """Who did it, as far as the log says: global ranks, hosts, GPUs (bus id or host:ordinal), peer addresses."""

    ranks: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """One line that proves something; ``why`` says in a few words what it shows, where that isn't plain."""

    line: Line
    rank: int | None = None
    host: str | None = None
    time: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that held against events: which, on whom, since when, with which proof.

    ``first`` and ``last`` are `Event.order` of the first and last matched event, ``latest`` is the last one; ``events``
    the matched ones, the decisive one first (bounded); ``count`` how many matched in all; ``width`` how many characters
    of the decisive one's text the symptom matched.
    """

    rule: Rule
    events: tuple[Event, ...]
    bindings: Mapping[str, Value]
    culprit: Culprit
    ranks: tuple[int, ...]
    first: int
    last: int
    count: int
    latest: Event
    width: int = 0


@dataclass(frozen=True, slots=True)
class Cause:
    """One answer: the signature, how sure, who, what to do, with which proof."""

    signature: str
    title: str
    summary: str
    confidence: float
    by: Literal["rule", "classifier"]
    culprit: Culprit
    action: Action
    remedy: tuple[str, ...]
    references: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    explains: tuple[str, ...]
    rule: str = ""


@dataclass(frozen=True, slots=True)
class SymptomSeen:
    """A failure signature that was seen and is not the cause; ``count`` lines on ``ranks``."""

    signature: str
    title: str
    explained_by: str | None
    ranks: tuple[int, ...]
    count: int
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """The last sign of progress: what was counted (step, epoch, iteration ...), how far, when, where."""

    unit: str
    value: str
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class RankRow:
    """What is known of one rank: where it runs, how far it got, its first failure, and what it has to do with it all.

    ``gpu`` is the ordinal that CUDA counts inside the process; ``failure`` is the signature of the first failure ("":
    no rule knows it); ``waits_for`` is the collective in which it waited then, ``never_started`` the one in which
    others waited for it.
    """

    rank: int
    role: Part
    host: str | None = None
    local_rank: int | None = None
    pid: int | None = None
    gpu: int | None = None
    bus_id: str | None = None
    last_progress: str = ""
    failure: str = ""
    first_failure: Evidence | None = None
    waits_for: str = ""
    never_started: str = ""
    busy_with: str = ""
    """The work that was under way while others waited for it."""


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """A communicator or process group: its name as printed, its size where told, the global ranks known to be in it."""

    name: str
    size: int | None
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JobPicture:
    """What was learnt of the job from its logs."""

    ranks_expected: int | None = None
    ranks_seen: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    launcher: str | None = None
    first_failure: Evidence | None = None
    last_progress: Progress | None = None
    attempts: int = 1
    truncated: bool = False
    rank_table: tuple[RankRow, ...] = ()
    """Every rank of a job that failed; empty where nothing tells the ranks apart."""
    groups: tuple[ProcessGroup, ...] = ()
    nodes: int | None = None
    ranks_per_node: int | None = None
    versions_apart: tuple[tuple[str, str, tuple[int, ...]], ...] = ()
    """Product, version, ranks: where ranks of one job run different versions."""


@dataclass(frozen=True, slots=True)
class Problem:
    """An input that could not be read whole: what happened, where, why, and what to do about it."""

    what: str
    where: str
    why: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """One of several jobs or attempts in one log, and its own verdict.

    ``kind``: an ``attempt`` goes on with the job of the run before, a ``job`` stands for itself.  It lies in ``file``
    from ``first_line`` to ``last_line`` (None: to the end).  ``told``: it is the one that the diagnosis tells of.
    """

    kind: Literal["job", "attempt"]
    verdict: Verdict
    signature: str | None
    title: str
    file: str
    first_line: int
    last_line: int | None
    told: bool
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much was read."""

    files: int = 0
    bytes: int = 0
    lines: int = 0
    events: int = 0


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The answer for one job.  ``advice`` is what to collect next; filled for ``unknown`` verdicts."""

    job: str
    verdict: Verdict
    causes: tuple[Cause, ...] = ()
    symptoms: tuple[SymptomSeen, ...] = ()
    unexplained: tuple[Evidence, ...] = ()
    advice: tuple[str, ...] = ()
    picture: JobPicture = JobPicture()
    coverage: Coverage = Coverage()
    problems: tuple[Problem, ...] = ()
    runs: tuple[Run, ...] = ()
    """All jobs and attempts of the log in its order; empty where there is only one."""

    def to_dict(self) -> dict[str, Any]:
        """The diagnosis as plain data in the shape of the JSON contract ``logdoctor.diagnosis/1``."""
        from logdoctor.contract import diagnosis_to_dict

        return diagnosis_to_dict(self)


# ── errors a user sees ──────────────────────────────────────────────────────────────────────────────────────────────


class LogdoctorError(Exception):
    """An error with its place and its cure: what happened, where (``file:line``), why, what to do."""

    def __init__(self, what: str, where: str = "", why: str = "", help: str = "") -> None:
        """Keep the four parts; ``str()`` joins those that are known."""
        super().__init__(what)
        self.what, self.where, self.why, self.help = what, where, why, help

    def __str__(self) -> str:
        """All parts that are known, one a line."""
        head = f"{self.where}: {self.what}" if self.where else self.what
        return "\n".join([head, *(f"  {k}: {v}" for k, v in (("why", self.why), ("help", self.help)) if v)])

    def as_problem(self) -> Problem:
        """The same as a row of a report."""
        return Problem(self.what, self.where, self.why, self.help)


class InputError(LogdoctorError):
    """An input could not be read (missing, broken archive, over a bound)."""


class RuleError(LogdoctorError):
    """One fault of a rule file."""


class RulesError(Exception):
    """One or more rule files are wrong; ``errors`` has each fault."""

    def __init__(self, errors: Sequence[RuleError]) -> None:
        """Keep the faults in the order of files and lines."""
        super().__init__("\n".join(str(e) for e in errors))
        self.errors = tuple(errors)


Following = Callable[[], Iterator[bytes]]
"""Gives the raw lines after a candidate line, for records of several lines (bounded by who reads them)."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A raw line that the scan picked: the bytes without its newline (cut if huge), its number, which patterns hit."""

    raw: bytes
    number: int
    patterns: tuple[int, ...]
    following: Following
