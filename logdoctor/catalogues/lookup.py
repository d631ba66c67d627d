"""From an event's fields to what they mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

from logdoctor.catalogues.table import Catalogue, Entry, catalogue, heads
from logdoctor.kinds import fits
from logdoctor.model import Event, Value

MOST_SENTENCES = 2


@lru_cache(maxsize=1024)
def _explaining(kind: str, field: str) -> tuple[str, ...]:
    """The catalogues that know the values of this field of events of this kind."""
    return tuple(name for glob, name in _explained().get(field, ()) if fits(kind, glob))


@cache
def _explained() -> Mapping[str, tuple[tuple[str, str], ...]]:
    """For each field the kinds of events whose values of it are known, and by which catalogue."""
    known: dict[str, tuple[tuple[str, str], ...]] = {}
    for head in heads():
        for glob, field in head.explains:
            known[field] = (*known.get(field, ()), (glob, head.name))
    return known


@lru_cache(maxsize=4096)
def explain(kind: str, field: str, value: Value | None) -> Entry | None:
    """What the ``field`` of an event of ``kind`` means by ``value``; None where no catalogue knows."""
    if value is None or isinstance(value, tuple):
        return None
    found = (catalogue(name).find(value) for name in _explaining(kind, field))
    return next((entry for entry in found if entry), None)


def in_words(event: Event, lang: str = "en") -> str:
    """What the codes of ``event`` mean, in a line: ``Xid 79: … (hardware)``; empty where it carries none."""
    said: dict[str, str] = {}
    for entry in meanings(event):
        if entry.head.about.get("yields") not in event.fields:
            said.setdefault(entry.name, entry.sentence(lang))
    return ("；" if lang == "zh" else "; ").join([*said.values()][:MOST_SENTENCES])


def meanings(event: Event) -> Iterator[Entry]:
    """What the codes in the event's fields mean, in the order of the fields."""
    for field, value in event.fields.items():
        entry = explain(event.kind, field, value)
        if entry:
            yield entry


def follows(later: Event, earlier: Event) -> bool:
    """Whether ``later`` says itself (``previous_xid``), or a catalogue knows, that ``earlier`` brought it about."""
    if any(later.fields.get(f"previous_{name}") == value for name, value in earlier.fields.items()):
        return True
    for after in meanings(later):
        wanted = after.columns.get("follows", "").split()
        if wanted and any(e.head.name == after.head.name and e.code in wanted for e in meanings(earlier)):
            return True
    return False


def explained_fields() -> Mapping[str, tuple[Catalogue, ...]]:
    """All fields that some catalogue explains (for checking rules: this reads every file)."""
    table: dict[str, tuple[Catalogue, ...]] = {}
    for head in heads():
        for field in {field for _, field in head.explains}:
            table[field] = (*table.get(field, ()), catalogue(head.name))
    return table


def values_of(field: str, column: str) -> frozenset[str]:
    """All values of a column, over the catalogues that explain ``field`` and those that know the rest of its codes."""
    found = explained_fields().get(field, ())
    others = (one.head.about.get("otherwise", "").partition(" ")[0] for one in found)
    entries = [e for one in (*found, *(catalogue(name) for name in others if name)) for e in one.entries]
    return frozenset(e.columns[column] for e in entries if column in e.columns)


def known_columns(field: str) -> frozenset[str]:
    """The columns that a rule may name as ``field.column``; empty for a field that no catalogue explains."""
    found = explained_fields().get(field, ())
    return frozenset(column for one in found for column in one.entries[0].columns)
