"""The worklist of failure lines that no rule explains, counted by template."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct, field

from logdoctor.authoring.tracing import trace
from logdoctor.inputs.paths import may_be_log
from logdoctor.model import InputError, Job, Problem, Record
from logdoctor.model.escape import escape
from logdoctor.pipeline.knowledge import Knowledge
from logdoctor.pipeline.masking import to_template

MOST_CHARACTERS = 300
"""Of the line of an example."""


class Gap(Struct, frozen=True):
    """A template of failure lines in one job, with the first of these lines."""

    job: str
    unsolved: bool
    kind: str
    template: str
    count: int
    example: str
    line: str


class GapRow(Struct, frozen=True):
    """A template of failure lines, with ``count`` lines in ``jobs`` jobs.

    No rule names a cause in ``unsolved`` of these jobs. ``example`` is FILE:LINE of the first line, ``line`` its text.
    """

    count: int
    jobs: int
    unsolved: int
    kind: str
    template: str
    example: str
    line: str


class Worklist(Struct):
    """The gaps of all readable jobs, the number of these, and all problems."""

    gaps: list[Gap] = field(default_factory=list)
    jobs: int = 0
    problems: list[Problem] = field(default_factory=list)


def jobs_of(paths: Iterable[str]) -> Iterator[Job]:
    """Yield one job per path. If a path is a folder of folders, yield one job per child."""
    for path in paths:
        children = _children(path)
        if any(map(os.path.isdir, children)):
            yield from (Job(os.path.basename(child), (child,)) for child in children)  # noqa: PTH119
        else:
            yield Job(Path(path).name or path, (path,))


def _children(path: str) -> list[str]:
    """Return the logs and folders in ``path``. Return nothing if the folder cannot be read: its job reports that."""
    try:
        names = sorted(os.listdir(path))  # noqa: PTH208 - asks for no file type
    except OSError:
        return []
    full = [(name, os.path.join(path, name)) for name in names]  # noqa: PTH118
    return [child for name, child in full if may_be_log(f"{name}/x" if os.path.isdir(child) else name)]  # noqa: PTH112


def find_gaps(
    paths: Iterable[str], knowledge: Knowledge, report_job: Callable[[str], None] = lambda _: None
) -> Worklist:
    """Find the lines of each job that no rule explains. An unreadable job becomes a problem of the worklist.

    ``report_job`` is called with the name of each job before the job is read.
    """
    worklist = Worklist()
    for job in jobs_of(paths):
        report_job(job.name)
        try:
            result = trace(job, knowledge)
        except InputError as error:
            worklist.problems.append(error.as_problem())
            continue
        worklist.jobs += 1
        worklist.problems += result.problems
        worklist.gaps += _gaps_of_job(str(job.paths[0]), result.unaccounted, unsolved=result.unsolved)
    return worklist


def _gaps_of_job(job: str, records: Iterable[Record], *, unsolved: bool) -> Iterator[Gap]:
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record.kind, escape(to_template(record.text))), []).append(record)
    for (kind, masked), group in groups.items():
        first = group[0].line
        place, text = f"{first.file}:{first.number}", escape(first.text[:MOST_CHARACTERS])
        yield Gap(job, unsolved, kind, masked, len(group), place, text)


def count_gaps(gaps: Iterable[Gap], top: int | None = None) -> list[GapRow]:
    """Return one row per template. The templates of most unsolved jobs come first."""
    groups: dict[tuple[str, str], list[Gap]] = {}
    for gap in gaps:
        groups.setdefault((gap.kind, gap.template), []).append(gap)
    rows = [
        GapRow(
            sum(gap.count for gap in group),
            len({gap.job for gap in group}),
            sum(gap.unsolved for gap in group),
            kind,
            template,
            group[0].example,
            group[0].line,
        )
        for (kind, template), group in groups.items()
    ]
    return sorted(rows, key=lambda row: (-row.unsolved, -row.jobs, -row.count, row.kind, row.template))[:top]
