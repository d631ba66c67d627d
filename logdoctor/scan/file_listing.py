"""What lies in an archive of jobs: files below a folder, in a bucket, or in a packed archive, with sizes and times."""

# Names are used exactly as they were given, which pathlib does not do.
# ruff: noqa: PTH116, PTH118, PTH119

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from datetime import datetime, timezone
from functools import cache
from typing import IO, Any, cast

from msgspec import Struct

from logdoctor.model import InputError, Job, Problem
from logdoctor.sources import streams
from logdoctor.sources.layers import Reports
from logdoctor.sources.paths import may_be_log

WHOLE, PARTS, LOCK = "jobs.jsonl", "landing", ".lock"
"""What a scan puts into the folder of its results: they quote failures and are no job, wherever they lie."""


class File(Struct, frozen=True):
    """A file: ``name`` below the place that is scanned, ``path`` to open it, bytes, when it changed, whose it is."""

    name: str
    path: str
    size: int
    changed: float
    owner: str = ""


def is_remote(path: str) -> bool:
    """Whether ``path`` is a URL."""
    return "://" in path


def list_files(place: str, problems: list[Problem]) -> list[File]:
    """The files at ``place`` (a folder, a file or a URL) that may be logs, by name.  Raises `InputError`.

    A folder below it that may not be read goes to ``problems``.
    """
    found = _remote(place) if is_remote(place) else _local(place, Reports(problems))
    return sorted(found, key=lambda f: f.name)


def members(path: str, problems: list[Problem]) -> list[str]:
    """The names of the logs in a packed archive, below it; what cannot be read goes to ``problems``."""
    lead = f"{path}:"
    opened = streams(Job(path, (reachable(path),)), problems)
    return [stream.name.removeprefix(lead) for stream in opened if stream.name != path]


def _local(place: str, report: Reports) -> Iterator[File]:
    try:
        status = os.stat(place)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError("cannot be scanned", place, why, "check the path") from None
    if not stat.S_ISDIR(status.st_mode):
        yield File(os.path.basename(place), place, status.st_size, status.st_mtime, _owner(status.st_uid))
        return
    folders, walked = [""], set[tuple[int, int]]()
    while folders:
        below = folders.pop()
        try:
            here = os.stat(os.path.join(place, below))
            if (here.st_dev, here.st_ino) in walked:
                continue
            walked.add((here.st_dev, here.st_ino))
            entries = sorted(os.scandir(os.path.join(place, below)), key=lambda e: e.name)
        except FileNotFoundError:  # it went away while others were listed
            continue
        except OSError as error:
            report(error, os.path.join(place, below))
            continue
        inside = {entry.name for entry in entries}
        if LOCK in inside and not inside.isdisjoint((WHOLE, PARTS)):
            continue
        for entry in entries:
            name = f"{below}/{entry.name}" if below else entry.name
            yield from _entry(entry, name, folders)


def _entry(entry: os.DirEntry[str], name: str, folders: list[str]) -> Iterator[File]:
    try:
        if entry.is_dir():
            if may_be_log(f"{entry.name}/x"):
                folders.append(name)
        elif entry.is_file() and may_be_log(entry.name):
            status = entry.stat()
            yield File(name, entry.path, status.st_size, status.st_mtime, _owner(status.st_uid))
    except OSError:
        return  # a link to nothing


@cache
def _owner(uid: int) -> str:
    """The user's name; the number where nobody of this machine has it."""
    try:
        import pwd

        return pwd.getpwuid(uid).pw_name
    except (ImportError, KeyError):
        return str(uid)


# ── URLs, by fsspec ─────────────────────────────────────────────────────────────────────────────────────────────────


def _remote(place: str) -> Iterator[File]:
    filesystem, root = _filesystem(place)
    try:
        if filesystem.isfile(root):
            yield _of_info(place, root.rpartition("/")[2], filesystem.info(root))
            return
        found: dict[str, dict[str, Any]] = filesystem.find(root, detail=True)
    except Exception as error:
        raise InputError("cannot be scanned", place, f"{type(error).__name__}: {error}", _ACCESS) from error
    if not found:
        raise InputError("cannot be scanned", place, "there is nothing", "check the URL")
    lead = root.rstrip("/") + "/"
    for path, info in found.items():
        name = path.removeprefix(lead)
        if may_be_log(name):
            yield _of_info(f"{place.rstrip('/')}/{name}", name, info)


def _of_info(path: str, name: str, info: dict[str, Any]) -> File:
    times = (info.get(key) for key in ("mtime", "LastModified", "last_modified", "updated", "created"))
    changed = next((_seconds(t) for t in times if t is not None), 0.0)
    return File(name, path, int(info.get("size") or 0), changed, str(info.get("owner") or ""))


def _seconds(time: Any) -> float:
    if isinstance(time, datetime):
        return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp()
    if isinstance(time, str):
        try:
            return _seconds(datetime.fromisoformat(time.replace("Z", "+00:00")))
        except ValueError:
            return 0.0
    return float(time)


_ACCESS = "check the URL and the credentials, which its library takes from its usual places"


def _filesystem(url: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise InputError("cannot be opened", url, "fsspec is not installed", "pip install 'logdoctor[scan]'") from None
    try:
        filesystem, root = fsspec.core.url_to_fs(url)
    except Exception as error:
        raise InputError("cannot be opened", url, f"{type(error).__name__}: {error}", _ACCESS) from error
    return filesystem, str(root)


def reachable(path: str) -> str | IO[bytes]:
    """``path`` as `diagnose` takes it: a URL becomes an open file."""
    return cast("IO[bytes]", _RemoteFile(path)) if is_remote(path) else path


class _RemoteFile:
    """A file behind a URL, opened when it is first read; its ``name`` is the URL."""

    def __init__(self, url: str) -> None:
        """Nothing is opened yet."""
        self.name = url
        self._file: Any = None

    def _opened(self) -> Any:
        if self._file is None:
            filesystem, path = _filesystem(self.name)
            self._file = filesystem.open(path, "rb")
        return self._file

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        data: bytes = self._opened().read(size)
        return data

    def seekable(self) -> bool:
        """Whether it can be read at any place; of a file that cannot be opened, reading it will tell."""
        try:
            return bool(self._opened().seekable())
        except Exception:  # noqa: BLE001 - of whatever kind its library raises
            return False

    def tell(self) -> int:
        """The place in the file."""
        return int(self._opened().tell())

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place in the file."""
        return int(self._opened().seek(offset, whence))
