"""The pipeline: open, scan, parse, reason, else guess. It connects the rooms and knows no output format."""

from __future__ import annotations

import copy
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import IO, Any

from msgspec.structs import replace

from logdoctor.classifier import FeatureCounter
from logdoctor.inputs import Bounds, Inventory, open_streams
from logdoctor.logs.about import is_about_peers
from logdoctor.logs.complaints import find_complaint, is_own_end, is_plain, may_be_first_failure
from logdoctor.logs.fallback_messages import read_fallback_messages
from logdoctor.logs.headless_traces import find_headless_trace
from logdoctor.logs.last_lines import find_end
from logdoctor.logs.line_parser import LineParser
from logdoctor.logs.source_from_filename import slurm_job_of
from logdoctor.matcher.matcher import JobScanner
from logdoctor.matcher.window import ReadInto
from logdoctor.model import (
    Cause,
    Coverage,
    DecisionRow,
    Diagnosis,
    InputError,
    Job,
    Line,
    PackageRow,
    Problem,
    Record,
    Step,
    Stream,
    unread,
)
from logdoctor.pack import regexes
from logdoctor.pack.error_wording import reports_error
from logdoctor.pipeline.broken_records import BrokenRecords
from logdoctor.pipeline.closer_look import look_closer
from logdoctor.pipeline.documents import DocumentReader
from logdoctor.pipeline.excerpts import AROUND, Excerpt, Excerpts
from logdoctor.pipeline.fallback import add_guess
from logdoctor.pipeline.knowledge import Knowledge, gather, rule_folders
from logdoctor.pipeline.new_templates import add_new_templates
from logdoctor.pipeline.package_versions import version_of
from logdoctor.pipeline.pulse import hear_work, listen
from logdoctor.pipeline.surrounding_lines import add_context
from logdoctor.reasoning import Reasoner
from logdoctor.reasoning.findings.symptoms import load_index
from logdoctor.reasoning.lifecycle.attempts import MAX_FILES
from logdoctor.reasoning.lifecycle.machine_records import MachineRecords
from logdoctor.reasoning.lifecycle.spans import may_end_a_run
from logdoctor.reasoning.verdict.decision import Unread, decide
from logdoctor.reasoning.verdict.known_defects import tell_defects
from logdoctor.reasoning.verdict.missing_data import find_missing_data
from logdoctor.reasoning.verdict.restart import SLURM
from logdoctor.render.catalogue import catalogue

Input = str | os.PathLike[str] | IO[bytes]
Watch = Callable[[str, int], None]
"""Callback for progress, called with the name of the stream and the number of bytes just read."""


def diagnose(
    inputs: Input | Iterable[Input] = (),
    *,
    text: str | None = None,
    data: bytes | None = None,
    name: str | None = None,
    rules: Sequence[str | os.PathLike[str]] = (),
    hung: bool = False,
    lang: str = "en",
    bounds: Bounds | None = None,
    watch: Watch | None = None,
    knowledge: Knowledge | None = None,
    model: str | os.PathLike[str] | None = None,
    context: int = 0,
    baseline: str | os.PathLike[str] | None = None,
    found: bool = False,
    follow_links: bool = False,
    job_id: str | None = None,
) -> Diagnosis:
    """Diagnose one job from its logs.

    ``inputs``: paths (files, folders, globs, archives; ``"-"`` is standard input) and open binary files of ONE job.
    ``text``, ``data``: a log itself, or the bytes of a log or an archive, beside or in place of ``inputs``.
    ``rules``: folders with rules of your own, added to the shipped rules and to those of installed packages.
    ``hung``: the job hangs, so silence is a failure.
    ``knowledge``: the pack that `gather` returned, to diagnose many jobs without loading it again.
    ``model``: a classifier of your own in place of the shipped one. It is asked if the rules leave a failure open.
    ``baseline``: the log of a good run. For a failure without a rule, the report shows lines that are not in it.
    ``context``: lines above and below each quoted line to report, as far as they were kept.
    ``found``: a scan found the paths, so the user does not expect each of them to be a log.
    ``follow_links``: also read what links in a folder name outside of it.
    ``job_id``: the id that the scheduler gave the job, which wins over an id in the logs.

    Unreadable inputs and faulty rules are listed in ``problems``. Raises `InputError` if nothing could be read at all,
    `ManyJobsError` for a folder of several jobs.
    """
    pack = knowledge or gather(rule_folders(rules))
    given = [*_as_inputs(inputs), *_held(text.encode() if text is not None else None, "<text>"), *_held(data, "<data>")]
    job = replace(make_job(given, name), found=found, follow_links=follow_links)
    _refuse_many_jobs(job)
    if watch is not None:
        watch(job.name, 0)  # the rules are loaded, the reading begins
    reader = JobReader(job, pack, bounds, watch)
    analysis = Analysis(reader, lang, hung=hung, model=Path(model) if model else None, baseline=baseline)
    analysis.name_job(job_id)
    analysis.read_all()
    diagnosis = analysis.diagnosis()
    if knowledge is None:  # a caller with a pack diagnoses many jobs and keeps the compiled patterns at the end
        regexes.keep()
    return add_context(diagnosis, reader.excerpts, context) if context else diagnosis


