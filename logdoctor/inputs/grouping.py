"""Groups files into jobs by their names.

Conventions: a folder per job, Slurm's output and error files, torchrun's log folders, a file per rank or per job.
Names decide, so files of a folder, of an archive and of a bucket are grouped alike.  Only folders of hosts are told
from folders of jobs by what is in them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from logdoctor.inputs.host_folders import SEEN_FILES, SEEN_FOLDERS, are_hosts_of_one_job
from logdoctor.model.numbers import number

GroupedBy = Literal["pattern", "torchrun", "slurm", "folder", "file", "archive"]

_COMPRESSION = r"(?:\.(?:gz|bz2|xz|zst))?"
_EXTENSIONS = re.compile(
    rf"(?:\.(?:out|err|log|txt|stdout|stderr|json|jsonl|ndjson))*{_COMPRESSION}(?:\.\d{{1,3}}{_COMPRESSION})?$"
)
_ARCHIVE = re.compile(r"\.(?:tar|tgz|tbz2?|txz|tzst|zip)(?:\.(?:gz|bz2|xz|zst))?$")
_SLURM = re.compile(
    rf"^(?P<stem>.*?)(?:^|[-_.])(?P<id>\d{{4,12}})(?P<task>_\d{{1,7}})?(?:[-_.](?:[a-z]*[-_]?\d{{1,5}}|[0-9+]+))?"
    rf"\.(?P<kind>out|err|log|txt|o|e){_COMPRESSION}$"
)
"""``slurm-%j.out``, ``%x-%j.err``, ``%x_%A_%a.out``, each perhaps followed by a task or node (``%t``, ``%n``)."""
_SAYS_JOB = re.compile(r"(?:^|[-_.])(?:slurm|sbatch|job|jobid|pbs|lsf)$")
_DATE = re.compile(r"^(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:\d{4})?$")
_PART_FILE = re.compile(
    r"(?:^|[-_.])(?:(?:local_?|global_?)?rank|worker|node|host|proc(?:ess)?|task|pod|trainer|replica|gpu|machine|actor|"
    r"launcher|master|rasn?|rk|r)s?[-_.]?\d+(?:$|[-_.])|^(?:log[-_.]?)?\d{1,4}(?:$|\.)|\.\d{1,4}$"
)
"""A file of one rank, node or process, for example ``rank3`` or ``worker-0``."""
_PART_FOLDER = re.compile(
    r"^(?:attempt|rank|local_?rank|worker|node|host|task|proc|pod|replica|restart|run|try)s?[-_.]?\d+$"
    r"|^(?:std)?(?:out|err)(?:put)?s?$|^logs?$|^(?:ranks|workers|nodes|hosts|tasks|attempts|ray|session_.*|torchelastic.*)$"
    r"|^(?:wandb|tensorboard|tb(?:_logs)?|lightning_logs|mlruns|checkpoints?|ckpts?|confs?|configs?|hydra|code|src|cores?|"
    r"dumps?|traces?|profil(?:e|er|es|ing)|metrics|nccl|dmesg|journals?|syslogs?|kernel|env)$"
)
"""A folder that holds a part of a job, for example ``rank_1``, ``stderr`` or ``logs``."""
_JOB_FOLDER = re.compile(r"(?:^|/)(?:job|jobid|slurm)[-_.]?\d+$")
"""A folder whose name says that it holds one job, for example ``job-4711``."""
_HOLDER = re.compile(r"^logs?$|^(?:std)?(?:out|err)(?:put)?s?$")
"""A folder for the logs of one job, or of many."""
_RANK = re.compile(r"(?:^|[/_.-])rank[-_]?(\d{1,7})(?=$|[/_.-])")
_ATTEMPT = re.compile(r"^attempt_\d+$")
_RUN = re.compile(r"^(?P<id>.+)_[a-z0-9_]{8}$")
"""torchrun's ``<run id>_<random>`` (torch/distributed/elastic/multiprocessing/api.py 2.9, `tempfile.mkdtemp`)."""


_NUMBER = re.compile(r"\d+")
MAX_DEPTH = 64
"""Deeper folders count as a part of the file name, because an archive may hold thousands of nested folders."""


class Group(Struct, frozen=True):
    """The files of one job.

    ``job`` is the name of the job, relative to the scanned place.  It is empty if the place itself is the job.
    """

    job: str
    names: tuple[str, ...]
    grouped_by: GroupedBy
    whole: bool = False
    """The files are all files of the folder ``job``."""


class _Folder(Struct):
    files: list[str] = field(default_factory=list)
    folders: dict[str, _Folder] = field(default_factory=dict)

    def all_files(self) -> list[str]:
        return [*self.files, *(name for _, inner in sorted(self.folders.items()) for name in inner.all_files())]


