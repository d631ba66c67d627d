"""What differs between a good and a bad run of the same job: settings, place, network, what only one of them says."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from logdoctor.diagnosis import Input, JobReader, Watch, diagnose, make_job
from logdoctor.knowledge import Knowledge, gather, rule_folders
from logdoctor.masking import to_template
from logdoctor.model import Comparison, Diagnosis, Difference, Event, Evidence, Line, Novel, Topic
from logdoctor.novelty import ALARM_WORDS, MAX_LINES, MAX_SHAPES, MIN_TEMPLATE_CHARS, NUMBERS, Excerpt
from logdoctor.regexes import later

SHOWN = 12
"""So many messages of each run are told."""
_MOST_NAMES = 24
_OWN = later(r"(?i)(?:MASTER_(?:ADDR|PORT)|\w*(?:JOB|RUN|STEP)_?ID|HOSTNAME|\w*_NODELIST|\w*COMM_?ID|PID|PWD|\w*RANK)$")
"""Settings that differ from run to run anyway."""
_VIA = later(r"\bvia ((?:P2P|SHM|NET|COLLNET|NVLS|MNNVL)(?:/(?!\d)[A-Za-z]\w*){0,3})")
_LISTED: Mapping[str, Sequence[str]] = {
    "nccl.bootstrap": ("interface",),
    "nccl.network": ("network", "plugin"),
    "nccl.interfaces": ("transport", "interfaces", "oob"),
    "nccl.ofi": ("provider",),
    "nccl.gdr": ("state",),
    "nccl.no_ib": ("text",),
}
"""Which fields of which records tell what the network is."""


def compare(
    good: Input | Iterable[Input],
    bad: Input | Iterable[Input],
    *,
    rules: Sequence[Path] = (),
    lang: str = "en",
    watch: Watch | None = None,
) -> Comparison:
    """Compare the logs of a good run with those of a bad one; raises `InputError` where one cannot be read at all."""
    known = gather(rule_folders(rules))
    first, second = _Run.read(good, known, lang, watch), _Run.read(bad, known, lang, watch)
    there, here = first.messages(), second.messages()
    return Comparison(
        first.diagnosis,
        second.diagnosis,
        tuple(_differences(first, second)),
        _only(there, here),
        _only(here, there),
    )


class _Run(Struct, frozen=True):
    """The diagnosis of a run, what it says of its network, and what is put aside of its logs."""

    diagnosis: Diagnosis
    network: Mapping[str, Sequence[str]]
    logs: Sequence[Excerpt]

    @classmethod
    def read(cls, inputs: Input | Iterable[Input], known: Knowledge, lang: str, watch: Watch | None) -> _Run:
        job = make_job(inputs)
        found = diagnose(job.paths, name=job.name, knowledge=known, lang=lang, watch=watch)
        reading = JobReader(job, known, watch=watch)
        network: dict[str, dict[str, None]] = {}
        for event in reading:
            for name, value in _of_network(event):
                values = network.setdefault(name, {})
                if len(values) < _MOST_NAMES:
                    values.setdefault(value)
        return cls(found, {name: sorted(values) for name, values in network.items()}, reading.excerpts.logs)

    def lines(self) -> Iterator[Line]:
        """What was put aside, each line once where its number is known."""
        seen: set[tuple[str, int]] = set()
        for log in self.logs:
            for line in (*log.first_lines(), *log.last_lines()):
                if (line.file, line.number) not in seen:
                    seen.add((line.file, line.number))
                    yield line
            yield from (Line(log.name, 0, text) for text in log.middle_lines())

    def messages(self) -> dict[str, Novel]:
        """Each template with how many of the lines put aside have it, and the first of them."""
        groups: dict[str, list[Line]] = {}
        for line in itertools.islice(self.lines(), MAX_LINES * 4):
            if line.text.strip():
                groups.setdefault(NUMBERS.sub("0", line.text), []).append(line)
        found: dict[str, Novel] = {}
        for shape, lines in itertools.islice(groups.items(), MAX_SHAPES * 4):
            masked = to_template(shape)
            if len(masked) >= MIN_TEMPLATE_CHARS:
                first = found.setdefault(masked, Novel(masked, 0, Evidence(lines[0])))
                found[masked] = replace(first, count=first.count + len(lines))
        return found

    def transports(self) -> str:
        """By which ways channels go."""
        return ", ".join(sorted({way for line in self.lines() for way in _VIA.findall(line.text)}))


def _of_network(event: Event) -> Iterator[tuple[str, str]]:
    for name in _LISTED.get(event.kind, ()):
        value = event.fields.get(name)
        for one in value if isinstance(value, tuple) else (value,):
            if one not in (None, ""):
                yield f"{event.kind.partition('.')[0]} {'missing' if name == 'text' else name}", str(one)


def _only(here: Mapping[str, Novel], there: Mapping[str, Novel]) -> tuple[Novel, ...]:
    found = [one for masked, one in here.items() if masked not in there]
    return tuple(sorted(found, key=lambda n: (not ALARM_WORDS.search(n.template), n.count)))[:SHOWN]


def _differences(good: _Run, bad: _Run) -> Iterator[Difference]:
    one, two = good.diagnosis, bad.diagnosis
    yield from _apart("outcome", dict(_outcome(good)), dict(_outcome(bad)))
    yield from _apart("layout", dict(_layout(good)), dict(_layout(bad)))
    yield from _apart("versions", dict(one.picture.versions), dict(two.picture.versions))
    yield from _apart("environment", _settings(one), _settings(two))
    yield from _hosts(one, two)
    yield from _apart("interfaces", _joined(good.network), _joined(bad.network))
    yield from _apart("transports", {"via": good.transports()}, {"via": bad.transports()})


def _apart(topic: Topic, good: Mapping[str, str], bad: Mapping[str, str]) -> Iterator[Difference]:
    for name in sorted({*good, *bad}):
        if good.get(name, "") != bad.get(name, ""):
            yield Difference(topic, name, good.get(name, ""), bad.get(name, ""))


def _joined(network: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {name: ", ".join(values) for name, values in network.items()}


def _settings(run: Diagnosis) -> dict[str, str]:
    return {name: value for name, value in run.picture.environment if not _OWN.match(name)}


def _outcome(run: _Run) -> Iterator[tuple[str, str]]:
    found = run.diagnosis
    yield "verdict", found.verdict
    if found.verdict == "failure" and found.causes:
        yield "cause", f"{found.causes[0].signature}: {found.causes[0].title}"
    if found.picture.last_progress:
        yield "last progress", f"{found.picture.last_progress.unit} {found.picture.last_progress.value}"


def _layout(run: _Run) -> Iterator[tuple[str, str]]:
    picture = run.diagnosis.picture
    counted = {
        "ranks": picture.ranks_expected or len(picture.ranks_seen),
        "hosts": len(picture.hosts),
        "nodes": picture.nodes,
        "ranks per node": picture.ranks_per_node,
        "launcher": picture.launcher,
        "attempts": picture.attempts,
    }
    yield from ((name, str(value)) for name, value in counted.items() if value)


def _hosts(good: Diagnosis, bad: Diagnosis) -> Iterator[Difference]:
    there, here = good.picture.hosts, bad.picture.hosts
    only_there, only_here = ([h for h in a if h not in b] for a, b in ((there, here), (here, there)))
    if only_there or only_here:
        yield Difference("hosts", "only in this run", *(_some(names) for names in (only_there, only_here)))


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f", +{more}" if more > 0 else "")
