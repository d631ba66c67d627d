"""The jobs of an archive, found and told apart: what a scan works through."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from logdoctor.model import InputError, Problem
from logdoctor.scan.file_listing import File, list_files, members
from logdoctor.scan.grouping import Group, How, group, is_archive


class FoundJob(Struct, frozen=True):
    """A job to be diagnosed.

    ``name`` is the path of what it was found in, and is what the job is known by.  ``paths`` are its files; where a
    packed archive holds several jobs, ``members`` are the job's own names in it.  ``stamp`` changes when a file does.
    """

    name: str
    paths: tuple[str, ...]
    how: How
    size: int
    stamp: str
    changed: float
    user: str = ""
    members: tuple[str, ...] = ()
    scattered: bool = False
    """Its members do not follow each other in the archive."""


class Filters(Struct, frozen=True):
    """Which jobs are wanted: those whose latest file changed in ``[since, until)`` (seconds since 1970)."""

    pattern: re.Pattern[str] | None = None
    since: float | None = None
    until: float | None = None

    def wants(self, job: FoundJob) -> bool:
        """Whether ``job`` is one of them."""
        return (self.since is None or job.changed >= self.since) and (self.until is None or job.changed < self.until)


def find_jobs(places: Sequence[str], filters: Filters, problems: list[Problem]) -> list[FoundJob]:
    """All jobs at ``places`` (folders, files, archives, URLs), by name; each once.

    A place or a folder that cannot be listed goes to ``problems``.
    """
    found: dict[str, FoundJob] = {}
    for place in places:
        try:
            files = {file.name: file for file in list_files(place, problems)}
        except InputError as error:
            problems.append(error.as_problem())
            continue
        for own in group(files, filters.pattern):
            for job in _jobs(place, own, files, filters, problems):
                found.setdefault(job.name, job)
    return [job for _, job in sorted(found.items()) if filters.wants(job)]


def _jobs(
    place: str, own: Group, files: dict[str, File], filters: Filters, problems: list[Problem]
) -> Iterator[FoundJob]:
    """The jobs of a group of files: one, but for an archive that holds several."""
    mine = [files[name] for name in own.names]
    whole = FoundJob(
        _place(place, own.job if mine[0].path != place else ""),
        tuple(file.path for file in mine),
        own.how,
        sum(file.size for file in mine),
        _stamp(mine),
        max(file.changed for file in mine),
        mine[0].owner,
    )
    if len(mine) != 1 or not is_archive(mine[0].name):
        yield whole
        return
    names = members(mine[0].path, problems)
    inner = group(names, filters.pattern)
    if len(inner) < 2:
        yield whole
        return
    owner = {name: each.job for each in inner for name in each.names}
    order = [owner[name] for name in names if name in owner]
    parts = Counter(job for before, job in zip([None, *order], order, strict=False) if job != before)
    for each in inner:
        name, apart = _printable(f"{mine[0].path}:{each.job}"), parts[each.job] > 1
        yield FoundJob(name, whole.paths, each.how, 0, whole.stamp, whole.changed, whole.user, each.names, apart)


def _place(place: str, below: str) -> str:
    return _printable(f"{place.rstrip('/')}/{below}" if below else place.rstrip("/") or "/")


def _printable(name: str) -> str:
    r"""``name`` as text that can be written down: bytes of a file name that are no UTF-8 are spelt ``\udcff``."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _stamp(files: Sequence[File]) -> str:
    """Changes when a file comes, goes, grows or is written again."""
    digest = hashlib.blake2b(digest_size=12)
    for file in files:
        digest.update(f"{file.name}\0{file.size}\0{file.changed:.6f}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
