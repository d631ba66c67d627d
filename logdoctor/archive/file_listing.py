"""List the files of a folder, bucket or packed archive."""

# Names are used exactly as they were given, which pathlib does not do.
# ruff: noqa: PTH116, PTH118, PTH119

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from datetime import datetime, timezone
from functools import cache
from typing import IO, Any, cast

from msgspec import Struct

from logdoctor.inputs import open_streams
from logdoctor.inputs.paths import LEAVES, holds_scan_results, is_inside, may_be_log
from logdoctor.inputs.streams import ProblemReporter
from logdoctor.model import InputError, Job, Problem
from logdoctor.model.extras import needs_extra


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


_USER_OF_URL = re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^/\s@]+@", re.IGNORECASE)
_QUERY_OF_URL = re.compile(r"(\b(?:https?|ftps?)://[^\s?#]*\?)[^\s'\"]+", re.IGNORECASE)


def mask_urls(text: str) -> str:
    """Return ``text`` without the user, the password and the query of each URL."""
    return _QUERY_OF_URL.sub(r"\1***", _USER_OF_URL.sub(r"\1***@", text))


def is_remote(path: str) -> bool:
    """Return whether ``path`` is a URL."""
    return "://" in path


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


# ── URLs, by fsspec ─────────────────────────────────────────────────────────────────────────────────────────────────


def _list_remote(place: str) -> Iterator[File]:
    filesystem, root = _filesystem(place)
    try:
        if filesystem.isfile(root):
            yield _remote_file(place, root.rpartition("/")[2], filesystem.info(root))
            return
        files: dict[str, dict[str, Any]] = filesystem.find(root, detail=True)
    except Exception as error:
        raise InputError("cannot be scanned", mask_urls(place), _library_error(error), _ACCESS) from error
    if not files:
        raise InputError("cannot be scanned", mask_urls(place), "there is nothing", "check the URL")
    prefix = root.rstrip("/") + "/"
    for path, info in files.items():
        name = path.removeprefix(prefix)
        if may_be_log(name):
            yield _remote_file(f"{place.rstrip('/')}/{name}", name, info)


def _remote_file(path: str, name: str, info: dict[str, Any]) -> File:
    times = (info.get(key) for key in ("mtime", "LastModified", "last_modified", "updated", "created"))
    changed = next((_seconds(t) for t in times if t is not None), 0.0)
    return File(name, path, int(info.get("size") or 0), changed, str(info.get("owner") or ""))


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


_ACCESS = "check the URL and the credentials, which its library takes from its usual places"


def _library_error(error: Exception) -> str:
    return mask_urls(f"{type(error).__name__}: {error}")


def _filesystem(url: str) -> tuple[Any, str]:
    """Return the fsspec filesystem of ``url`` and the path in it."""
    with needs_extra("scan", "cannot be opened", mask_urls(url)):
        import fsspec
    try:
        filesystem, root = fsspec.core.url_to_fs(url)
    except Exception as error:
        raise InputError("cannot be opened", mask_urls(url), _library_error(error), _ACCESS) from error
    return filesystem, str(root)


def open_if_remote(path: str) -> str | IO[bytes]:
    """Return a file object for a URL, any other path unchanged."""
    return cast("IO[bytes]", _RemoteFile(path)) if is_remote(path) else path


class _RemoteFile:
    """A file behind a URL, opened at its first use.  ``name`` is the URL without a password."""

    def __init__(self, url: str) -> None:
        self.name, self._url = mask_urls(url), url
        self._file: Any = None

    def _open(self) -> Any:
        if self._file is None:
            filesystem, path = _filesystem(self._url)
            self._file = filesystem.open(path, "rb")
        return self._file

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._open().read(size)
        return data

    def seekable(self) -> bool:
        """Return whether the file can seek.

        Returns False if the file cannot be opened, so that `read` raises the error.
        """
        try:
            return bool(self._open().seekable())
        except Exception:  # noqa: BLE001 - each filesystem raises its own errors
            return False

    def tell(self) -> int:
        return int(self._open().tell())

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._open().seek(offset, whence))