def analyse(
    inputs: Input | Iterable[Input], *, hung: bool, job_id: str | None, lang: str, knowledge: Knowledge
) -> Analysis:
    """Read one job, and return all that was observed of it. Arguments and errors are those of `diagnose`."""
    job = make_job(_as_inputs(inputs), None)
    _refuse_many_jobs(job)
    analysis = Analysis(JobReader(job, knowledge), lang, hung=hung)
    analysis.name_job(job_id)
    analysis.read_all()
    return analysis


def _refuse_many_jobs(job: Job) -> None:
    folders = [path for path in job.paths if isinstance(path, str) and os.path.isdir(path)]  # noqa: PTH112 - any text
    if folders and not job.found:
        from logdoctor.inputs.many_jobs import refuse_many_jobs  # its imports would slow the start for a file

        refuse_many_jobs(folders)


def _as_inputs(inputs: Input | Iterable[Input]) -> list[Any]:
    return [inputs] if isinstance(inputs, str | os.PathLike) or hasattr(inputs, "read") else [*inputs]


def _held(data: bytes | None, name: str) -> Iterator[IO[bytes]]:
    """Yield ``data`` as an open file."""
    if data is not None:
        file: Any = io.BytesIO(data)
        file.name = name
        yield file


def diagnose_streams(
    opened: Iterable[Stream],
    *,
    name: str,
    knowledge: Knowledge,
    lang: str = "en",
    watch: Watch | None = None,
) -> Diagnosis:
    """Diagnose one job from opened logs. Other arguments are those of `diagnose`."""
    analysis = Analysis(JobReader(Job(name, ()), knowledge, watch=watch, opened=opened), lang)
    analysis.read_all()
    return analysis.diagnosis()


class Analysis:
    """Analysis of one job. Its memory does not grow with the logs."""

    def __init__(
        self,
        reader: JobReader,
        lang: str = "en",
        *,
        hung: bool = False,
        model: Path | None = None,
        baseline: str | os.PathLike[str] | None = None,
    ) -> None:
        self.reader, self.words, self.hung, self.model = reader, catalogue(lang), hung, model
        self.baseline = os.fspath(baseline) if baseline else ""
        pack = reader.pack
        self._observed = Observed(Reasoner(pack.rules, pack.scanned, pack.mechanism, hung=hung))
        self._complete = False

    def name_job(self, job_id: str | None) -> None:
        """Use ``job_id`` as the id of the job. It wins over an id in the logs."""
        self._observed.reasoner.state.job_id = job_id

    def read_all(self) -> None:
        """Read all inputs of the job. Raises `InputError` if nothing could be read."""
        for record in self.reader:
            self._observed.add(record, self.reader)
        self.reader.require_input()
        self._observed.complete(self.reader)
        self._complete = True

    def read(self, stream: Stream) -> None:
        """Read a log to its end."""
        for record in self.reader.read(stream):
            self._observed.add(record, self.reader)

    def observed(self) -> Observed:
        """Return all that was observed, as if no record would follow."""
        if self._complete:
            return self._observed
        observed = self._observed.copy()
        observed.complete(self.reader)
        return observed

    def diagnosis(self) -> Diagnosis:
        """Return the diagnosis of all that was read. It changes nothing, so it may be asked at any time."""
        observed, reader, pack, words = self.observed(), self.reader, self.reader.pack, self.words
        coverage = replace(reader.coverage, not_judged=observed.machines.tell_set_aside(words))
        missing = parts_not_read(coverage)
        closer = look_closer(observed.reasoner, reader.excerpts)
        diagnosis = observed.reasoner.knowing(closer.records()).conclude(
            reader.job.name,
            words,
            read_in_part=missing.count > 0,
            listen=partial(listen, reader.excerpts.logs),
            examined=closer.known,
        )
        diagnosis = replace(
            diagnosis, causes=closer.tell(diagnosis.causes, words), absent=closer.absent(diagnosis.unexplained)
        )
        problems = (*pack.faults, *reader.problems)
        about = {"coverage": coverage, "problems": problems, "made_by": pack.made_by, "lang": words.lang}
        diagnosis = replace(diagnosis, **about)
        diagnosis = add_guess(diagnosis, observed.counter, pack, words, self.model)
        version = partial(version_of, state=observed.reasoner.state, excerpts=reader.excerpts)
        diagnosis, ask = tell_defects(diagnosis, pack.defects, version, words)
        rows, torch = partial(_decisions_about, pack), partial(_version_of_torch, pack, version)
        decision = decide(diagnosis, words, rows, torch=torch, hung=self.hung, unread=missing)
        decision = replace(decision, collect=(*decision.collect, *ask))
        return add_new_templates(replace(diagnosis, decision=decision), reader.excerpts, words, self.baseline)

    def missing_data(self, diagnosis: Diagnosis) -> tuple[Step, ...]:
        """Return what to gather for ``diagnosis``, with the commands."""
        return find_missing_data(diagnosis, self.observed().reasoner.state, self.words)


