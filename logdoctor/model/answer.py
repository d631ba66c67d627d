"""Findings, causes, what is known of the job, and the diagnosis that holds them.

The docstring below a field also describes that field in the JSON schema (`logdoctor.model.json_schema`).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct, field

from logdoctor.model.claims import ClaimName
from logdoctor.model.coverage import Coverage
from logdoctor.model.errors import Problem
from logdoctor.model.facts import Fact
from logdoctor.model.log import NO_SPAN, Count, Line, Moment, Number, Rank, Record, Scalar, Span, Value
from logdoctor.model.mechanism import Who
from logdoctor.model.rule import Action, Do, Rule

SCHEMA = "logdoctor.diagnosis/2"

Verdict = Literal["failed", "stopped", "unknown", "finished", "no-end-seen", "nothing-to-judge"]
WITH_CAUSE: tuple[Verdict, ...] = ("failed", "stopped")
"""Verdicts that name a cause."""
CALM: tuple[Verdict, ...] = ("finished", "no-end-seen", "nothing-to-judge")
"""Verdicts without a failure."""

INDEPENDENT = 0.5
"""A further cause with this confidence is a fault of its own."""

Scope = Literal["one", "some", "all", "nobody", "not-told"]
Ground = Literal[
    "", "ordered", "all-alike", "named", "other-side", "first-end", "odd-one-out", "own-mouth", "only-reports"
]
"""The ground on which somebody is named, or the reason why nobody is."""
GROUNDS: tuple[Ground, ...] = (
    "ordered",
    "all-alike",
    "named",
    "other-side",
    "first-end",
    "odd-one-out",
    "own-mouth",
)
"""Grounds in the order in which they are asked. The first that names somebody counts."""

Part = Literal["culprit", "victim", "failed", "bystander", "silent", "missing"]
"""Part that a rank has in the failure, see `RankRow.role`."""


class FirstMover(Struct, frozen=True):
    """The process that was the first to fail."""

    rank: Rank | None = None
    """The rank that it has; null if the log does not tell."""
    host: str | None = None
    """The host on which it ran."""
    gpu: str | None = None
    """The GPU that it used."""
    pid: Count | None = None
    """The process id."""
    by: Literal["number", "clock", "order", "not-told"] = "not-told"
    """The proof of the order: the number of a collective, the clock, or the order of the lines in one file."""
    lead_s: float | None = None
    """Seconds until the next process failed."""


class Reporters(Struct, frozen=True):
    """Ranks that report the failure and did not cause it."""

    ranks: tuple[Rank, ...] = ()
    """These ranks."""
    count: Count = 0
    """Number of these ranks."""


class Location(Struct, frozen=True):
    """Ranks and machines where the failure was seen. Nobody is blamed by it."""

    ranks: tuple[Rank, ...] = ()
    """Global ranks."""
    hosts: tuple[str, ...] = ()
    """Hosts, by their short names."""
    gpus: tuple[str, ...] = ()
    """GPUs by bus id or as host:ordinal."""
    peers: tuple[str, ...] = ()
    """Addresses, as ip:port or host."""
    local_ranks: tuple[Rank, ...] = ()
    """Ranks as counted on their own host."""
    pids: tuple[Count, ...] = ()
    """Process ids."""


class Culprit(Location, frozen=True):
    """Ranks and machines that caused the failure; empty where the log does not say."""

    scope: Scope = "not-told"
    """one process or machine, some, all, nobody (an order from outside), or not told by the log."""
    first: FirstMover | None = None
    """The process that failed first; null if fewer than two processes tell of the failure."""
    reporters: Reporters = Reporters()
    """Ranks that report the failure and did not cause it."""
    why: Ground = ""
    """The ground on which somebody is named: own-mouth: the failure took place in the process that tells it; named: a
    line names it; first-end: it ended before all others; odd-one-out: it differs from the others; other-side: several
    lines name it as the other end of a connection. Or the reason why nobody is: ordered, all-alike, only-reports, or
    empty."""
    probably: bool = False
    """True if a name is only likely to be of the process."""


class Owner(Struct, frozen=True):
    """Person or part that has to change something."""

    who: Who = "not-told"
    """The owner."""
    frame: str = ""
    """The frame of the user's own code, as file:line."""
    code: str = ""
    """The source line of that frame."""
    package: str = ""
    """The library in which the failure was raised."""
    why: str = ""
    """The reason for this owner, as a sentence; empty if nobody is told."""


