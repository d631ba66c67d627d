"""Findings, causes, what is known of the job, and the diagnosis that holds them.

The docstring below a field also describes that field in the JSON schema (`logdoctor.model.json_schema`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct, field

from logdoctor.model.coverage import Coverage
from logdoctor.model.errors import Problem
from logdoctor.model.log import Count, Line, Moment, Number, Rank, Record, Value
from logdoctor.model.rule import Action, Rule

SCHEMA = "logdoctor.diagnosis/1"

Verdict = Literal["failure", "unknown", "healthy"]

Part = Literal["culprit", "victim", "failed", "bystander", "silent", "missing"]
"""Part that a rank has in the failure, see `RankRow.role`."""


class Culprit(Struct, frozen=True):
    """Ranks and machines that caused the failure; empty where the log does not say."""

    ranks: tuple[Rank, ...] = ()
    hosts: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    """GPUs by bus id or as host:ordinal."""
    peers: tuple[str, ...] = ()
    """Addresses, as ip:port or host."""


class Evidence(Struct, frozen=True):
    """A log line that proves something."""

    line: Line
    rank: Rank | None = None
    host: str | None = None
    time: float | None = None
    why: str = ""
    """The fact that the line shows, where the line is not plain."""
    around: tuple[Line, ...] = ()
    """The line with the lines above and below, if they were asked for and could be read again."""


class Finding(Struct, frozen=True):
    """A rule that holds, with the records that it matched."""

    rule: Rule
    records: tuple[Record, ...]
    """Some of the matched records, the decisive one first."""
    values: Mapping[str, Value]
    culprit: Culprit
    ranks: tuple[int, ...]
    first: int
    """`Record.order` of the first matched record."""
    last: int
    """`Record.order` of the last matched record."""
    count: int
    """Number of all matched records."""
    latest: Record
    """The last matched record."""
    match_length: int = 0
    """Number of characters that the symptom matched in the text of the decisive record."""


class Cause(Struct, frozen=True):
    """An answer: a signature, its culprit, its proof, and what to do."""

    signature: str
    title: str
    summary: str
    """One sentence with the ranks, hosts and numbers of this job."""
    confidence: Annotated[float, Meta(ge=0, le=1)]
    """Calibrated: of the answers given with 0.8, about 80 % are right."""
    by: Literal["rule", "classifier"]
    culprit: Culprit
    action: Action
    """stop: fix something first; retry: start again, the failure is transient; exclude: drain the named part, then
    start again; none: nothing has to be done."""
    remedy: tuple[str, ...]
    """Steps to take, in order."""
    references: tuple[str, ...]
    """Pages to read more."""
    evidence: tuple[Evidence, ...]
    """The lines that prove the cause, the decisive one first."""
    explains: tuple[str, ...]
    """Signatures of the symptoms that follow from this cause."""
    rule: str = ""
    """The id of the rule that holds."""


class SymptomSeen(Struct, frozen=True):
    """A failure signature that was seen and is not the cause."""

    signature: str
    title: str
    explained_by: str | None
    """The signature of the cause that it follows from."""
    ranks: tuple[Rank, ...]
    count: Count
    """Number of lines."""
    evidence: tuple[Evidence, ...]


class Progress(Struct, frozen=True):
    """The last sign of progress."""

    unit: str
    """The unit that the job counts, for example step, epoch, iteration."""
    value: str
    evidence: Evidence
    epoch: str = ""
    """The epoch that the same line names, because steps may be counted anew in each epoch."""


class RankRow(Struct, frozen=True):
    """A rank: its place, its progress, and its part in the failure."""

    rank: Rank
    role: Part
    """culprit: the answer names the rank or its host; victim: the rank reports a failure and the answer names others;
    failed: the rank reports a failure and the answer names no rank; bystander: the rank reports no failure; silent: the
    rank printed nothing after the failure began, or nothing at all, while its neighbours did; missing: no line in these
    logs is of the rank."""
    host: str | None = None
    local_rank: Count | None = None
    pid: Count | None = None
    gpu: Count | None = None
    """The ordinal that CUDA counts inside the process."""
    bus_id: str | None = None
    last_progress: str = ""
    failure: str = ""
    """The signature of the first failure."""
    first_failure: Evidence | None = None
    waits_for: str = ""
    """The collective in which the rank waited: operation and number."""
    never_started: str = ""
    """The collective in which other ranks waited for this rank."""
    busy_with: str = ""
    """The work of this rank while other ranks waited for it."""
    progressed: Moment | None = None
    """The place of last_progress."""
    heard: Moment | None = None
    """The place of the last line of the rank."""


class CollectiveState(Struct, frozen=True):
    """Position of a rank in the collectives of a process group.

    The position is that at the failure.  A number is None where the log does not say.
    """

    group: str
    rank: Rank
    waits: int | None = None
    """The number of the collective in which the rank waited."""
    op: str = ""
    """The operation of that collective."""
    started: int | None = None
    """The last number that the rank had enqueued; -1: none."""
    completed: int | None = None
    """The last number that was done; -1: none."""
    at: Moment | None = None
    """The place of the line that says so."""


class ProcessGroup(Struct, frozen=True):
    """A communicator or process group."""

    name: str
    """The name as printed."""
    size: Count | None
    ranks: tuple[Rank, ...]
    """The global ranks that are known to be members."""


class HostClock(Struct, frozen=True):
    """Difference between the clocks of two hosts."""

    host: str
    of: str
    """The host that the clock is compared with."""
    ahead: float = field(name="ahead_s")
    """Seconds by which the clock of host is ahead of the clock of the host in of; negative: behind."""
    records: Annotated[int, Meta(ge=2)] = field(name="events")
    """Number of events that happened on both hosts at once and show the difference."""


class JobSummary(Struct, frozen=True):
    """The state of the job, read from its logs."""

    ranks_expected: Count | None = None
    ranks_seen: tuple[Rank, ...] = ()
    hosts: tuple[str, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    """Versions by product."""
    launcher: str | None = None
    first_failure: Evidence | None = None
    first_death: Evidence | None = None
    """The process that ended before all others, and how it ended; null where the logs do not tell the order."""
    last_progress: Progress | None = None
    attempts: Count = 1
    """Number of attempts in the log."""
    truncated: bool = False
    started: float | None = None
    """The earliest time that the job's own lines print; a time without a year counts as of 1970."""
    ended: float | None = None
    """The latest time that the job's own lines print."""
    nodes: Count | None = None
    """Number of nodes as NCCL counts them in the widest communicator."""
    ranks_per_node: Count | None = None
    groups: tuple[ProcessGroup, ...] = ()
    """Communicators and process groups of which at least two members are known."""
    versions_apart: tuple[tuple[str, str, tuple[Rank, ...]], ...] = ()
    """Products of which ranks run different versions, with version and ranks."""
    rank_table: tuple[RankRow, ...] = ()
    """Every rank of a job that failed; empty where nothing tells the ranks apart."""
    environment: tuple[tuple[str, str], ...] = ()
    """Environment settings that the job's libraries report, by name; a name may come with several values."""
    standings: tuple[CollectiveState, ...] = ()
    """Positions of the ranks in the collectives, by group and rank; empty where no log tells."""
    clocks: tuple[HostClock, ...] = ()
    """Hosts whose clock differs from the clock of another host by seconds or more."""