def is_archive(name: str) -> bool:
    """Return whether ``name`` is that of an archive, such as ``a.tar.gz``."""
    return _ARCHIVE.search(name.lower()) is not None


def group_files(
    names: Iterable[str], pattern: re.Pattern[str] | None = None, read_start: Callable[[str], bytes] = lambda _: b""
) -> list[Group]:
    """Group file names (relative, with ``/``) into jobs, sorted by job.

    ``a/rank0.log``, ``a/rank1.log`` and ``b/x.log`` give the jobs ``a`` and ``b``.

    With ``pattern`` the text that its group ``job`` matches is the job.  Without such a group the first group counts,
    else the complete match.  Files without a match are left out.

    ``read_start`` returns the first bytes of a file.  A few files are read if the names do not tell whether folders are
    hosts of one job.
    """
    ordered = sorted(names)
    if pattern is not None:
        return _group_by_pattern(ordered, pattern)
    root = _Folder()
    for name in ordered:
        *parents, _ = name.split("/", MAX_DEPTH)
        folder = root
        for parent in parents:
            folder = folder.folders.setdefault(parent, _Folder())
        folder.files.append(name)
    return sorted(_make_names_unique(_Grouping(read_start).group("", root)), key=lambda g: g.job)


def find_many_jobs(groups: Sequence[Group]) -> list[str]:
    """Return the names of all jobs if ``groups`` of one folder are surely different jobs.

    Such are runs of torchrun, files with different job ids, folders called ``job-1`` and ``job-2``, and folders side by
    side with files of the same names.
    Loose files may be parts of one job, whatever their names are.
    """
    sure = [group.job for group in groups if group.job and _is_surely_job(group)]
    shapes: dict[tuple[str, str], set[str]] = {}
    for group in groups:
        parent = group.job.rpartition("/")[0]
        for name in group.names if group.grouped_by == "folder" and group.job else ():
            shapes.setdefault((parent, _NUMBER.sub("0", name.removeprefix(group.job))), set()).add(group.job)
    alike = set().union(*(jobs for jobs in shapes.values() if len(jobs) > 1))
    return [group.job for group in groups] if len({*sure, *alike}) > 1 else []


def _is_surely_job(group: Group) -> bool:
    return group.grouped_by in ("slurm", "torchrun") or _JOB_FOLDER.search(group.job) is not None


def _make_names_unique(groups: Sequence[Group]) -> Iterator[Group]:
    """Make the names of jobs unique.

    A job of one file gets the complete file name if another job has the same name.  A file ``a.log`` beside a folder
    ``a`` gives the jobs ``a.log`` and ``a``.
    """
    counts = Counter(group.job for group in groups)
    for group in groups:
        ambiguous = counts[group.job] > 1 and group.grouped_by in ("file", "slurm")
        yield replace(group, job=group.names[0]) if ambiguous else group


def _group_by_pattern(names: Sequence[str], pattern: re.Pattern[str]) -> list[Group]:
    files: dict[str, list[str]] = {}
    for name in names:
        match = pattern.search(name)
        if match:
            job = match.groupdict().get("job") or (match.group(1) if pattern.groups else match.group())
            files.setdefault(job or match.group(), []).append(name)
    return [Group(job, tuple(own_files), "pattern") for job, own_files in sorted(files.items())]


