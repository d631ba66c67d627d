"""Turns a `Diagnosis` into text.  A format is one file in ``formats/`` with ``NAME`` and ``render(diagnosis, page)``.

One that shows the lines around each proof says how many: ``CONTEXT``; one that is made for strangers says ``SHARED``.
Decides, sorts and filters nothing; nothing that stands in a log or in a file name can act on a screen, a page or a
ticket (see `logdoctor.contract.visible`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any

from logdoctor.model import Diagnosis, LogdoctorError
from logdoctor.render import formats
from logdoctor.render.catalogue import catalogue, languages
from logdoctor.render.report import Page

__all__ = ["CONTEXT", "FORMATS", "SHARED", "languages", "plain", "render"]

Format = Callable[[Diagnosis, Page], str]


_MODULES: tuple[Any, ...] = tuple(
    import_module(f"{formats.__name__}.{name}") for name in sorted(one.name for one in iter_modules(formats.__path__))
)
FORMATS: Mapping[str, Format] = MappingProxyType({one.NAME: one.render for one in _MODULES})
"""The formats by name."""
CONTEXT: Mapping[str, int] = MappingProxyType({one.NAME: getattr(one, "CONTEXT", 0) for one in _MODULES})
"""How many lines above and below each proof a format shows."""
SHARED: Mapping[str, bool] = MappingProxyType({one.NAME: getattr(one, "SHARED", False) for one in _MODULES})
"""Whether a format is made for tickets and other places where strangers read it."""

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
    return FORMATS[format](diagnosis, Page(catalogue(lang), color, width, quiet, elapsed))


def plain(text: str) -> str:
    """Give ``text`` with our own marks in ASCII, for an output that can't hold them."""
    return text.translate(_PLAIN)
