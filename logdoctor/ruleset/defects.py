"""The tables of known defects: ``defects.tsv`` and ``packages.tsv``, and their sentences in other languages."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path

import regex

from logdoctor.model import DefectRow, Defects, PackageRow, RuleError
from logdoctor.pack.version_ranges import is_between, is_version
from logdoctor.ruleset import TRANSLATIONS
from logdoctor.ruleset.decisions import is_condition
from logdoctor.ruleset.tables import read_rows

DEFECTS_FILE, PACKAGES_FILE = "defects.tsv", "packages.tsv"
_COLUMNS = (
    "package, first, last, signature, when, mended, way_round, defect, source (first, when, mended, way_round: or -)"
)


def read_defects(folders: Sequence[Path], signatures: Container[str], errors: list[RuleError]) -> Defects:
    """Read the tables of all folders. Missing files are empty tables. Faulty rows are added to ``errors``."""

    def read_package(cells: list[str], _where: str) -> PackageRow:
        package, name, spelling = cells
        try:
            regex.compile(spelling)
        except regex.error as error:
            raise ValueError(spelling) from error
        return PackageRow(package, name, spelling)

    def read_defect(cells: list[str], _where: str) -> DefectRow:
        row = DefectRow(*cells) if len(cells) == len(DefectRow.__struct_fields__) else None
        if row is None or not (row.defect and row.source and row.signature in signatures):
            raise ValueError(cells)
        versions = [version for version in (row.first, row.last, row.mended) if version]
        in_order = is_version(row.last) and is_between(row.last, row.first, "")
        is_mended = not row.mended or not is_between(row.mended, "", row.last)
        if row.package not in known or not (all(map(is_version, versions)) and in_order and is_mended):
            raise ValueError(cells)
        if row.when and not is_condition(row.when):
            raise ValueError(row.when)
        return row

    packages = [row for f in folders for row in read_rows(f / PACKAGES_FILE, _PACKAGE_COLUMNS, read_package, errors)]
    known = {row.package for row in packages}
    rows = [row for f in folders for row in read_rows(f / DEFECTS_FILE, _COLUMNS, read_defect, errors)]
    words: dict[str, dict[str, str]] = {}
    for folder in folders:
        for path in sorted((folder / TRANSLATIONS).glob(f"*/{DEFECTS_FILE}")):
            words.setdefault(path.parent.name, {}).update(
                read_rows(path, "English, other language", _read_pair, errors)
            )
    return Defects(tuple(rows), tuple(packages), tuple(words.items()))


_PACKAGE_COLUMNS = "package, name, spelling (a regular expression)"


def _read_pair(cells: list[str], _where: str) -> tuple[str, str]:
    english, other = cells
    return english, other
