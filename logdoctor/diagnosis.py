"""The one corridor: open, scan, parse, reason.  It composes the rooms and knows no output format."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO

from logdoctor.knowledge import Knowledge, gather
from logdoctor.model import Coverage, Diagnosis, InputError, Job, Problem, Stream
from logdoctor.parsers import records
from logdoctor.parsers.line_parser import LineParser
from logdoctor.reasoning import Reasoner
from logdoctor.rulebook import shipped_rules
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
) -> Diagnosis:
    """Diagnose one job from its logs.

    ``inputs``: paths (files, folders, globs, archives; ``"-"`` is standard input) and open binary files of ONE job.
    ``rules``: folders with rules of your own, added to ours.  ``hung``: the job hangs, silence is a failure.
    ``knowledge``: what `gather` returned, to diagnose many jobs without loading it again.
    Whatever could not be read is in ``problems``; raises `InputError` only where nothing could be read at all, and
    `logdoctor.rulebook.RulesError` for faulty rules.
    """
    given = [inputs] if isinstance(inputs, (str, os.PathLike)) or hasattr(inputs, "read") else list(inputs)
    paths = tuple(os.fspath(i) if isinstance(i, os.PathLike) else i for i in given)
    job = Job(name or _name(paths), paths)  # type: ignore[arg-type]
    known = knowledge or gather([shipped_rules(), *map(Path, rules)])
    notes = {r.kind: r.note for r in records() if r.note}
    reasoner = Reasoner(known.rules, known.owners, notes, hung=hung)
    problems: list[Problem] = []
    coverage = _read(job, known, reasoner, problems, bounds or Bounds(), watch)
    if not coverage.files and problems:
        raise InputError(problems[0].what, problems[0].where, problems[0].why, problems[0].help)
    diagnosis = reasoner.conclude(job.name, lang, truncated=bool(problems))
    return dataclasses.replace(diagnosis, coverage=coverage, problems=tuple(problems))


def _name(paths: Sequence[object]) -> str:
    first = paths[0] if paths else "-"
    return "<stdin>" if first == "-" or not isinstance(first, str) else Path(first).name or first


def _read(
    job: Job, known: Knowledge, reasoner: Reasoner, problems: list[Problem], bounds: Bounds, watch: Watch | None
) -> Coverage:
    files = size = lines = order = 0
    for stream in streams(job, problems, bounds):
        parser = LineParser(stream.name, known.prefilter.match, order)
        scan = known.prefilter.scan(_watched(stream, watch))
        for candidate in scan:
            for event in parser.parse(candidate):
                reasoner.observe(event)
        order = parser.order
        files, size, lines = files + 1, size + scan.bytes, lines + scan.lines
    return Coverage(files, size, lines, order)


def _watched(stream: Stream, watch: Watch | None) -> Callable[[memoryview], int]:
    if watch is None:
        return stream.readinto

    def readinto(buffer: memoryview) -> int:
        count = stream.readinto(buffer)
        watch(stream.name, count)
        return count

    return readinto
