"""Which files belong to one job: a folder a job, Slurm's pairs, torchrun's log folders, a file a rank or a job.

Nothing but names is looked at, so files of a folder, of an archive and of a bucket are grouped alike.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

How = Literal["pattern", "torchrun", "slurm", "folder", "file", "archive"]

_PACKED = r"(?:\.(?:gz|bz2|xz|zst))?"
_ENDING = re.compile(rf"(?:\.(?:out|err|log|txt|stdout|stderr|json|jsonl|ndjson))*{_PACKED}(?:\.\d{{1,3}}{_PACKED})?$")
_ARCHIVE = re.compile(r"\.(?:tar|tgz|tbz2?|txz|tzst|zip)(?:\.(?:gz|bz2|xz|zst))?$")
_SLURM = re.compile(
    rf"^(?P<stem>.*?)(?:^|[-_.])(?P<id>\d{{4,12}})(?P<task>_\d{{1,7}})?(?:[-_.](?:[a-z]*[-_]?\d{{1,5}}|[0-9+]+))?"
    rf"\.(?:out|err|log|txt|o|e){_PACKED}$"
)
"""``slurm-%j.out``, ``%x-%j.err``, ``%x_%A_%a.out``, each perhaps with a task or node behind it (``%t``, ``%n``)."""
_PART = re.compile(
    r"(?:^|[-_.])(?:(?:local_?|global_?)?rank|worker|node|host|proc(?:ess)?|task|pod|trainer|replica|gpu|machine|actor|"
    r"launcher|master|rasn?|rk|r)s?[-_.]?\d+(?:$|[-_.])|^(?:log[-_.]?)?\d{1,4}(?:$|\.)|\.\d{1,4}$"
)
"""A name that says which part of one job it is."""
_PLACE = re.compile(
    r"^(?:attempt|rank|local_?rank|worker|node|host|task|proc|pod|replica|restart|run|try)s?[-_.]?\d+$"
    r"|^(?:std)?(?:out|err)(?:put)?s?$|^logs?$|^(?:ranks|workers|nodes|hosts|tasks|attempts|ray|session_.*|torchelastic.*)$"
)
"""A folder that is a part of a job and no job."""
_ATTEMPT = re.compile(r"^attempt_\d+$")
_RUN = re.compile(r"^(?P<id>.+)_[a-z0-9_]{8}$")
"""torchrun's ``<run id>_<random>`` (torch/distributed/elastic/multiprocessing/api.py 2.9, `tempfile.mkdtemp`)."""


DEEPEST = 64
"""Folders below this depth are taken for a part of the file's name: an archive may tell of thousands in each other."""


class Group(Struct, frozen=True):
    """The files of one job.  ``job`` is its name below the place that was scanned ("" for the place itself)."""

    job: str
    names: tuple[str, ...]
    how: How


class _Folder(Struct):
    files: list[str] = field(default_factory=list)
    folders: dict[str, _Folder] = field(default_factory=dict)

    def all(self) -> list[str]:
        """Every file below, in order."""
        return [*self.files, *(name for _, inner in sorted(self.folders.items()) for name in inner.all())]


def is_archive(name: str) -> bool:
    """Whether a name is that of an archive, which may hold many files."""
    return _ARCHIVE.search(name.lower()) is not None


def group(names: Iterable[str], pattern: re.Pattern[str] | None = None) -> list[Group]:
    """The jobs that files with these names (relative, with ``/``) are of, by name.

    ``pattern`` is searched in each name instead: what its group ``job`` (else its first group, else all) matched is the
    job; files that it does not match are left out.
    """
    ordered = sorted(names)
    if pattern is not None:
        return _by_pattern(ordered, pattern)
    tree = _Folder()
    for name in ordered:
        *folders, _ = name.split("/", DEEPEST)
        place = tree
        for folder in folders:
            place = place.folders.setdefault(folder, _Folder())
        place.files.append(name)
    return sorted(_apart(_jobs("", tree)), key=lambda g: g.job)


