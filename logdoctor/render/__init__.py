"""Turns a `Diagnosis` into text.  A format is one file in ``formats/``, called like it, with ``render``.

It is imported when it is asked for.  One that shows the lines around each proof says how many: ``CONTEXT``; one that
is made for strangers says ``SHARED``.
Decides, sorts and filters nothing; nothing that stands in a log or in a file name can act on a screen, a page or a
ticket (see `logdoctor.model.escape`).
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from logdoctor.model import Diagnosis, LogdoctorError
from logdoctor.render import formats
from logdoctor.render.catalogue import catalogue, languages
from logdoctor.render.report import Page

__all__ = ["FORMATS", "context_of", "is_shared", "languages", "plain", "render"]

FORMATS = tuple(sorted(one.name for one in iter_modules(formats.__path__)))
"""The names of the formats."""

_PLAIN = str.maketrans(
    {"✗": "x", "✓": "+", "…": "...", "·": "-", "—": "--", "←": "<-", "│": "|", "，": ", ", "（": " (", "）": ")"}
)


def render(
    diagnosis: Diagnosis,
    format: str,
    *,
    lang: str = "en",
    color: bool = False,
    width: int = 100,
    quiet: bool = False,
    elapsed: float | None = None,
) -> str:
    """Give ``diagnosis`` as text of ``format`` (a name in `FORMATS`), ending in a newline.

    ``lang`` is the language of the frame around the rules' words.  The terminal alone uses the rest: ``color`` allows
    escape sequences, ``width`` is in columns, ``quiet`` asks for the first line only, ``elapsed`` is in seconds.
    Raises `LogdoctorError` for a format that there isn't.
    """
    if format not in FORMATS:
        known = ", ".join(sorted(FORMATS))
        raise LogdoctorError(f"there is no format {format!r}", help=f"one of: {known}")
    return str(_module(format).render(diagnosis, Page(catalogue(lang), color, width, quiet, elapsed)))


def context_of(format: str) -> int:
    """How many lines above and below each proof a format shows."""
    return int(getattr(_module(format), "CONTEXT", 0))


def is_shared(format: str) -> bool:
    """Whether a format is made for tickets and other places where strangers read it."""
    return bool(getattr(_module(format), "SHARED", False))


def _module(format: str) -> Any:
    return import_module(f"{formats.__name__}.{format}")


def plain(text: str) -> str:
    """Give ``text`` with our own marks in ASCII, for an output that can't hold them."""
    return text.translate(_PLAIN)
