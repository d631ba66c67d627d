"""The one corridor: open, scan, parse, reason, else guess.  It composes the rooms and knows no output format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from msgspec.structs import replace

from logdoctor import regexes
from logdoctor.classifier import FeatureCounter
from logdoctor.context import with_context
from logdoctor.guessing import preference, with_guess
from logdoctor.knowledge import Knowledge, gather, rule_folders
from logdoctor.model import Coverage, Diagnosis, Event, InputError, Job, Problem, Stream
from logdoctor.novelty import Excerpts, with_novelty
from logdoctor.parsers.bare_sentences import sentences
from logdoctor.parsers.complaints import complains
from logdoctor.parsers.line_parser import LineParser
from logdoctor.parsers.missing_heads import stack_at_start
from logdoctor.reasoning import Reasoner
from logdoctor.reasoning.attempts import MAX_FILES
from logdoctor.reasoning.decision import decide
from logdoctor.reasoning.spans import may_end_a_run
from logdoctor.sources import Bounds, streams

Input = str | os.PathLike[str] | IO[bytes]
Watch = Callable[[str, int], None]
"""Told of progress: the name of the stream and how many more bytes of it were read."""


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
    ``rules``: folders with rules of your own, added to ours and to those of installed packages.
    ``hung``: the job hangs, silence is a failure.
    ``knowledge``: what `gather` returned, to diagnose many jobs without loading it again.
    ``model``: a classifier of your own instead of ours; it is asked where the rules leave a failure open.
    ``baseline``: the log of a good run; of a failure that no rule knows, the lines that it never printed are shown.
    ``context``: so many lines above and below each proof are read again and kept with it.
    Whatever could not be read, and what is wrong with a faulty rule, is in ``problems``; raises `InputError` only where
    nothing could be read at all.
    """
    known = knowledge or gather(rule_folders(rules))
    reading = Reading(job_of(inputs, name), known, bounds, watch)
    good = os.fspath(baseline) if baseline else ""
    diagnosis = _concluded(reading, lang, Path(model) if model else None, good, hung=hung)
    if knowledge is None:  # who brings it diagnoses many jobs, and keeps what was compiled when they are done
        regexes.keep()
    return with_context(diagnosis, reading.job, reading.bounds, context) if context else diagnosis


def diagnose_streams(
    opened: Iterable[Stream],
    *,
    name: str,
    knowledge: Knowledge,
    lang: str = "en",
    watch: Watch | None = None,
) -> Diagnosis:
    """Diagnose one job from logs that somebody else opens, one after the other; else like `diagnose`."""
    return _concluded(Reading(Job(name, ()), knowledge, watch=watch, opened=opened), lang)


def _concluded(
    reading: Reading, lang: str, model: Path | None = None, baseline: str = "", *, hung: bool = False
) -> Diagnosis:
    known = reading.known
    reasoner = Reasoner(known.rules, known.owners, hung=hung)
    counter = FeatureCounter()
    for event in observed(reading, reasoner):
        counter.observe(event)
    cut = bool(reading.problems)
    diagnosis = reasoner.conclude(reading.job.name, lang, truncated=cut, prefer=preference(counter, model))
    problems = (*known.faults, *reading.problems)
    diagnosis = replace(diagnosis, coverage=reading.coverage, problems=problems, made_by=known.made_by)
    diagnosis = with_guess(diagnosis, counter, known, lang, model)
    diagnosis = replace(diagnosis, decision=decide(diagnosis, lang))
    return with_novelty(diagnosis, reading.excerpts, lang, baseline)


def observed(reading: Reading, reasoner: Reasoner) -> Iterator[Event]:
    """The events of ``reading`` when the ``reasoner`` has observed them, and then what was overlooked.

    When they have run out, it may conclude.  Raises `InputError` where nothing could be read.
    """
    for event in reading:
        reasoner.observe(event)
        yield event
    reading.insist()
    for event in _overlooked(reading) if reasoner.quiet else ():
        reasoner.observe(event)
        yield event
    reasoner.picture.lengths = reading.lengths


def _overlooked(reading: Reading) -> list[Event]:
    """Failures in logs that read well, of which no line has the look of one.

    A log may begin with the later lines of a record, whose head is cut off, or hold nothing but a message: one that a
    rule knows for the cause of a failure, or one that complains.
    """
    known, logs = reading.known, reading.excerpts.logs
    headless = [e for log in logs for e in stack_at_start(log.name, log.first_lines(), known.prefilter.match)]
    if headless or len(logs) != 1:
        return headless
    told = sentences(logs[0].name, logs[0].first_lines(), known.prefilter.match)
    alone = Reasoner(known.rules, known.owners)
    for event in told:
        alone.observe(event)
    if any(finding.rule.role == "cause" for finding in alone.findings()[0]):
        return told
    return [event for event in told if event.fields.get("exception") or complains(event.text)]


def job_of(inputs: Input | Iterable[Input], name: str | None = None) -> Job:
    """The job whose logs are ``inputs``; without a ``name`` it is called like the first of them."""
    given: list[Any] = [inputs] if isinstance(inputs, str | os.PathLike) or hasattr(inputs, "read") else [*inputs]
    paths = tuple(os.fspath(i) if isinstance(i, os.PathLike) else i for i in given)
    first = paths[0] if paths else "-"
    return Job(name or ("<stdin>" if first == "-" or not isinstance(first, str) else Path(first).name or first), paths)


class Reading:
    """The events of one job, one after the other; ``coverage`` and ``problems`` are whole when they have run out."""

    def __init__(
        self,
        job: Job,
        known: Knowledge,
        bounds: Bounds | None = None,
        watch: Watch | None = None,
        opened: Iterable[Stream] | None = None,
    ) -> None:
        """Nothing is opened yet; ``opened`` are streams to be read instead of those of ``job``."""
        self.job, self.known, self.bounds, self.watch, self._opened = job, known, bounds or Bounds(), watch, opened
        self.coverage = Coverage()
        self.problems: list[Problem] = []
        self.lengths: dict[str, int] = {}
        """How many lines each file has that was read to its end."""
        self.excerpts = Excerpts()
        """What is put aside of the logs for a second look."""

    def __iter__(self) -> Iterator[Event]:
        """Read all streams from start to end."""
        files = size = lines = order = 0
        prefilter = self.known.prefilter
        scans = prefilter.scans()
        for stream in streams(self.job, self.problems, self.bounds) if self._opened is None else self._opened:
            parser = LineParser(stream.name, prefilter.match, order, prefilter.alone)
            scan = scans(self._readinto(stream))
            for candidate in scan:
                for event in parser.parse(candidate):
                    yield event
                    if may_end_a_run(event):
                        scan.look_afresh()
            order = parser.order
            self.excerpts.ended(stream.name, scan.lines)
            if len(self.lengths) < MAX_FILES:
                self.lengths[stream.name] = scan.lines
            files, size, lines = files + 1, size + scan.bytes, lines + scan.lines
            self.coverage = Coverage(files, size, lines, order)

    def insist(self) -> None:
        """Raise `InputError` where nothing could be read."""
        if not self.coverage.files and self.problems:
            first = self.problems[0]
            raise InputError(first.what, first.where, first.why, first.help)

    def _readinto(self, stream: Stream) -> Callable[[memoryview], int]:
        read = self.excerpts.watched(stream.name, stream.readinto)
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
    """The events that the parsers recognise in the logs of one job, in reading order; arguments as for `diagnose`."""
    reading = Reading(job_of(inputs), knowledge or gather(rule_folders(rules)))
    yield from reading
    reading.insist()