class Observed:
    """All that the reasoning and the classifier keep of the records of a job."""

    def __init__(self, reasoner: Reasoner) -> None:
        self.reasoner, self.counter, self.machines = reasoner, FeatureCounter(), MachineRecords()
        self._first_failures: dict[str, Record] = {}
        """First failure of each file."""

    def add(self, record: Record, reader: JobReader) -> None:
        """Observe a record of the job. A record of a machine may wait."""
        if not self.machines.hold(record):
            self._observe(record, reader)
        elif self.machines.is_full:
            self._release(reader)

    def complete(self, reader: JobReader) -> None:
        """Observe the records that wait, and those that the scan overlooked. No record may follow."""
        self._read_file_names(reader)
        self._release(reader)
        lives = self.reasoner.state.lives
        lives.line_counts = reader.lengths
        lives.hear_work = cache(partial(hear_work, reader.excerpts.logs, reader.pack))
        lives.find_end = cache(lambda: find_end(map(_kept_lines, reader.excerpts.logs)))
        for record in _find_overlooked(reader, self.reasoner, self._first_failures):
            self._observe(record, reader)

    def _read_file_names(self, reader: JobReader) -> None:
        """Take the job id from the names of the files if no line tells it."""
        state = self.reasoner.state
        job = slurm_job_of(source.file for source in reader.coverage.inputs)
        if state.job_id is None and job:
            state.job_id, state.named_scheduler = job, SLURM

    def copy(self) -> Observed:
        """Return what was observed so far, to learn on its own."""
        observed = copy.copy(self)
        observed.reasoner = self.reasoner.copy()
        for name in ("counter", "machines", "_first_failures"):
            setattr(observed, name, copy.deepcopy(getattr(self, name)))
        return observed

    def _release(self, reader: JobReader) -> None:
        for record in self.machines.release(self.reasoner.state):
            self._observe(record, reader)

    def _observe(self, record: Record, reader: JobReader) -> None:
        try:
            self.reasoner.observe(record)
        except Exception as error:  # noqa: BLE001 - an error of ours must not cost the diagnosis
            reader.broken.add(error, record.line.file, record.line.number)
        if may_be_first_failure(record) and len(self._first_failures) < MAX_FILES:
            self._first_failures.setdefault(record.line.file, replace(record, lines=record.lines[:1]))
        self.counter.observe(record)


def nothing_read(name: str, error: InputError, lang: str) -> Diagnosis:
    """Return the diagnosis of a job of which nothing could be read."""
    diagnosis = Diagnosis(name, "nothing-to-judge", problems=(error.as_problem(),))
    return replace(diagnosis, decision=decide(diagnosis, catalogue(lang), unread=Unread(1, 1)))


def _decisions_about(pack: Knowledge, cause: Cause) -> Sequence[DecisionRow]:
    return next((rule.decisions for rule in pack.rules if rule.id == cause.rule), ())


