"""Explain the codes in the fields of records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

from logdoctor.codes.table import Catalogue, Entry, catalogue, heads
from logdoctor.model import Record, Value
from logdoctor.model.kinds import fits

MOST_SENTENCES = 2


@lru_cache(maxsize=1024)
def _catalogues_for(kind: str, field: str) -> tuple[str, ...]:
    """Return the names of catalogues for ``field`` of ``kind`` records."""
    return tuple(name for glob, name in _catalogues_by_field().get(field, ()) if fits(kind, glob))


@cache
def _catalogues_by_field() -> Mapping[str, tuple[tuple[str, str], ...]]:
    """Return for each field pairs of kind glob and catalogue name."""
    table: dict[str, tuple[tuple[str, str], ...]] = {}
    for head in heads():
        for glob, field in head.explains:
            table[field] = (*table.get(field, ()), (glob, head.name))
    return table


@lru_cache(maxsize=4096)
def explain(kind: str, field: str, value: Value | None) -> Entry | None:
    """Return the entry for ``value`` of ``field`` in records of ``kind``. Without an entry, return None."""
    if value is None or isinstance(value, tuple):
        return None
    found = (catalogue(name).find(value) for name in _catalogues_for(kind, field))
    return next((entry for entry in found if entry), None)


def explain_codes(record: Record, lang: str = "en") -> str:
    """Explain the codes of ``record`` in one line: ``Xid 79: … (hardware)``. Without codes the text is empty."""
    sentences: dict[str, str] = {}
    for entry in find_entries(record):
        if entry.head.about.get("yields") not in record.fields:
            sentences.setdefault(entry.name, entry.sentence(lang))
    return ("；" if lang == "zh" else "; ").join([*sentences.values()][:MOST_SENTENCES])


def find_entries(record: Record) -> Iterator[Entry]:
    """Yield the entries of the codes in the fields of ``record``."""
    for field, value in record.fields.items():
        entry = explain(record.kind, field, value)
        if entry:
            yield entry


@cache
def _printed(catalogue_names: tuple[str, ...]) -> tuple[tuple[str, Entry], ...]:
    return tuple(
        (text.lower(), entry) for name in catalogue_names for text, entry in catalogue(name).words() if " " in text
    )


def find_printed(text: str, *names: str) -> Entry | None:
    """Return the entry whose words a text holds, for example "No such file or directory"."""
    lowered = text.lower()
    return next((entry for words, entry in _printed(names) if words in lowered), None)


def follows(later: Record, earlier: Record) -> bool:
    """Return True if ``earlier`` caused ``later``.

    ``later`` may say so in a field such as ``previous_xid``. Otherwise the column ``follows`` of a catalogue decides.
    """
    if any(later.fields.get(f"previous_{name}") == value for name, value in earlier.fields.items()):
        return True
    for after in find_entries(later):
        wanted = after.columns.get("follows", "").split()
        if wanted and any(e.head.name == after.head.name and e.code in wanted for e in find_entries(earlier)):
            return True
    return False


def explained_fields() -> Mapping[str, tuple[Catalogue, ...]]:
    """Return all fields that a catalogue explains. This reads every file, so it is only for checking rules."""
    table: dict[str, tuple[Catalogue, ...]] = {}
    for head in heads():
        for field in {field for _, field in head.explains}:
            table[field] = (*table.get(field, ()), catalogue(head.name))
    return table


def column_values(field: str, column: str) -> frozenset[str]:
    """Return all values of ``column`` in the catalogues that explain ``field``.

    The catalogues that they name in ``otherwise`` count as well.
    """
    found = explained_fields().get(field, ())
    others = (table.head.about.get("otherwise", "").partition(" ")[0] for table in found)
    entries = [e for table in (*found, *(catalogue(name) for name in others if name)) for e in table.entries]
    return frozenset(e.columns[column] for e in entries if column in e.columns)


def column_names(field: str) -> frozenset[str]:
    """Return the columns that a rule may name as ``field.column``. A field without a catalogue has none."""
    found = explained_fields().get(field, ())
    return frozenset(column for table in found for column in table.entries[0].columns)