class Evidence(Struct, frozen=True):
    """A log line that proves something."""

    line: Line
    rank: Rank | None = None
    """The rank that the line is about, else the rank that printed it; null if not known."""
    host: str | None = None
    """The host that the line is about, else the host that printed it; null if not known."""
    time: float | None = None
    """The time that the line prints."""
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
    spans: tuple[Span, ...] = ()
    """Parts of the texts of ``records`` that their symptoms matched."""
    speakers: tuple[int, ...] = ()
    """Ranks whose own lines report the failure; a launcher's word of their end does not count."""
    place: Location = Location()
    """Ranks and hosts where the failure was seen, whoever is to blame."""

    @property
    def match_length(self) -> int:
        """Number of characters that the symptom matched in the text of the decisive record."""
        start, end = self.spans[0] if self.spans else NO_SPAN
        return end - start


class Check(Struct, frozen=True):
    """A claim of an answer, checked against the log."""

    claim: ClaimName
    """The claim, for example first: no other process failed before."""
    holds: Literal["confirmed", "not-shown", "contradicted"] = field(name="is")
    """confirmed or contradicted by a line, or not shown by the log."""
    evidence: tuple[Evidence, ...] = ()
    """The lines that decide it."""


class Step(Struct, frozen=True):
    """A thing to do."""

    text: str
    """One or two sentences."""
    commands: tuple[str, ...] = ()
    """Commands that can be copied as they stand."""
    confirmed: Count = 0
    """Number of public threads that ended well by this step."""


class Defect(Struct, frozen=True):
    """A known defect of a package, in the version that the job uses."""

    package: str
    """The name of the package."""
    version: str
    """The version that the log tells."""
    line: Line
    """The line that tells it."""
    first: str
    """The first version with the defect; empty if all before have it."""
    last: str
    """The last version with the defect."""
    mended: str
    """The first version without it; empty if none is known."""
    defect: str
    """The defect as a sentence."""
    way_round: str
    """A way to do without another version; empty if none is known."""
    source: str
    """The release notes or the issue that tell of it."""


class Cause(Struct, frozen=True):
    """An answer: a signature, its culprit, its proof, and what to do."""

    signature: str
    """The kind of failure: an id of signatures.tsv, or of a rule of your own."""
    title: str
    """The failure in a few words, with the names and numbers of this job."""
    summary: str
    """One sentence with the ranks, hosts and numbers of this job."""
    confidence: Annotated[float, Meta(ge=0, le=1)]
    """Calibrated: of the answers given with 0.8, about 80 % are right."""
    by: Literal["rule", "classifier"]
    """A rule holds, or the classifier guesses."""
    culprit: Culprit
    """Ranks and machines that caused the failure."""
    action: Action
    """The class of the signature: stop, retry, exclude or none. Programs read decision.do."""
    steps: tuple[Step, ...]
    """Things to do, in order."""
    references: tuple[str, ...]
    """Pages to read more."""
    evidence: tuple[Evidence, ...]
    """The lines that prove the cause, the decisive one first."""
    explains: tuple[str, ...]
    """Signatures of the symptoms that follow from this cause."""
    rule: str = ""
    """The id of the rule that holds."""
    rule_origin: str = ""
    """The file of the rule, if it is not shipped."""
    owner: Owner = Owner()
    """Person or part that has to change something."""
    values: tuple[tuple[str, Scalar], ...] = ()
    """Measured facts by name, for example exit_code."""
    checked: tuple[Check, ...] = ()
    """Claims of this answer, checked against the log."""
    facts: tuple[Fact, ...] = ()
    """Typed values that the proof, its block and lines joined to it tell."""
    place: Location = Location()
    """Ranks and machines where the failure was seen, whether they caused it or not."""
    victims: Count = 0
    """Number of ranks that report a consequence of this cause, and neither are culprits nor report the same failure."""
    defects: tuple[Defect, ...] = ()
    """Known defects that show in this way, of packages whose version the log tells."""


