"""Paths of Python frames: shortened, and classified as user code or library."""

from __future__ import annotations

from logdoctor.pack.regexes import later

_LIBRARY = later(
    r"[/\\](?:site|dist)-packages[/\\]|[/\\](?:lib(?:64)?[/\\]python\d|(?i:python[\d.]*[/\\]lib)[/\\])|^<frozen "
)
"""Path of a frame in an installed package or in Python itself."""


def short_path(path: str) -> str:
    """Return a source path without the part that differs between machines.

    ``/opt/lib/site-packages/torch/nn/mod.py`` gives ``torch/nn/mod.py``, ``/home/u/a/b/c.py`` gives ``a/b/c.py``.
    """
    path = path.replace("\\", "/")
    for mark in ("site-packages/", "dist-packages/"):
        if mark in path:
            return path.rpartition(mark)[2]
    return "/".join(path.split("/")[-3:])


def is_library(path: str) -> bool:
    return _LIBRARY.search(path) is not None


def package_of(path: str) -> str:
    """Return the package of a library's frame, ``python`` for Python's own library, "" for the user's code."""
    if not is_library(path):
        return ""
    installed = short_path(path) if "-packages" in path else ""
    return installed.partition("/")[0].removesuffix(".py") or "python"