class _Grouping:
    """Grouping of one tree of folders."""

    def __init__(self, read_start: Callable[[str], bytes]) -> None:
        self._read_start = read_start

    def group(self, path: str, folder: _Folder) -> list[Group]:
        """Return the jobs in ``folder`` and in the folders below."""
        inner = folder.folders
        if any(_ATTEMPT.match(name) for name in inner):
            return [Group(path, tuple(folder.all_files()), "torchrun", whole=True)]
        runs = {name: match["id"] for name in inner if (match := _RUN.match(name)) and _has_attempts(inner[name])}
        if runs:
            return self._group_torchrun(path, folder, runs)
        slurm = _slurm_files(path, folder.files)
        others = [name for name in folder.files if name not in {n for own_files in slurm.values() for n in own_files}]
        if len(slurm) > 1:
            return [
                *(Group(_join(path, job), tuple(own_files), "slurm") for job, own_files in slurm.items()),
                *_group_loose_files(path, others),
                *self._group_folders(path, inner),
            ]
        parts = self._job_parts(inner)
        is_job = parts or (folder.files and (path or slurm or all(map(_is_part_file, folder.files))))
        if is_job and len(parts) == len(inner):
            return [Group(path, tuple(folder.all_files()), "slurm" if slurm and not path else "folder", whole=True)]
        return [*_group_loose_files(path, folder.files), *self._group_folders(path, inner)]

    def _group_torchrun(self, path: str, folder: _Folder, runs: Mapping[str, str]) -> list[Group]:
        """Group the files of a log folder of torchrun.

        Each node makes a folder of its own for the same run.  ``runs`` maps a folder name to the id of its run.
        """
        files_of_run: dict[str, list[str]] = {}
        for name, run in sorted(runs.items()):
            files_of_run.setdefault(run, []).extend(folder.folders[name].all_files())
        if len(files_of_run) == 1:
            return [Group(path, tuple(folder.all_files()), "torchrun", whole=True)]
        rest = {name: inner for name, inner in folder.folders.items() if name not in runs}
        groups = [Group(_join(path, run), tuple(own_files), "torchrun") for run, own_files in files_of_run.items()]
        return [*groups, *_group_loose_files(path, folder.files), *self._group_folders(path, rest)]

    def _group_folders(self, path: str, folders: Mapping[str, _Folder]) -> list[Group]:
        return [job for name, folder in sorted(folders.items()) for job in self.group(_join(path, name), folder)]

    def _job_parts(self, folders: Mapping[str, _Folder]) -> set[str]:
        """Return the names of ``folders`` if all of them are parts of one job.

        Such folders are named after ranks, nodes or attempts, are numbered from zero on, or are the hosts of a job.
        """
        names = set(folders)
        numbers = {number(name) for name in names} - {None}
        is_split = numbers == set(range(len(names))) or all(self._is_part(name, folders[name]) for name in names)
        return names if is_split or _have_own_ranks(folders) or self._are_hosts(folders) else set()

    def _is_part(self, name: str, folder: _Folder) -> bool:
        low = name.lower()
        if _HOLDER.match(low):
            return len(self.group(name, folder)) < 2
        return _PART_FOLDER.match(low) is not None

    def _are_hosts(self, folders: Mapping[str, _Folder]) -> bool:
        if len(folders) < 2:
            return False
        starts = {}
        for name, folder in sorted(folders.items())[:SEEN_FOLDERS]:
            files = [file for file in folder.all_files() if not is_archive(file)][:SEEN_FILES]
            starts[name] = b"\n".join(map(self._read_start, files))
        return are_hosts_of_one_job(starts)


def _has_attempts(folder: _Folder) -> bool:
    return any(_ATTEMPT.match(name) for name in folder.folders)


def _slurm_files(path: str, files: Iterable[str]) -> dict[str, list[str]]:
    """Return the files of each Slurm job (``48213`` or ``555123_1``).

    A number in a name may also be a process, a port or a date.  It is the id of a job if the name says so, if the
    folder has the same number, or if a second file has it.
    """
    found = [(match, name) for name in files if (match := _SLURM.match(name.rpartition("/")[2]))]
    counts = Counter(match["id"] for match, _ in found)
    jobs: dict[str, list[str]] = {}
    for match, name in found:
        if counts[match["id"]] > 1 or match["id"] in _NUMBER.findall(path) or _says_job(match, name):
            jobs.setdefault(match["id"] + (match["task"] or ""), []).append(name)
    return jobs


def _says_job(match: re.Match[str], name: str) -> bool:
    """Return whether the name alone says that its number is the id of a job."""
    if _SAYS_JOB.search(match["stem"].lower()):
        return True
    is_output = match["kind"] in ("out", "err", "o", "e")  # Slurm's own suffixes
    return is_output and not _is_part_file(name) and not _DATE.match(match["id"])


def _have_own_ranks(folders: Mapping[str, _Folder]) -> bool:
    """Return whether each folder has files of ranks, and no rank is in two folders."""
    ranks = [{rank for file in folder.all_files() for rank in _RANK.findall(file)} for folder in folders.values()]
    return len(ranks) > 1 and all(ranks) and sum(map(len, ranks)) == len(set().union(*ranks))


def _is_part_file(name: str) -> bool:
    stem = _EXTENSIONS.sub("", name.rpartition("/")[2].lower())
    return _PART_FILE.search(stem) is not None and not is_archive(name)


def _group_loose_files(path: str, files: Iterable[str]) -> list[Group]:
    """Make a job of each file.

    Files that differ in extensions only share a job: ``b.out``, ``b.err`` and ``b.log.1`` are the job ``b``.
    """
    jobs: dict[str, list[str]] = {}
    archives = list[Group]()
    for name in files:
        if is_archive(name):
            archives.append(Group(name, (name,), "archive"))
        else:
            jobs.setdefault(_EXTENSIONS.sub("", name), []).append(name)
    return [*archives, *(Group(stem or path, tuple(own_files), "file") for stem, own_files in jobs.items())]


def _join(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name
