"""Paths of Python's frames: short, and told apart into the user's own code and libraries."""

from __future__ import annotations

from logdoctor.regexes import later

_LIBRARY = later(
    r"[/\\](?:site|dist)-packages[/\\]|[/\\](?:lib(?:64)?[/\\]python\d|(?i:python[\d.]*[/\\]lib)[/\\])|^<frozen "
)
"""The path of a frame that is not of the user's own code: an installed package's or Python's."""


def short_path(path: str) -> str:
    """A source path without the part that differs between machines: from the package on, else its last three parts."""
    path = path.replace("\\", "/")
    for mark in ("site-packages/", "dist-packages/"):
        if mark in path:
            return path.rpartition(mark)[2]
    return "/".join(path.split("/")[-3:])


def of_a_library(path: str) -> bool:
    """Whether a frame with this path is not of the user's own code."""
    return _LIBRARY.search(path) is not None