class Suspect(Struct, frozen=True):
    """A process that stands apart from the others, while no cause is known."""

    rank: Rank | None = None
    """The rank."""
    host: str | None = None
    """The host."""
    gpu: str | None = None
    """The GPU."""
    pid: Count | None = None
    """The process id."""
    confidence: Annotated[float, Meta(ge=0, le=1)] = 0.0
    """Confidence that the process has to do with the failure."""
    why: str = ""
    """The way in which it stands apart, as a sentence."""
    evidence: tuple[Evidence, ...] = ()
    """The lines that show it."""


class Refutation(Struct, frozen=True):
    """The line that shows that a failure did not stop the job."""

    line: Line
    why: str = ""
    """The fact that the line shows, for example that the job ended well after it."""


class SymptomSeen(Struct, frozen=True):
    """A failure signature that was seen and is not the cause."""

    signature: str
    """The kind of failure."""
    title: str
    """The failure in a few words."""
    explained_by: str | None
    """The signature of the cause that it follows from."""
    ranks: tuple[Rank, ...]
    """The ranks that show it."""
    count: Count
    """Number of lines."""
    evidence: tuple[Evidence, ...]
    """Lines that show it."""
    refuted_by: Refutation | None = None
    """The line by which the job got over it; null if there is none."""
    rule: str = ""
    """The id of the rule that holds."""
    law: str = ""
    """The law by which the cause explains it: same signature, kind of, because, next code, same line, same process,
    other process, shared place."""
    way: str = ""
    """The classes of failure by which it follows, for example memory out → input bad; or the reason of a rule."""
    silence: str = ""
    """A step that silences lines that did no harm."""


class Progress(Struct, frozen=True):
    """The last sign of progress."""

    unit: str
    """The unit that the job counts, for example step, epoch, iteration."""
    value: str
    """The number, and the total if the line prints it: 14120/20000."""
    evidence: Evidence
    """The line that tells of it."""
    epoch: str = ""
    """The epoch that the same line names, because steps may be counted anew in each epoch."""


class Checkpoint(Struct, frozen=True):
    """A saved checkpoint."""

    step: Count | None
    """The step at which it was saved; null if the line does not say."""
    path: str
    """The file or folder; empty if the line does not say."""
    line: Line
    """The line that tells of it."""


class RankRow(Struct, frozen=True):
    """A rank: its place, its progress, and its part in the failure."""

    rank: Rank
    """The global rank."""
    role: Part
    """culprit: the answer names the rank or its host; victim: the rank reports a failure and the answer names others;
    failed: the rank reports a failure and the answer names no rank; bystander: the rank reports no failure; silent: the
    rank printed nothing after the failure began, or nothing at all, while its neighbours did; missing: no line in these
    logs is of the rank."""
    host: str | None = None
    """The host on which it ran."""
    local_rank: Count | None = None
    """The rank as counted on its host."""
    pid: Count | None = None
    """The process id."""
    gpu: Count | None = None
    """The ordinal that CUDA counts inside the process."""
    bus_id: str | None = None
    """The PCI address of its GPU."""
    last_progress: str = ""
    """The last progress of this rank, for example step 410."""
    failure: str = ""
    """The signature of the first failure."""
    first_failure: Evidence | None = None
    """The first line in which it reports a failure."""
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
    """The process group; empty if the log does not name it."""
    rank: Rank
    """The global rank."""
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
    """Number of its members; null if the log does not say."""
    ranks: tuple[Rank, ...]
    """The global ranks that are known to be members."""


class HostClock(Struct, frozen=True):
    """Difference between the clocks of two hosts."""

    host: str
    """The host."""
    of: str
    """The host that the clock is compared with."""
    ahead: float = field(name="ahead_s")
    """Seconds by which the clock of host is ahead of the clock of the host in of; negative: behind."""
    records: Annotated[int, Meta(ge=2)] = field(name="events")
    """Number of events that happened on both hosts at once and show the difference."""


