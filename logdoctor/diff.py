"""Differences between a good and a bad run of the same job.

Runs may differ in outcome, layout, versions, settings, hosts, network, and in the messages that they print.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from logdoctor.model import Comparison, Diagnosis, Difference, Evidence, JobSummary, Line, Novel, Record, Topic
from logdoctor.pack.regexes import later
from logdoctor.pipeline.diagnosis import Input, JobReader, Watch, diagnose, make_job
from logdoctor.pipeline.excerpts import Excerpt
from logdoctor.pipeline.knowledge import Knowledge, gather, rule_folders
from logdoctor.pipeline.masking import to_template
from logdoctor.pipeline.new_templates import ALARM_WORDS, MAX_LINES, MAX_SHAPES, MIN_TEMPLATE_CHARS, NUMBERS

MAX_MESSAGES = 12
"""Number of messages that are listed for each run."""
_MAX_NAMES = 24
_PER_RUN = later(
    r"(?i)(?:MASTER_(?:ADDR|PORT)|\w*(?:JOB|RUN|STEP)_?ID|HOSTNAME|\w*_NODELIST|\w*COMM_?ID|PID|PWD|\w*RANK)$"
)
"""Settings that differ from run to run even if all is well."""
_VIA = later(r"\bvia ((?:P2P|SHM|NET|COLLNET|NVLS|MNNVL)(?:/(?!\d)[A-Za-z]\w*){0,3})")
_BAR = later(r"\b\d{1,3}(?:\.\d+)?% ?\||\|[\u2588-\u258f#=>. -]{8,}\||\[\d+:\d+(?::\d+)?<[\d:?]+[\],]")
"""A progress bar. Two runs are never at the same places when it is drawn."""
_NETWORK_FIELDS: Mapping[str, Sequence[str]] = {
    "nccl.network": ("network", "plugin", "provider", "state"),
    "nccl.interfaces": ("interface", "transport", "interfaces", "oob"),
}
"""Fields that describe the network, by kind of record."""


def compare(
    good: Input | Iterable[Input],
    bad: Input | Iterable[Input],
    *,
    rules: Sequence[Path] = (),
    lang: str = "en",
    watch: Watch | None = None,
) -> Comparison:
    """Compare the logs of a good run with those of a bad run. Raises `InputError` if nothing of a run can be read."""
    knowledge = gather(rule_folders(rules))
    good_run, bad_run = (_Run.read(inputs, knowledge, lang, watch) for inputs in (good, bad))
    good_messages, bad_messages = good_run.messages(), bad_run.messages()
    return Comparison(
        good_run.diagnosis,
        bad_run.diagnosis,
        tuple(_differences(good_run, bad_run)),
        _only_in(good_messages, bad_messages),
        _only_in(bad_messages, good_messages),
    )


class _Run(Struct, frozen=True):
    """A run with its diagnosis, its network settings, and excerpts of its logs."""

    diagnosis: Diagnosis
    network: Mapping[str, Sequence[str]]
    logs: Sequence[Excerpt]

    @classmethod
    def read(cls, inputs: Input | Iterable[Input], knowledge: Knowledge, lang: str, watch: Watch | None) -> _Run:
        job = make_job(inputs)
        diagnosis = diagnose(job.paths, name=job.name, knowledge=knowledge, lang=lang, watch=watch)
        reading = JobReader(job, knowledge, watch=watch)
        network: dict[str, dict[str, None]] = {}
        for record in reading:
            for name, value in _network_settings(record):
                values = network.setdefault(name, {})
                if len(values) < _MAX_NAMES:
                    values.setdefault(value)
        return cls(diagnosis, {name: sorted(values) for name, values in network.items()}, reading.excerpts.logs)

    def lines(self) -> Iterator[Line]:
        """Yield the lines of the excerpts.

        A line with a known number comes once.  Lines from the middle of a log have the number 0.
        """
        seen: set[tuple[str, int]] = set()
        for log in self.logs:
            for line in (*log.first_lines(), *log.last_lines()):
                if (line.file, line.number) not in seen:
                    seen.add((line.file, line.number))
                    yield line
            yield from (Line(log.name, 0, text) for text in log.middle_lines())

    def messages(self) -> dict[str, Novel]:
        """Return each template with its first line and the number of its lines."""
        groups: dict[str, list[Line]] = {}
        for line in itertools.islice(self.lines(), MAX_LINES * 4):
            if line.text.strip() and not _BAR.search(line.text):
                groups.setdefault(NUMBERS.sub("0", line.text), []).append(line)
        messages: dict[str, Novel] = {}
        for shape, lines in itertools.islice(groups.items(), MAX_SHAPES * 4):
            masked = to_template(shape)
            if len(masked) >= MIN_TEMPLATE_CHARS:
                message = messages.setdefault(masked, Novel(masked, 0, Evidence(lines[0])))
                messages[masked] = replace(message, count=message.count + len(lines))
        return messages

    def transports(self) -> str:
        """Return the transports of NCCL's channels, for example ``NET/IB, P2P/CUMEM``."""
        return ", ".join(sorted({way for line in self.lines() for way in _VIA.findall(line.text)}))


