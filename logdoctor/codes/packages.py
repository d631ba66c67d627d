"""Packages and native libraries, and who has to change something if a failure is raised in them."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from msgspec import Struct, convert

from logdoctor.codes.table import rows
from logdoctor.model import Who

FILE = Path(__file__).parent / "packages.tsv"


class Package(Struct, frozen=True):
    """A row of the table. ``pattern`` is a glob over the name of a package, or over the file name of a library."""

    pattern: str
    package: str
    owner: Who


@cache
def packages() -> tuple[Package, ...]:
    return tuple(convert(row, Package) for row in rows(FILE))


@cache
def find_package(name: str) -> Package | None:
    """Return the row for a package, or for the path of a native library."""
    short = name.rpartition("/")[2]
    return next((row for row in packages() if fnmatchcase(short, row.pattern)), None)