def _apart(found: Sequence[Group]) -> Iterator[Group]:
    """Jobs with names of their own: a file ``a.log`` beside a folder ``a`` is known by its whole name."""
    named = Counter(own.job for own in found)
    for own in found:
        yield replace(own, job=own.names[0]) if named[own.job] > 1 and own.how in ("file", "slurm") else own


def _by_pattern(names: Sequence[str], pattern: re.Pattern[str]) -> list[Group]:
    found: dict[str, list[str]] = {}
    for name in names:
        hit = pattern.search(name)
        if hit:
            job = hit.groupdict().get("job") or (hit.group(1) if pattern.groups else hit.group())
            found.setdefault(job or hit.group(), []).append(name)
    return [Group(job, tuple(own), "pattern") for job, own in sorted(found.items())]


def _jobs(path: str, folder: _Folder) -> list[Group]:
    """The jobs in a folder and below it."""
    inner = folder.folders
    if any(_ATTEMPT.match(name) for name in inner):
        return [Group(path, tuple(folder.all()), "torchrun")]
    runs = {name: hit["id"] for name in inner if (hit := _RUN.match(name)) and _holds_attempts(inner[name])}
    if runs:
        return _runs(path, folder, runs)
    slurm = _slurm(folder.files)
    others = [name for name in folder.files if name not in {n for own in slurm.values() for n in own}]
    places = inner.keys() if _are_places(inner) else set()
    if len(slurm) > 1:
        return [
            *(Group(_join(path, job), tuple(own), "slurm") for job, own in slurm.items()),
            *_loose(path, others),
            *_below(path, inner),
        ]
    whole = (path or slurm or places or all(map(_is_part, folder.files))) and folder.files
    if (whole and len(places) == len(inner)) or (places and len(places) == len(inner)):
        return [Group(path, tuple(folder.all()), "slurm" if slurm and not path else "folder")]
    return [*_loose(path, folder.files), *_below(path, inner)]


def _holds_attempts(folder: _Folder) -> bool:
    return any(_ATTEMPT.match(name) for name in folder.folders)


def _runs(path: str, folder: _Folder, runs: Mapping[str, str]) -> list[Group]:
    """The log folder of torchrun: each node made a folder of its own for the run."""
    nodes: dict[str, list[str]] = {}
    for name, run in sorted(runs.items()):
        nodes.setdefault(run, []).extend(folder.folders[name].all())
    if len(nodes) == 1:
        return [Group(path, tuple(folder.all()), "torchrun")]
    rest = {name: inner for name, inner in folder.folders.items() if name not in runs}
    found = [Group(_join(path, run), tuple(own), "torchrun") for run, own in nodes.items()]
    return [*found, *_loose(path, folder.files), *_below(path, rest)]


def _slurm(files: Iterable[str]) -> dict[str, list[str]]:
    """The files that carry a Slurm job's number, by number and array task."""
    found: dict[str, list[str]] = {}
    for name in files:
        hit = _SLURM.match(name.rpartition("/")[2])
        if hit:
            found.setdefault(hit["id"] + (hit["task"] or ""), []).append(name)
    return found


def _are_places(folders: Mapping[str, object]) -> bool:
    """Whether folders are parts of one job: ranks, nodes, attempts; or numbered from zero."""
    if not folders:
        return False
    numbers = {int(name) for name in folders if name.isdecimal() and len(name) < 5}
    return numbers == set(range(len(folders))) or all(_PLACE.match(name.lower()) for name in folders)


def _is_part(name: str) -> bool:
    return _PART.search(_ENDING.sub("", name.rpartition("/")[2].lower())) is not None and not is_archive(name)


def _loose(path: str, files: Iterable[str]) -> list[Group]:
    """Files that are a job each; output and error, and the rotated parts of a log, go together."""
    found: dict[str, list[str]] = {}
    archives = list[Group]()
    for name in files:
        if is_archive(name):
            archives.append(Group(name, (name,), "archive"))
        else:
            found.setdefault(_ENDING.sub("", name), []).append(name)
    return [*archives, *(Group(stem or path, tuple(own), "file") for stem, own in found.items())]


def _below(path: str, folders: Mapping[str, _Folder]) -> list[Group]:
    return [job for name, folder in sorted(folders.items()) for job in _jobs(_join(path, name), folder)]


def _join(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name