def _network_settings(record: Record) -> Iterator[tuple[str, str]]:
    for name in _NETWORK_FIELDS.get(record.kind, ()):
        value = record.fields.get(name)
        for item in value if isinstance(value, tuple) else (value,):
            if item not in (None, ""):
                yield f"{record.format} {name}", str(item)


def _only_in(run: Mapping[str, Novel], other: Mapping[str, Novel]) -> tuple[Novel, ...]:
    messages = [message for masked, message in run.items() if masked not in other]
    return tuple(sorted(messages, key=lambda m: (not ALARM_WORDS.search(m.template), m.count)))[:MAX_MESSAGES]


def _differences(good: _Run, bad: _Run) -> Iterator[Difference]:
    good_job, bad_job = good.diagnosis.job, bad.diagnosis.job
    yield from _changes("outcome", dict(_outcome(good.diagnosis)), dict(_outcome(bad.diagnosis)))
    yield from _changes("layout", dict(_layout(good_job)), dict(_layout(bad_job)))
    yield from _changes("versions", dict(good_job.versions), dict(bad_job.versions))
    yield from _changes("environment", _settings(good_job), _settings(bad_job))
    yield from _hosts(good_job.hosts, bad_job.hosts)
    yield from _changes("interfaces", _joined(good.network), _joined(bad.network))
    yield from _changes("transports", {"via": good.transports()}, {"via": bad.transports()})


def _changes(topic: Topic, good: Mapping[str, str], bad: Mapping[str, str]) -> Iterator[Difference]:
    for name in sorted({*good, *bad}):
        if good.get(name, "") != bad.get(name, ""):
            yield Difference(topic, name, good.get(name, ""), bad.get(name, ""))


def _joined(network: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {name: ", ".join(values) for name, values in network.items()}


def _settings(job: JobSummary) -> dict[str, str]:
    return {name: value for name, value in job.environment if not _PER_RUN.match(name)}


def _outcome(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    yield "verdict", diagnosis.verdict
    if diagnosis.answer:
        yield "cause", f"{diagnosis.answer.signature}: {diagnosis.answer.title}"
    progress = diagnosis.job.last_progress
    if progress:
        yield "last progress", f"{progress.unit} {progress.value}"


def _layout(job_summary: JobSummary) -> Iterator[tuple[str, str]]:
    facts = {
        "ranks": job_summary.ranks_expected or len(job_summary.ranks_seen),
        "hosts": len(job_summary.hosts),
        "nodes": job_summary.nodes,
        "ranks per node": job_summary.ranks_per_node,
        "launcher": job_summary.launcher,
        "attempts": job_summary.attempts,
    }
    yield from ((name, str(value)) for name, value in facts.items() if value)


def _hosts(good: Sequence[str], bad: Sequence[str]) -> Iterator[Difference]:
    only_good = [host for host in good if host not in bad]
    only_bad = [host for host in bad if host not in good]
    if only_good or only_bad:
        yield Difference("hosts", "only in this run", _joined_names(only_good), _joined_names(only_bad))


def _joined_names(names: Sequence[str]) -> str:
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f", +{more}" if more > 0 else "")