def _version_of_torch(pack: Knowledge, version: Callable[[PackageRow], tuple[str, Line] | None]) -> str:
    found = next((version(package) for package in pack.defects.packages if package.package == "torch"), None)
    return found[0] if found else ""


def parts_not_read(coverage: Coverage) -> Unread:
    """Return how many inputs that may hold evidence were not read whole, and of how many."""
    missing = len(unread(coverage))
    of = sum(source.matters or source.read == "whole" for source in coverage.inputs)
    return Unread(missing, of + coverage.unlisted)


def _find_overlooked(reader: JobReader, reasoner: Reasoner, first_failures: Mapping[str, Record]) -> list[Record]:
    """Return failures that no line shows by its form.

    A log may begin inside a record whose head is cut off. Or it holds only a message, which a rule or an error word
    recognises as a failure. Or a program says in its own words why it ends.
    """
    try:
        overlooked = _read_overlooked(reader) if reasoner.quiet else []
        return overlooked or [*_find_complaints(reader, reasoner, first_failures)]
    except Exception as error:  # noqa: BLE001 - an error of ours must not cost the diagnosis
        reader.broken.add(error, next((log.name for log in reader.excerpts.logs), reader.job.name), 1)
        return []


def _read_overlooked(reader: JobReader) -> list[Record]:
    pack, logs = reader.pack, reader.excerpts.logs
    headless = [e for log in logs for e in find_headless_trace(log.name, log.first_lines(), pack.matcher.match)]
    if headless or len(logs) != 1:
        return headless
    messages = read_fallback_messages(logs[0].name, logs[0].first_lines(), pack.matcher.match)
    rules_only = Reasoner(pack.rules, pack.scanned, pack.mechanism)
    for record in messages:
        rules_only.observe(record)
    if any(finding.rule.role == "cause" for finding in rules_only.findings()[0]):
        return messages
    return [record for record in messages if record.fields.get("exception") or reports_error(record.text)]


def _find_complaints(reader: JobReader, reasoner: Reasoner, first_failures: Mapping[str, Record]) -> Iterator[Record]:
    """Yield the last words of programs whose end, or what their peers saw of it, is the first failure of their log.

    In a log without a failure they are those of a program that just ends.
    """
    for log in reader.excerpts.logs:
        first = first_failures.get(log.name)
        if first is None:
            if reasoner.quiet and not reasoner.finished:
                yield from _complaint_in(reader, log, _kept_lines(log), None)
        elif is_own_end(first):
            yield from _complaint_in(reader, log, _lines_above(first, reader.excerpts), first)
        elif (is_plain(first) or is_about_peers(first.text)) and (died := reasoner.silent_death_before(first)):
            found = _complaint_in(reader, log, _lines_above(first, reader.excerpts), died)
            yield from (complaint for complaint in found if complaint.rank == died.rank)


def _complaint_in(reader: JobReader, log: Excerpt, lines: Iterable[Line], end: Record | None) -> Iterator[Record]:
    complaint = find_complaint(log.name, lines, reader.pack.matcher.match, end)
    if complaint and not is_about_peers(complaint.text):
        yield complaint


def _kept_lines(log: Excerpt) -> list[Line]:
    return [*{line.number: line for line in (*log.first_lines(), *log.last_lines())}.values()]


def _lines_above(record: Record, excerpts: Excerpts) -> list[Line]:
    """Return the lines above the record, and its own if that says in plain words why a program ends."""
    head = record.lines[0] if record.lines else record.line
    last = head.number if is_plain(record) else head.number - 1
    return [line for line in excerpts.around(record.line, AROUND, 0) if line.number <= last]


def make_job(inputs: Input | Iterable[Input], name: str | None = None) -> Job:
    """Return the job with these inputs, by default named after the first."""
    paths = tuple(os.fspath(i) if isinstance(i, os.PathLike) else i for i in _as_inputs(inputs))
    first = paths[0] if paths else "-"
    return Job(name or ("<stdin>" if first == "-" or not isinstance(first, str) else Path(first).name or first), paths)


