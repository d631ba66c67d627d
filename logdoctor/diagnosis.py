"""The pipeline: open, scan, parse, reason, else guess. It connects the rooms and knows no output format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from msgspec.structs import replace

from logdoctor import regexes
from logdoctor.classifier import FeatureCounter
from logdoctor.context import add_context
from logdoctor.guessing import add_guess, build_preference
from logdoctor.knowledge import Knowledge, gather, rule_folders
from logdoctor.model import Coverage, Diagnosis, Event, InputError, Job, Problem, Stream
from logdoctor.novelty import Excerpts, add_new_templates
from logdoctor.parsers.bare_sentences import sentences
from logdoctor.parsers.complaints import complains
from logdoctor.parsers.line_parser import LineParser
from logdoctor.parsers.missing_heads import stack_at_start
from logdoctor.reasoning import Reasoner
from logdoctor.reasoning.attempts import MAX_FILES
from logdoctor.reasoning.decision import decide
from logdoctor.reasoning.spans import may_end_a_run
from logdoctor.sources import Bounds, open_streams

Input = str | os.PathLike[str] | IO[bytes]
Watch = Callable[[str, int], None]
"""Callback for progress, called with the name of the stream and the number of bytes just read."""


def diagnose(
    inputs: Input | Iterable[Input],
    *,
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
) -> Diagnosis:
    """Diagnose one job from its logs.

    ``inputs``: paths (files, folders, globs, archives; ``"-"`` is standard input) and open binary files of ONE job.
    ``rules``: folders with rules of your own, added to the shipped rules and to those of installed packages.
    ``hung``: the job hangs, so silence is a failure.
    ``knowledge``: the pack that `gather` returned, to diagnose many jobs without loading it again.
    ``model``: a classifier of your own in place of the shipped one. It is asked if the rules leave a failure open.
    ``baseline``: the log of a good run. For a failure without a rule, the report shows lines that are not in it.
    ``context``: lines above and below each quoted line to read again and report.

    Unreadable inputs and faulty rules are listed in ``problems``. Raises `InputError` if nothing could be read at all.
    """
    pack = knowledge or gather(rule_folders(rules))
    reader = JobReader(make_job(inputs, name), pack, bounds, watch)
    baseline_path = os.fspath(baseline) if baseline else ""
    diagnosis = _diagnose(reader, lang, Path(model) if model else None, baseline_path, hung=hung)
    if knowledge is None:  # a caller with a pack diagnoses many jobs and keeps the compiled patterns at the end
        regexes.keep()
    return add_context(diagnosis, reader.job, reader.bounds, context) if context else diagnosis


def diagnose_streams(
    opened: Iterable[Stream],
    *,
    name: str,
    knowledge: Knowledge,
    lang: str = "en",
    watch: Watch | None = None,
) -> Diagnosis:
    """Diagnose one job from opened logs. Other arguments are those of `diagnose`."""
    return _diagnose(JobReader(Job(name, ()), knowledge, watch=watch, opened=opened), lang)


def _diagnose(
    reader: JobReader, lang: str, model: Path | None = None, baseline: str = "", *, hung: bool = False
) -> Diagnosis:
    pack = reader.pack
    reasoner = Reasoner(pack.rules, pack.owners, hung=hung)
    counter = FeatureCounter()
    for event in observe(reader, reasoner):
        counter.observe(event)
    cut = bool(reader.problems)
    diagnosis = reasoner.conclude(reader.job.name, lang, truncated=cut, prefer=build_preference(counter, model))
    problems = (*pack.faults, *reader.problems)
    diagnosis = replace(diagnosis, coverage=reader.coverage, problems=problems, made_by=pack.made_by)
    diagnosis = add_guess(diagnosis, counter, pack, lang, model)
    diagnosis = replace(diagnosis, decision=decide(diagnosis, lang))
    return add_new_templates(diagnosis, reader.excerpts, lang, baseline)


def observe(reader: JobReader, reasoner: Reasoner) -> Iterator[Event]:
    """Let the reasoner observe each record of a job, and yield it.

    Then the overlooked records follow. After the last record the reasoner may conclude. Raises `InputError` if nothing
    could be read.
    """
    for event in reader:
        reasoner.observe(event)
        yield event
    reader.require_input()
    for event in _find_overlooked(reader) if reasoner.quiet else ():
        reasoner.observe(event)
        yield event
    reasoner.picture.lengths = reader.lengths


def _find_overlooked(reader: JobReader) -> list[Event]:
    """Return failures in logs without a line that looks like a failure.

    A log may begin inside a record whose head is cut off. Or it holds only a message, which a rule or an error word
    recognises as a failure.
    """
    pack, logs = reader.pack, reader.excerpts.logs
    headless = [e for log in logs for e in stack_at_start(log.name, log.first_lines(), pack.prefilter.match)]
    if headless or len(logs) != 1:
        return headless
    messages = sentences(logs[0].name, logs[0].first_lines(), pack.prefilter.match)
    rules_only = Reasoner(pack.rules, pack.owners)
    for event in messages:
        rules_only.observe(event)
    if any(finding.rule.role == "cause" for finding in rules_only.findings()[0]):
        return messages
    return [event for event in messages if event.fields.get("exception") or complains(event.text)]


def make_job(inputs: Input | Iterable[Input], name: str | None = None) -> Job:
    """Return the job with these inputs, by default named after the first."""
    sources: list[Any] = [inputs] if isinstance(inputs, str | os.PathLike) or hasattr(inputs, "read") else [*inputs]
    paths = tuple(os.fspath(i) if isinstance(i, os.PathLike) else i for i in sources)
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
        self.coverage = Coverage()
        self.problems: list[Problem] = []
        self.lengths: dict[str, int] = {}
        """Number of lines of each file that was read to its end."""
        self.excerpts = Excerpts()
        """Parts of the logs, kept for a second look."""

    def __iter__(self) -> Iterator[Event]:
        files = size = lines = order = 0
        prefilter = self.pack.prefilter
        scans = prefilter.job_scanner()
        for stream in open_streams(self.job, self.problems, self.bounds) if self._opened is None else self._opened:
            parser = LineParser(stream.name, prefilter.match, order, prefilter.standalone)
            scan = scans(self._readinto(stream))
            for candidate in scan:
                for event in parser.parse(candidate):
                    yield event
                    if may_end_a_run(event):
                        scan.reset_throttle()
            order = parser.order
            self.excerpts.finish(stream.name, scan.lines)
            if len(self.lengths) < MAX_FILES:
                self.lengths[stream.name] = scan.lines
            files, size, lines = files + 1, size + scan.bytes, lines + scan.lines
            self.coverage = Coverage(files, size, lines, order)

    def require_input(self) -> None:
        """Raise `InputError` if nothing could be read."""
        if not self.coverage.files and self.problems:
            first = self.problems[0]
            raise InputError(first.what, first.where, first.why, first.help)

    def _readinto(self, stream: Stream) -> Callable[[memoryview], int]:
        read = self.excerpts.record(stream.name, stream.readinto)
        watch = self.watch
        if watch is None:
            return read

        def readinto(buffer: memoryview) -> int:
            count = read(buffer)
            watch(stream.name, count)
            return count

        return readinto


def events(
    inputs: Input | Iterable[Input],
    *,
    rules: Sequence[str | os.PathLike[str]] = (),
    knowledge: Knowledge | None = None,
) -> Iterator[Event]:
    """Yield the records in the logs of one job, in reading order. Arguments as for `diagnose`."""
    reader = JobReader(make_job(inputs), knowledge or gather(rule_folders(rules)))
    yield from reader
    reader.require_input()