class JobSummary(Struct, frozen=True):
    """The state of the job, read from its logs."""

    ranks_expected: Count | None = None
    """Number of ranks that the job should have; null if the log does not say."""
    ranks_seen: tuple[Rank, ...] = ()
    """Ranks that the logs name."""
    hosts: tuple[str, ...] = ()
    """Hosts of the job, by their short names."""
    versions: tuple[tuple[str, str], ...] = ()
    """Versions by product."""
    launcher: str | None = None
    """The program that started the processes, for example torchrun."""
    id: str | None = None
    """The job id that the scheduler prints."""
    scheduler: str | None = None
    """The batch system, for example slurm."""
    script: str | None = None
    """The program that was started."""
    first_failure: Evidence | None = None
    """The earliest failure by the clock, in one file by its order; null if the files do not tell which came first."""
    first_death: Evidence | None = None
    """The process that ended before all others, and how it ended; null where the logs do not tell the order."""
    last_progress: Progress | None = None
    """The last sign of progress; null if there is none."""
    step_seconds: float | None = None
    """The median time of a step."""
    last_checkpoint: Checkpoint | None = None
    """The last saved checkpoint; null if the log tells of none."""
    attempts: Count = 1
    """Number of attempts in the log."""
    truncated: bool = False
    """True if an input that may hold evidence was not read whole."""
    started: float | None = None
    """The earliest time that the job's own lines print."""
    ended: float | None = None
    """The latest time that the job's own lines print."""
    year_known: bool = True
    """False if these lines print times without a year."""
    nodes: Count | None = None
    """Number of nodes as NCCL counts them in the widest communicator."""
    ranks_per_node: Count | None = None
    """Number of ranks on each node, in the same communicator."""
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
    """The verdict of this run."""
    signature: str | None
    """The first cause of this run; null if there is none."""
    title: str
    """Its title; null if there is none."""
    file: str
    """The file that holds the run."""
    first_line: Number
    """The first line of the run."""
    last_line: int | None
    """The last line of the run; null: the last line of the file."""
    told: bool
    """True if the causes are those of this run. If no run is marked, they are those of all runs together."""
    evidence: tuple[Evidence, ...] = ()
    """The line that proves the verdict."""
    culprit: Culprit = Culprit()
    """The culprit of this run."""
    last_progress: Progress | None = None
    """The last progress of this run."""


class MadeBy(Struct, frozen=True):
    """Version of logdoctor and rules that made a diagnosis."""

    version: str = ""
    """The version of logdoctor."""
    rules: Count = 0
    """Number of rules."""
    digest: str = field(default="", name="rules_digest")
    """Digest of the content of the rules."""


class Novel(Struct, frozen=True):
    """A template of lines that the job never printed while all was well."""

    template: str
    """The line without what changes from run to run, for example <n> for a number."""
    count: Number
    """Number of lines."""
    evidence: Evidence
    """The first of these lines."""


class Change(Struct, frozen=True):
    """A setting to change."""

    name: str
    """The setting, for example NCCL_RAS_ENABLE."""
    before: str = field(name="from")
    """The value now; empty if not known."""
    to: str
    """The value to set."""


class Decision(Struct, frozen=True):
    """The one thing to do now, with the earlier attempts considered."""

    do: Do = "investigate"
    """requeue: start the same command again; requeue-without-host: the same, without the named hosts;
    resubmit-with-changes: start it again with other settings; fix-first: a person has to repair something;
    do-nothing: close it; investigate: hold the job and look for the cause."""
    headline: str = ""
    """The decision in a few words, for example REQUEUE WITHOUT gpu-c04."""
    sentence: str = ""
    """The decision as a sentence."""
    hosts: tuple[str, ...] = ()
    """The hosts to take out, for requeue-without-host."""
    steps: tuple[Step, ...] = ()
    """Things to do to carry out the decision. The steps of the cause follow."""
    changes: tuple[Change, ...] = ()
    """Settings to change, for resubmit-with-changes; empty if no value is known."""
    checkpoint: Checkpoint | None = None
    """The checkpoint from which the job goes on."""
    attempts_left: Count = 0
    """Number of times that a program may start the job again for this cause."""
    collect: tuple[str, ...] = ()
    """Data to gather, if something is missing."""
    because: str = ""
    """The reason, as a sentence."""
    running: bool = False
    """True if the job hangs and still runs, so its processes can be asked."""


