"""Folders that hold many jobs, told before anything is read."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterable

from logdoctor.inputs.bounds import Bounds, Budget
from logdoctor.inputs.grouping import find_many_jobs, group_files
from logdoctor.inputs.host_folders import START_BYTES
from logdoctor.inputs.json_documents import detect_document
from logdoctor.inputs.opening import open_found
from logdoctor.inputs.paths import Finder
from logdoctor.inputs.streams import ProblemReporter
from logdoctor.model import ManyJobsError
from logdoctor.model.escape import escape

NAMED_JOBS = 3
COLLECTED = "collected.md"
"""File in a folder that ``logdoctor slurm --collect`` made. Such a folder holds one job, whatever its files are."""


def refuse_many_jobs(folders: Iterable[str]) -> None:
    """Raise `ManyJobsError` if one of the folders holds several jobs."""
    for path in folders:
        if jobs := find_jobs_in_folder(path):
            names = ", ".join(map(escape, jobs[:NAMED_JOBS])) + (", ..." if len(jobs) > NAMED_JOBS else "")
            cure = f"name one of them, or scan them all: logdoctor scan {escape(shlex.quote(path))}"
            raise ManyJobsError(f"these look like {len(jobs)} jobs ({names})", escape(path), help=cure)


def find_jobs_in_folder(folder: str) -> list[str]:
    """Return the names of the jobs in ``folder`` if it surely holds several jobs."""
    prefix = folder.rstrip("/") + "/"
    if os.path.isfile(prefix + COLLECTED):  # noqa: PTH113 - takes any text
        return []
    finder = Finder(ProblemReporter([]), Budget(Bounds()))
    paths = {file.path.removeprefix(prefix): file.path for file in finder.find(folder)}
    names = without_documents(paths.items())
    return find_many_jobs(group_files(names, read_start=lambda name: read_start(paths[name])))


def without_documents(files: Iterable[tuple[str, str]]) -> list[str]:
    """Return the names of ``files`` (name and path) without JSON documents, which may quote another job's failure."""
    return [name for name, path in files if not name.endswith(".json") or not detect_document(read_start(path))]


def read_start(path: str) -> bytes:
    """Return the first bytes of a file of this machine. Return nothing for any other path."""
    try:
        with open_found(path) as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            return (file.read(START_BYTES) if is_file else b"") or b""
    except OSError:
        return b""
