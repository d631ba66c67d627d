"""What comes out: findings, causes, the picture of the job, and the diagnosis that holds them all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from logdoctor.model.errors import Problem
from logdoctor.model.log import Event, Line, Moment, Value
from logdoctor.model.rule import Action, Rule

SCHEMA = "logdoctor.diagnosis/1"

Verdict = Literal["failure", "unknown", "healthy"]

Part = Literal["culprit", "victim", "failed", "bystander", "silent", "missing"]
"""What a rank has to do with the failure.

``culprit``: the answer names it or its host; ``victim``: it reports a failure and the answer names others; ``failed``:
it reports a failure and nobody is named; ``bystander``: it reports none; ``silent``: it says nothing after the failure
began, or never did, where its neighbours are heard; ``missing``: nothing in these logs is of it.
"""


class Culprit(Struct, frozen=True):
    """Who did it, as far as the log says: global ranks, hosts, GPUs (bus id or host:ordinal), peer addresses."""

    ranks: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()


class Evidence(Struct, frozen=True):
    """One line that proves something; ``why`` says in a few words what it shows, where that isn't plain.

    ``around`` are the lines above and below it and itself, where they were asked for and could be read again.
    """

    line: Line
    rank: int | None = None
    host: str | None = None
    time: float | None = None
    why: str = ""
    around: tuple[Line, ...] = ()


class Finding(Struct, frozen=True):
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


class Cause(Struct, frozen=True):
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


class SymptomSeen(Struct, frozen=True):
    """A failure signature that was seen and is not the cause; ``count`` lines on ``ranks``."""

    signature: str
    title: str
    explained_by: str | None
    ranks: tuple[int, ...]
    count: int
    evidence: tuple[Evidence, ...]


class Progress(Struct, frozen=True):
    """The last sign of progress: what was counted (step, epoch, iteration ...), how far, when, where.

    ``epoch`` is the one that the same line names ("": none): steps may be counted anew in each.
    """

    unit: str
    value: str
    evidence: Evidence
    epoch: str = ""


class RankRow(Struct, frozen=True):
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
    progressed: Moment | None = None
    """Where it said ``last_progress``."""
    heard: Moment | None = None
    """Where it was heard last."""


class Standing(Struct, frozen=True):
    """Where a rank stood in the numbered collectives of one process group when the job failed.

    ``waits``: the number of the collective in which it waited, of the operation ``op``; ``started`` and ``completed``:
    the last numbers that it had enqueued and that were done (-1: none).  None where the log does not say.
    """

    group: str
    rank: int
    waits: int | None = None
    op: str = ""
    started: int | None = None
    completed: int | None = None
    at: Moment | None = None


class ProcessGroup(Struct, frozen=True):
    """A communicator or process group: its name as printed, its size where told, the global ranks known to be in it."""

    name: str
    size: int | None
    ranks: tuple[int, ...]


class HostClock(Struct, frozen=True):
    """By how many seconds the clock of ``host`` is ahead of that of the host ``of`` (negative: behind).

    ``events`` is how many events tell that happened on both at once.
    """

    host: str
    of: str
    ahead: float
    events: int


class JobPicture(Struct, frozen=True):
    """What was learnt of the job from its logs."""

    ranks_expected: int | None = None
    ranks_seen: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    launcher: str | None = None
    first_failure: Evidence | None = None
    first_death: Evidence | None = None
    """The process that ended before all others, and why: how it ended; None where the logs do not tell the order."""
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
    environment: tuple[tuple[str, str], ...] = ()
    """Settings of the environment that the job's libraries said they use, by name."""
    standings: tuple[Standing, ...] = ()
    """Where each rank stood in the collectives, by group and rank; empty where no log tells."""
    clocks: tuple[HostClock, ...] = ()
    """Hosts whose clocks differ from one of them by seconds or more."""
    started: float | None = None
    ended: float | None = None
    """The earliest and the latest time that the job's own lines print; stamps without a year count as of 1970."""


class Run(Struct, frozen=True):
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
    culprit: Culprit = Culprit()
    last_progress: Progress | None = None


class Coverage(Struct, frozen=True):
    """How much was read."""

    files: int = 0
    bytes: int = 0
    lines: int = 0
    events: int = 0


class MadeBy(Struct, frozen=True):
    """What made a diagnosis: the version of the program, how many rules it had, and a digest of what they say."""

    version: str = ""
    rules: int = 0
    digest: str = ""


class Novel(Struct, frozen=True):
    """A template of lines that the job never printed while all was well: how many there are, and the first of them."""

    template: str
    count: int
    evidence: Evidence


class Decision(Struct, frozen=True):
    """Whether to start the job again, its attempts so far considered: ``exclude`` means to take out ``hosts`` first.

    ``none``: nothing has to be done, or nothing is known that speaks for or against it.  ``attempts``: it rests on so
    many of them; where that is one, it is what the cause asks for.
    """

    action: Action = "none"
    hosts: tuple[str, ...] = ()
    reason: str = ""
    attempts: int = 1


class Diagnosis(Struct, frozen=True):
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
    made_by: MadeBy = MadeBy()
    novel: tuple[Novel, ...] = ()
    """Where no rule knows the answer: what is new in this log, the most telling first."""
    decision: Decision = Decision()

    def to_dict(self) -> dict[str, Any]:
        """The diagnosis as plain data in the shape of the JSON contract ``logdoctor.diagnosis/1``."""
        from logdoctor.model.json_form import diagnosis_to_dict

        return diagnosis_to_dict(self)
