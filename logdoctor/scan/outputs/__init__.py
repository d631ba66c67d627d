"""How the results of a scan are printed: one file a format, with a function ``write(records, out)``.

The name of the file is the name of the format.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from typing import TextIO

from logdoctor.scan.record import JobRecord

Write = Callable[[Iterable[JobRecord], TextIO], None]


def formats() -> list[str]:
    """The names of the formats."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def writer(name: str) -> Write:
    """The function that writes the format of this name."""
    write: Write = importlib.import_module(f"{__name__}.{name}").write
    return write