class Run(Struct, frozen=True):
    """One of several jobs or attempts in a log."""

    kind: Literal["job", "attempt"]
    """attempt: continues the job of the run before; job: stands for itself."""
    verdict: Verdict
    signature: str | None
    title: str
    file: str
    first_line: Number
    """The first line of the run."""
    last_line: int | None
    """The last line of the run; null: the last line of the file."""
    told: bool
    """True if the causes are those of this run. If no run is marked, they are those of all runs together."""
    evidence: tuple[Evidence, ...] = ()
    """The line that proves the verdict."""
    culprit: Culprit = Culprit()
    last_progress: Progress | None = None


class MadeBy(Struct, frozen=True):
    """Version of logdoctor and rules that made a diagnosis."""

    version: str = ""
    rules: Count = 0
    """Number of rules."""
    digest: str = field(default="", name="rules_digest")
    """Digest of the content of the rules."""


class Novel(Struct, frozen=True):
    """A template of lines that the job never printed while all was well."""

    template: str
    count: Number
    """Number of lines."""
    evidence: Evidence
    """The first of these lines."""


class Decision(Struct, frozen=True):
    """Advice whether to start the job again, with its earlier attempts considered."""

    action: Action = "none"
    """none: nothing has to be done, or nothing speaks for or against another attempt."""
    hosts: tuple[str, ...] = ()
    """The hosts to take out first, for exclude."""
    reason: str = ""
    attempts: int = 1
    """Number of attempts that the decision rests on; 1: the decision is what the cause asks for."""


class Diagnosis(Struct, frozen=True):
    """The answer for one job."""

    schema: ClassVar[str] = SCHEMA

    job: str
    """The name of the job."""
    verdict: Verdict
    """failure: a cause is named; unknown: something failed and the log does not hold the cause; healthy: nothing in the
    log is a failure."""
    causes: tuple[Cause, ...] = ()
    """Ranked, the answer first."""
    symptoms: tuple[SymptomSeen, ...] = ()
    """Failures that were seen and are not the cause."""
    unexplained: tuple[Evidence, ...] = ()
    """Lines that look like a failure and that no rule explains."""
    advice: tuple[str, ...] = ()
    """Data to collect next, if the verdict is unknown."""
    job_summary: JobSummary = JobSummary()
    coverage: Coverage = Coverage()
    problems: tuple[Problem, ...] = ()
    """Inputs that could not be read whole."""
    runs: tuple[Run, ...] = ()
    """All jobs and attempts of the log in its order, each with its own verdict; empty where there is only one."""
    made_by: MadeBy = MadeBy()
    novel: tuple[Novel, ...] = ()
    """New templates of lines, the most telling first, if no rule knows the answer. They were never printed while all
    was well, or by the good run that was given."""
    decision: Decision = Decision()

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as JSON-ready data of the schema ``logdoctor.diagnosis/1``."""
        from logdoctor.model.json_form import to_dict

        return to_dict(self)
