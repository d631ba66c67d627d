"""Names that libraries took away, added or renamed between versions."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from msgspec import Struct, convert

from logdoctor.codes.table import rows

FILE = Path(__file__).parent / "moved_names.tsv"
UNKNOWN, ANY = "-", "*"


class MovedName(Struct, frozen=True):
    """A row of the table. What is not known is "-"."""

    library: str
    of: str
    name: str
    gone: str
    since: str
    instead: str


@cache
def moved_names() -> tuple[MovedName, ...]:
    return tuple(convert(row, MovedName) for row in rows(FILE))


def find_moved(of: str, name: str) -> MovedName | None:
    """Return the row for an argument or attribute of a class or module, if the library is known."""
    return next(
        (row for row in moved_names() if _fits(row.of, of) and (row.name == ANY or _fits(row.name, name))), None
    )


def _fits(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None
