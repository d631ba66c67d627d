"""Render a `Diagnosis` as text in one of several formats.

Each format is a module in ``formats/`` with a function ``render``. The module's name is the format's name.
The module is imported when its format is asked for. Two optional constants describe it. ``CONTEXT`` is the number of
log lines that the format shows above and below each proof. ``SHARED`` marks formats that strangers read.

A format decides, sorts and filters nothing. Text of a log or a file name
cannot act on a screen, a page or a ticket. `logdoctor.model.escape.escape` escapes it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from logdoctor.model import Diagnosis, LogdoctorError
from logdoctor.pack.module_names import module_names
from logdoctor.render import formats
from logdoctor.render.catalogue import catalogue, languages
from logdoctor.render.document import RenderOptions

__all__ = ["FORMATS", "context_lines", "is_shared", "languages", "render", "to_ascii"]

FORMATS = tuple(module_names(formats.__path__))

_ASCII_MARKS = str.maketrans(
    {
        "✗": "x",
        "✓": "+",
        "■": "#",
        "…": "...",
        "·": "-",
        "—": "--",
        "←": "<-",
        "│": "|",
        "，": ", ",
        "（": " (",
        "）": ")",
    }
)


def render(
    diagnosis: Diagnosis,
    format: str,
    *,
    lang: str = "en",
    color: bool = False,
    width: int = 80,
    quiet: bool = False,
    everything: bool = False,
) -> str:
    """Return ``diagnosis`` as text of ``format``, ending in a newline.

    ``lang`` is the language of the words around those of the rules. Only ``text`` uses the other options.
    ``color`` allows escape sequences and ``width`` is in columns. ``quiet`` asks for one line of ten columns,
    and ``everything`` for the details too. Raises `LogdoctorError` if ``format`` is not in `FORMATS`.
    """
    if format not in FORMATS:
        raise LogdoctorError(f"there is no format {format!r}", help=f"one of: {', '.join(FORMATS)}")
    return str(_module(format).render(diagnosis, RenderOptions(catalogue(lang), color, width, quiet, everything)))


def context_lines(format: str) -> int:
    """Return the number of context lines above and below each proof."""
    return int(getattr(_module(format), "CONTEXT", 0))


def is_shared(format: str) -> bool:
    """Return True for formats that strangers read, for example in tickets."""
    return bool(getattr(_module(format), "SHARED", False))


def _module(format: str) -> Any:
    return import_module(f"{formats.__name__}.{format}")


def to_ascii(text: str) -> str:
    """Replace our own marks by ASCII: ``✗`` becomes ``x``."""
    return text.translate(_ASCII_MARKS)