class JobReader:
    """The records of one job, in reading order.

    ``coverage`` and ``problems`` are complete after the last record.
    """

    def __init__(
        self,
        job: Job,
        pack: Knowledge,
        bounds: Bounds | None = None,
        watch: Watch | None = None,
        opened: Iterable[Stream] | None = None,
    ) -> None:
        """Prepare to read the streams of ``job``, or those in ``opened`` instead."""
        self.job, self.pack, self.bounds, self.watch, self._opened = job, pack, bounds or Bounds(), watch, opened
        self._totals, self._inventory = Coverage(), Inventory()
        self.problems: list[Problem] = []
        self.broken = BrokenRecords(self.problems)
        """Records that break a reader or the reasoning."""
        self._read_error: Exception | None = None
        self._scans: JobScanner | None = None
        self._symptoms = load_index(pack.rules, pack.scanned)
        if pack.repeats is not None:
            pack.repeats.begin_job()
        self.lengths: dict[str, int] = {}
        """Number of lines of each file that was read to its end."""
        self.excerpts = Excerpts()
        """Parts of the logs, kept for a second look."""

    def __iter__(self) -> Iterator[Record]:
        opened = self.job, self.problems, self.bounds, self._inventory
        for stream in open_streams(*opened) if self._opened is None else self._opened:
            yield from self.read(stream)

    def read(self, stream: Stream) -> Iterator[Record]:
        """Yield the records of one log or document."""
        if stream.document:
            yield from self._read_document(stream)
            return
        matcher, before = self.pack.matcher, self._totals
        self._scans = self._scans or matcher.job_scanner()
        parser = LineParser(stream.name, matcher.match, before.records, self._symptoms.confirm, self.pack.repeats)
        scan = self._scans(self._watched(stream, self.excerpts.record(stream.name, stream.readinto)))
        scan.is_taken = parser.is_taken
        for candidate in scan:
            try:
                records = parser.parse(candidate)
            except Exception as error:
                if error is self._read_error:  # a reader asked for more lines, and the input or the watch broke
                    raise
                self.broken.add(error, stream.name, candidate.number)
                continue
            for record in records:
                if record.failing:
                    self.excerpts.keep_around(record, candidate, scan)
                yield record
                if may_end_a_run(record):
                    scan.reset_throttle()
        self.excerpts.finish(stream.name, scan.lines)
        if len(self.lengths) < MAX_FILES:
            self.lengths[stream.name] = scan.lines
        self._inventory.add(stream.read_so_far(scan.bytes, scan.lines, parser.order - before.records, scan.cut_lines))
        self._totals = Coverage(before.files + 1, before.bytes + scan.bytes, before.lines + scan.lines, parser.order)

    def _read_document(self, stream: Stream) -> Iterator[Record]:
        before = self._totals
        reader = DocumentReader(stream, self.pack.matcher, self._symptoms.confirm, before.records)
        try:
            yield from reader.records(self._watched(stream, stream.readinto))
        except Exception as error:
            if error is self._read_error:
                raise
            self.broken.add(error, stream.name, reader.lines + 1)
            stream.fail(InputError("could not be read whole", stream.name, "it breaks its reader"))
        self._inventory.add(stream.read_so_far(reader.bytes, reader.lines, reader.order - before.records))
        self._totals = Coverage(
            before.files + 1, before.bytes + reader.bytes, before.lines + reader.lines, reader.order
        )

    @property
    def coverage(self) -> Coverage:
        """Return how much was read so far, and of which inputs."""
        inputs = self._inventory.listed()
        return replace(self._totals, inputs=inputs, unlisted=self._inventory.count - len(inputs))

    def require_input(self) -> None:
        """Raise `InputError` if nothing could be read."""
        if not self.coverage.files and self.problems:
            first = self.problems[0]
            raise InputError(first.what, first.where, first.why, first.help)

    def _watched(self, stream: Stream, read: ReadInto) -> ReadInto:
        watch = self.watch

        def readinto(buffer: memoryview) -> int:
            try:
                count = read(buffer)
                if watch is not None:
                    watch(stream.name, count)
            except Exception as error:
                self._read_error = error
                raise
            return count

        return readinto


def events(
    inputs: Input | Iterable[Input],
    *,
    rules: Sequence[str | os.PathLike[str]] = (),
    knowledge: Knowledge | None = None,
) -> Iterator[Record]:
    """Yield the records in the logs of one job, in reading order. Arguments as for `diagnose`."""
    reader = JobReader(make_job(inputs), knowledge or gather(rule_folders(rules)))
    yield from reader
    reader.require_input()
