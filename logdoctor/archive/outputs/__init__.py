"""Output formats of a scan: each module has a function ``write(records, out)``.

The name of the module is the name of the format.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import TextIO

from logdoctor.archive.record import JobRecord
from logdoctor.pack.module_names import module_names

Write = Callable[[Iterable[JobRecord], TextIO], None]


def list_formats() -> list[str]:
    return module_names(__path__)


def load_writer(name: str) -> Write:
    write: Write = importlib.import_module(f"{__name__}.{name}").write
    return write
