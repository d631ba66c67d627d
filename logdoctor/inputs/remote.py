"""Files behind URLs, by fsspec: ``s3://``, ``https://``, ``gs://`` and more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import IO, Any, cast

from msgspec import Struct

from logdoctor.inputs.paths import is_remote, may_be_log
from logdoctor.model import InputError
from logdoctor.model.extras import needs_extra

_USER_OF_URL = re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^/\s@]+@", re.IGNORECASE)
_QUERY_OF_URL = re.compile(r"(\b(?:https?|ftps?)://[^\s?#]*\?)[^\s'\"]+", re.IGNORECASE)


def mask_urls(text: str) -> str:
    """Return ``text`` without the user, the password and the query of each URL."""
    return _QUERY_OF_URL.sub(r"\1***", _USER_OF_URL.sub(r"\1***@", text))


class RemoteFile(Struct, frozen=True):
    """A file behind a URL. ``name`` is relative to the place that was listed, ``info`` is what fsspec knows of it."""

    name: str
    url: str
    info: Mapping[str, Any]


def list_remote(place: str) -> Iterator[RemoteFile]:
    """Yield the files behind a URL that may be logs, or the one that it names. Raise `InputError` if there is none."""
    filesystem, root = _filesystem(place)
    try:
        if filesystem.isfile(root):
            yield RemoteFile(root.rpartition("/")[2], place, filesystem.info(root))
            return
        files: dict[str, dict[str, Any]] = filesystem.find(root, detail=True)
    except Exception as error:
        raise InputError("cannot be read", mask_urls(place), _library_error(error), _ACCESS) from error
    if not files:
        raise InputError("cannot be read", mask_urls(place), "there is nothing", "check the URL")
    prefix = root.rstrip("/") + "/"
    for path, info in sorted(files.items()):
        name = path.removeprefix(prefix)
        if may_be_log(name):
            yield RemoteFile(name, f"{place.rstrip('/')}/{name}", info)


_ACCESS = "check the URL and the credentials, which its library takes from its usual places"


def _library_error(error: Exception) -> str:
    return mask_urls(f"{type(error).__name__}: {error}")


def _filesystem(url: str) -> tuple[Any, str]:
    """Return the fsspec filesystem of ``url`` and the path in it."""
    with needs_extra("remote", "cannot be opened", mask_urls(url)):
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
