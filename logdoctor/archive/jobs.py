"""Find the jobs of an archive."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct

from logdoctor.archive.file_listing import File, list_files, list_members
from logdoctor.inputs.grouping import Group, GroupedBy, group_files, is_archive
from logdoctor.inputs.many_jobs import read_start, without_documents
from logdoctor.inputs.paths import is_remote, sort_for_reading
from logdoctor.inputs.remote import mask_urls
from logdoctor.model import InputError, Problem


class JobFiles(Struct, frozen=True):
    """The files of one job.

    - ``name``: path of the folder, file or archive in which the job was found.  It identifies the job.
    - ``folder``: the folder, if all its files belong to the job.
    - ``members``: names of the job's logs inside the packed archive ``paths[0]``, if that holds several jobs.
    - ``stamp``: hash of names, sizes and times of the files.
    - ``changed``: time of the latest change (seconds since 1970).
    """

    name: str
    paths: tuple[str, ...]
    grouped_by: GroupedBy
    size: int
    stamp: str
    changed: float
    user: str = ""
    members: tuple[str, ...] = ()
    folder: str = ""
    follow_links: bool = False
    scattered: bool = False
    """The members do not follow each other in the archive."""


class Filters(Struct, frozen=True):
    """Choice of jobs and files.

    A job is accepted if its latest file changed in ``[since, until)`` (seconds since 1970).
    ``follow_links``: links out of the scanned folder are followed.
    """

    pattern: re.Pattern[str] | None = None
    since: float | None = None
    until: float | None = None
    follow_links: bool = False

    def accepts(self, job: JobFiles) -> bool:
        return (self.since is None or job.changed >= self.since) and (self.until is None or job.changed < self.until)


def find_jobs(places: Sequence[str], filters: Filters, problems: list[Problem]) -> list[JobFiles]:
    """Find all jobs at ``places``, sorted by name, without duplicates.

    Places are folders, files, archives and URLs.  A place or a folder that cannot be listed is added to ``problems``.
    """
    jobs: dict[str, JobFiles] = {}
    for place in places:
        try:
            files = {file.name: file for file in list_files(place, problems, follow_links=filters.follow_links)}
        except InputError as error:
            problems.append(error.as_problem())
            continue
        names = without_documents((file.name, file.path) for file in files.values())
        for group in group_files(names, filters.pattern, partial(_start_of, files)):
            for job in _jobs_of_group(place, group, files, filters, problems):
                jobs.setdefault(job.name, job)
    return [job for _, job in sorted(jobs.items()) if filters.accepts(job)]


def _jobs_of_group(
    place: str, group: Group, files: dict[str, File], filters: Filters, problems: list[Problem]
) -> Iterator[JobFiles]:
    """Yield the jobs of a group of files. There is one job, unless the group is a packed archive of several jobs."""
    own_files = [files[name] for name in group.names]
    first = own_files[0]
    name = _job_name(place, group.job if first.path != place else "")
    paths = sort_for_reading([file.path for file in own_files])
    is_folder = group.whole and first.path != place and not is_remote(place)
    job = JobFiles(
        name,
        tuple(paths),
        group.grouped_by,
        sum(file.size for file in own_files),
        _stamp(own_files),
        max(file.changed for file in own_files),
        first.owner,
        folder=os.path.join(place, group.job) if is_folder else "",  # noqa: PTH118 - pathlib would change the name
        follow_links=filters.follow_links,
    )
    if len(own_files) != 1 or not is_archive(first.name):
        yield job
        return
    members = list_members(first.path, problems)
    inner_groups = group_files(members, filters.pattern)
    if len(inner_groups) < 2:
        yield job
        return
    job_of = {name: inner.job for inner in inner_groups for name in inner.names}
    order = [job_of[name] for name in members if name in job_of]
    stretches = Counter(name for before, name in zip([None, *order], order, strict=False) if name != before)
    for inner in inner_groups:
        name, scattered = _encodable(mask_urls(f"{first.path}:{inner.job}")), stretches[inner.job] > 1
        yield JobFiles(
            name, job.paths, inner.grouped_by, 0, job.stamp, job.changed, job.user, inner.names, scattered=scattered
        )


def _start_of(files: Mapping[str, File], name: str) -> bytes:
    return read_start(files[name].path)


def _job_name(place: str, below: str) -> str:
    return _encodable(mask_urls(f"{place.rstrip('/')}/{below}" if below else place.rstrip("/") or "/"))


def _encodable(name: str) -> str:
    r"""Return ``name`` as valid UTF-8.

    A byte of a file name that is not UTF-8 becomes text such as ``\udcff``.
    """
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _stamp(files: Sequence[File]) -> str:
    """Hash the names, sizes and times of ``files``."""
    digest = hashlib.blake2b(digest_size=12)
    for file in files:
        digest.update(f"{file.name}\0{file.size}\0{file.changed:.6f}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
