"""Versions of packages that a log tells: in records, or in any line that was kept."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.model import Line, PackageRow
from logdoctor.pack.regexes import compiled
from logdoctor.pack.version_ranges import is_version
from logdoctor.pipeline.excerpts import Excerpts
from logdoctor.reasoning.job_state import JobState

_BETWEEN = r"(?:['\"]?\s{0,3}(?:version\b|installed\b|[=:,/(v|]|==)\s{0,3}['\"]?){0,3}\s{0,60}"
_VERSION = r"v?(?P<version>\d{1,4}\.\d{1,4}(?:\.\d{1,4})?(?:[-.]?(?:rc|post|dev|a|b)\d{1,8})?)(?![\d.]*\.\d)"


def version_of(package: PackageRow, state: JobState, excerpts: Excerpts) -> tuple[str, Line] | None:
    """Return the version of a package and the line that tells it. Return None if lines tell several, or none does."""
    name = rf"(?i)(?<![\w./-])(?:{package.spelling})"
    records = state.versions.records(lambda product: compiled(name).fullmatch(product) is not None)
    told = [(str(record.fields["version"]), record.line) for record in records]
    pattern = compiled(name + _BETWEEN + _VERSION)
    told = told or [(m["version"], line) for line in _lines(excerpts) for m in pattern.finditer(line.text)]
    versions = {version for version, _ in told}
    return told[0] if len(versions) == 1 and is_version(told[0][0]) else None


def _lines(excerpts: Excerpts) -> Iterator[Line]:
    for log in excerpts.logs:
        yield from {line.number: line for line in (*log.first_lines(), *log.last_lines())}.values()