class Redacted(Struct, frozen=True):
    """Number of names that were replaced."""

    on: bool = False
    """True if names and secrets were replaced."""
    hosts: Count = 0
    """Number of hosts that were replaced."""
    users: Count = 0
    """Number of users that were replaced."""
    addresses: Count = 0
    """Number of addresses that were replaced."""


class Diagnosis(Struct, frozen=True):
    """The answer for one job."""

    schema: ClassVar[str] = SCHEMA

    name: str
    """The name of the job."""
    verdict: Verdict
    """failed: a cause is named; stopped: ended from outside on purpose; unknown: something failed and the log does not
    hold the cause, or a part was not read; finished: seen to end well; no-end-seen: start or work is seen, and no end;
    nothing-to-judge: empty, unreadable, or not a job's log."""
    causes: tuple[Cause, ...] = ()
    """Ranked, the answer first. With the verdict unknown they are guesses."""
    symptoms: tuple[SymptomSeen, ...] = ()
    """Failures that were seen and are not the cause."""
    harmless: tuple[SymptomSeen, ...] = ()
    """Lines that look like a failure and are known to be none."""
    unexplained: tuple[Evidence, ...] = ()
    """Lines that look like a failure and that no rule explains."""
    absent: tuple[str, ...] = ()
    """Sorts of evidence that were looked for around the first unexplained line and not found: frames, names, reason."""
    verdict_known_by: Line | None = None
    """The line that shows the end; null if none does."""
    suspects: tuple[Suspect, ...] = ()
    """Processes that stand apart, if the verdict is unknown. A suspect is no culprit."""
    job: JobSummary = JobSummary()
    """The state of the job, read from its logs."""
    coverage: Coverage = Coverage()
    """Amount of input that was read."""
    redaction: Redacted = Redacted()
    """Number of names that were replaced."""
    problems: tuple[Problem, ...] = ()
    """Inputs that could not be read whole."""
    runs: tuple[Run, ...] = ()
    """All jobs and attempts of the log in its order, each with its own verdict; empty where there is only one."""
    made_by: MadeBy = MadeBy()
    """Version of logdoctor and rules that made the diagnosis."""
    novel: tuple[Novel, ...] = ()
    """New templates of lines, the most telling first, if no rule knows the answer. They were never printed while all
    was well, or by the good run that was given."""
    decision: Decision = Decision()
    """The one thing to do now."""
    lang: str = "en"
    """The language of its words."""

    def __str__(self) -> str:
        """Return the screen of ``logdoctor diagnose``."""
        return self.to_text().rstrip("\n")

    def to_text(self, *, redact: bool | None = None) -> str:
        return self._report("text", redact)

    def to_markdown(self, *, redact: bool | None = None) -> str:
        """Return the report for a ticket. Secrets and names are taken out unless ``redact`` is False."""
        return self._report("markdown", redact)

    def to_html(self, *, redact: bool | None = None) -> str:
        """Return the page. Secrets and names are taken out unless ``redact`` is False."""
        return self._report("html", redact)

    def to_json(self, *, redact: bool | None = None) -> str:
        """Return the document of the schema ``logdoctor.diagnosis/2``."""
        return self._report("json", redact)

    def _report(self, format: str, redact: bool | None) -> str:  # noqa: FBT001
        """Return a report. The nouns know no renderer, so the surface is found by its name."""
        return str(import_module("logdoctor.api").report(self, format, redact=redact))

    @property
    def answer(self) -> Cause | None:
        """The cause that the verdict names.  A guess is none."""
        return self.causes[0] if self.causes and self.verdict in WITH_CAUSE else None

    @property
    def further_faults(self) -> tuple[Cause, ...]:
        """The independent faults beside the answer.  Alternatives share one chance, so they add up to 1 at most."""
        answer = self.answer
        if answer is None:
            return ()
        likely = (cause for cause in self.causes[1:] if cause.confidence >= INDEPENDENT)
        return tuple(cause for cause in likely if cause.confidence + answer.confidence > 1.05)

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as JSON-ready data of the schema ``logdoctor.diagnosis/2``."""
        from logdoctor.model.json_form import to_dict

        return to_dict(self)
