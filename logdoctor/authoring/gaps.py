"""The worklist of rule authors: the failure lines of many jobs that no rule explains, by template, with counts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import astuple

from logdoctor.authoring.tracing import trace
from logdoctor.knowledge import Knowledge
from logdoctor.masking import to_template
from logdoctor.model import Event, InputError, Job, Problem
from logdoctor.model.escape import escape
from logdoctor.sources.paths import may_be_log

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("count", "jobs", "unsolved", "kind", "template", "example", "line")
"""``count`` lines in ``jobs`` jobs, of which ``unsolved`` have no cause that a rule names; ``example`` is FILE:LINE of
the first, ``line`` what stands there."""
SHOWN = 300
"""Characters of an example's line."""


class Gap(Struct, frozen=True):
    """One template of one job: how often it stands there, and where first."""

    job: str
    unsolved: bool
    kind: str
    template: str
    count: int
    example: str
    line: str


class Worklist(Struct):
    """The gaps of all jobs that could be read, how many these were, and what could not be read."""

    gaps: list[Gap] = field(default_factory=list)
    jobs: int = 0
    problems: list[Problem] = field(default_factory=list)


def jobs_of(paths: Iterable[str]) -> Iterator[Job]:
    """Each path is one job as `diagnose` takes it; but of a folder that has folders in it, each child is a job."""
    for path in paths:
        children = _children(path)
        if any(map(os.path.isdir, children)):
            yield from (Job(os.path.basename(child), (child,)) for child in children)  # noqa: PTH119
        else:
            yield Job(Path(path).name or path, (path,))


def _children(path: str) -> list[str]:
    """What may be or hold a log in a folder; nothing if it is none, or may not be read (the job's reader says so)."""
    try:
        names = sorted(os.listdir(path))  # noqa: PTH208 - never asks what the entries are
    except OSError:
        return []
    full = [(name, os.path.join(path, name)) for name in names]  # noqa: PTH118
    return [child for name, child in full if may_be_log(f"{name}/x" if os.path.isdir(child) else name)]  # noqa: PTH112


def find_gaps(paths: Iterable[str], known: Knowledge, told: Callable[[str], None] = lambda _: None) -> Worklist:
    """What no rule explains in each job.  A job that cannot be read is a problem and ends nothing.

    ``told`` hears the name of each job that is begun.
    """
    found = Worklist()
    for job in jobs_of(paths):
        told(job.name)
        try:
            seen = trace(job, known)
        except InputError as error:
            found.problems.append(error.as_problem())
            continue
        found.jobs += 1
        found.problems += seen.problems
        found.gaps += _of_job(str(job.paths[0]), seen.unaccounted, unsolved=seen.unsolved)
    return found


def _of_job(job: str, events: Iterable[Event], *, unsolved: bool) -> Iterator[Gap]:
    groups: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        groups.setdefault((event.kind, escape(to_template(event.text))), []).append(event)
    for (kind, masked), group in groups.items():
        first = group[0].line
        yield Gap(job, unsolved, kind, masked, len(group), f"{first.file}:{first.number}", escape(first.text[:SHOWN]))


def table(gaps: Iterable[Gap], top: int | None = None) -> pd.DataFrame:
    """One row a template, `COLUMNS`; first those of most jobs without a cause, then of most jobs, then lines."""
    import pandas as pd

    frame = pd.DataFrame(map(astuple, gaps), columns=[*Gap.__struct_fields__])
    grouped = frame.groupby(["kind", "template"], sort=True, as_index=False).agg(
        count=("count", "sum"),
        jobs=("job", "nunique"),
        unsolved=("unsolved", "sum"),
        example=("example", "first"),
        line=("line", "first"),
    )
    order = ["unsolved", "jobs", "count", "kind", "template"]
    grouped = grouped.sort_values(order, ascending=[False, False, False, True, True], ignore_index=True)
    return grouped[list(COLUMNS)].head(top)
