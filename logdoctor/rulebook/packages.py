"""Rules that installed packages bring along, named by entry points of the group ``logdoctor.rules``.

    [project.entry-points."logdoctor.rules"]
    oursite = "oursite_rules:rules"        # the package and the folder in it that holds <family>/<name>.yaml

`importlib.metadata` takes 60 ms to answer, longer than a diagnosis; so the folders are kept in a cache under a key of
the import path and its folders' times, and looked for again only when something was installed.  No package is imported.
"""

# os.path and plain strings: this runs on every start.
# ruff: noqa: PTH118, PTH123, PTH116

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from logdoctor import cached_files
from logdoctor.digests import blake2b

GROUP = "logdoctor.rules"


def installed_rules(cache: Path | None) -> list[Path]:
    """The folders of rules that packages on the import path name; ``cache`` is the folder to remember them in."""
    times = [_time(place) for place in sys.path]
    if cache is None:
        return [Path(f) for f in _look()]
    key = blake2b("\0".join(sys.path).encode("utf-8", "replace"), digest_size=8).hexdigest()
    file = cache / f"{key}.packages"
    with contextlib.suppress(ValueError, KeyError, TypeError):
        known = msgspec.json.decode(cached_files.read(file) or b"")
        if known["times"] == times:
            return [Path(f) for f in known["folders"]]
    folders = list(_look())
    cached_files.write(file, msgspec.json.encode({"times": times, "folders": folders}))
    return [Path(f) for f in folders]


def _time(place: str) -> int:
    try:
        return os.stat(place or ".").st_mtime_ns
    except OSError:
        return 0


def _look() -> Iterator[str]:
    for place in sys.path:
        with contextlib.suppress(OSError), os.scandir(place or ".") as entries:
            for name in sorted(e.name for e in entries if e.name.endswith((".dist-info", ".egg-info"))):
                yield from _named_in(os.path.join(place, name, "entry_points.txt"))


def _named_in(file: str) -> Iterator[str]:
    """The folders that a package's ``entry_points.txt`` names."""
    try:
        with open(file, "rb") as points:
            text = points.read()
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
    """The folder that ``package.part:folder`` means; the words themselves where there is no such package."""
    import importlib.util

    package, *inner = value.replace(":", ".").replace(" ", "").split(".")
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None
    places = list(spec.submodule_search_locations or ()) if spec else []
    return os.path.join(*(places[:1] or [package]), *inner)
