"""List the files of a folder, bucket or packed archive."""

# Names are used exactly as they were given, which pathlib does not do.
# ruff: noqa: PTH116, PTH118, PTH119

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from datetime import datetime, timezone
from functools import cache
from typing import Any

from msgspec import Struct

from logdoctor.inputs import open_streams
from logdoctor.inputs.paths import LEAVES, holds_scan_results, is_inside, is_remote, may_be_log
from logdoctor.inputs.remote import list_remote, mask_urls, open_if_remote
from logdoctor.inputs.streams import ProblemReporter
from logdoctor.model import InputError, Job, Problem


class File(Struct, frozen=True):
    """A file of an archive.

    ``name`` is relative to the scanned place, ``path`` opens the file, ``size`` is in bytes.  ``changed`` is the time
    of the last change (seconds since 1970), ``owner`` the name of the user.
    """

    name: str
    path: str
    size: int
    changed: float
    owner: str = ""


def list_files(place: str, problems: list[Problem], *, follow_links: bool = False) -> list[File]:
    """List the files at ``place`` that may be logs, sorted by name.

    ``place`` is a folder, a file or a URL.  A folder below that cannot be read, and a link out of ``place`` that is not
    followed, is added to ``problems``.  Raises `InputError` if ``place`` itself cannot be read.
    """
    report = ProblemReporter(problems)
    files = _list_remote(place) if is_remote(place) else _list_local(place, report, follow_links=follow_links)
    return sorted(files, key=lambda f: f.name)


def list_members(path: str, problems: list[Problem]) -> list[str]:
    """List the names of the logs in a packed archive. Parts that cannot be read are added to ``problems``."""
    prefix = f"{mask_urls(path)}:"
    logs = open_streams(Job(path, (open_if_remote(path),)), problems)
    return [stream.name.removeprefix(prefix) for stream in logs if stream.name != path]


def _list_local(place: str, report: ProblemReporter, *, follow_links: bool) -> Iterator[File]:
    try:
        status = os.stat(place)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError("cannot be scanned", place, why, "check the path") from None
    if not stat.S_ISDIR(status.st_mode):
        yield File(os.path.basename(place), place, status.st_size, status.st_mtime, _owner(status.st_uid))
        return
    folders, visited, inside = [""], set[tuple[int, int]](), os.path.realpath(place)
    while folders:
        folder = folders.pop()
        try:
            status = os.stat(os.path.join(place, folder))
            if (status.st_dev, status.st_ino) in visited:
                continue
            visited.add((status.st_dev, status.st_ino))
            entries = sorted(os.scandir(os.path.join(place, folder)), key=lambda e: e.name)
        except FileNotFoundError:  # the folder was removed during the scan
            continue
        except OSError as error:
            report(error, os.path.join(place, folder))
            continue
        if holds_scan_results(entries):
            continue
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if follow_links or not entry.is_symlink() or is_inside(entry.path, inside):
                yield from _read_entry(entry, name, folders)
            elif may_be_log(entry.name) and entry.is_file():
                report(InputError("was not read", entry.path, LEAVES, "read it with --follow-links"), entry.path)


def _read_entry(entry: os.DirEntry[str], name: str, folders: list[str]) -> Iterator[File]:
    """Add a folder to ``folders``, or yield a possible log."""
    try:
        if entry.is_dir():
            if may_be_log(f"{entry.name}/x"):
                folders.append(name)
        elif entry.is_file() and may_be_log(entry.name):
            status = entry.stat()
            yield File(name, entry.path, status.st_size, status.st_mtime, _owner(status.st_uid))
    except OSError:
        return  # for example a broken symbolic link


@cache
def _owner(uid: int) -> str:
    """Return the name of a user, or the number if unknown."""
    try:
        import pwd

        return pwd.getpwuid(uid).pw_name
    except (ImportError, KeyError):
        return str(uid)


def _list_remote(place: str) -> Iterator[File]:
    """Yield the logs behind a URL."""
    for file in list_remote(place):
        changed = next((_seconds(t) for t in (file.info.get(key) for key in _TIMES) if t is not None), 0.0)
        yield File(file.name, file.url, int(file.info.get("size") or 0), changed, str(file.info.get("owner") or ""))


_TIMES = ("mtime", "LastModified", "last_modified", "updated", "created")


def _seconds(time: Any) -> float:
    """Convert a time to seconds since 1970.

    ``time`` is a `datetime`, an ISO text or a number.  Any other text gives 0.
    """
    if isinstance(time, datetime):
        return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp()
    if isinstance(time, str):
        try:
            return _seconds(datetime.fromisoformat(time.replace("Z", "+00:00")))
        except ValueError:
            return 0.0
    return float(time)
