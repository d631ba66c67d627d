"""Rules of installed packages, found by entry points of the group ``logdoctor.rules``.

    [project.entry-points."logdoctor.rules"]
    oursite = "oursite_rules:rules"        # the package and the folder in it that holds <family>/

`importlib.metadata` takes 60 ms, which is longer than a diagnosis. So the folders are cached until the times of the
import path's folders change, as they do when a package is installed. No package is imported.
"""

# os.path and plain strings, because this runs on every start.
# ruff: noqa: PTH118, PTH116

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from logdoctor.model.digests import blake2b
from logdoctor.model.own_files import read_bytes
from logdoctor.pack import cached_files

GROUP = "logdoctor.rules"


def installed_rules(cache: Path | None) -> list[Path]:
    """Return the folders of rules of all packages on the import path. ``cache`` is a folder for the cached list."""
    times = [_time(place) for place in sys.path]
    if cache is None:
        return [Path(f) for f in _find_folders()]
    key = blake2b("\0".join(sys.path).encode("utf-8", "replace"), digest_size=8).hexdigest()
    file = cache / f"{key}.packages"
    with contextlib.suppress(ValueError, KeyError, TypeError):
        entry = msgspec.json.decode(cached_files.read(file) or b"")
        if entry["times"] == times:
            return [Path(f) for f in entry["folders"]]
    folders = list(_find_folders())
    cached_files.write(file, msgspec.json.encode({"times": times, "folders": folders}))
    return [Path(f) for f in folders]


def _time(place: str) -> int:
    try:
        return os.stat(place or ".").st_mtime_ns
    except OSError:
        return 0


def _find_folders() -> Iterator[str]:
    for place in sys.path:
        with contextlib.suppress(OSError), os.scandir(place or ".") as entries:
            for name in sorted(e.name for e in entries if e.name.endswith((".dist-info", ".egg-info"))):
                yield from _folders_in(os.path.join(place, name, "entry_points.txt"))


def _folders_in(file: str) -> Iterator[str]:
    """Yield the folders of rules in a package's ``entry_points.txt``."""
    try:
        text = read_bytes(Path(file))
    except OSError:
        return
    if GROUP.encode() not in text:
        return
    import configparser

    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    with contextlib.suppress(configparser.Error, UnicodeDecodeError):
        parser.read_string(text.decode())
        if parser.has_section(GROUP):
            yield from (_folder(value) for _, value in parser.items(GROUP))


def _folder(value: str) -> str:
    """Return the path of ``package.part:folder``. Return ``package/part/folder`` if there is no such package."""
    import importlib.util

    package, *inner = value.replace(":", ".").replace(" ", "").split(".")
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None
    places = list(spec.submodule_search_locations or ()) if spec else []
    return os.path.join(*(places[:1] or [package]), *inner)
