"""Look up codes by words: ``xid 79``, ``ECONNREFUSED``, ``exit code -9``."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from logdoctor.codes.table import REST, Catalogue, Entry, catalogue, labels, names

MOST_EFFECTS = 12
MOST_GUESSES = 3
LEAST_SIMILARITY = 0.75


def find_codes(words: str) -> tuple[Entry, ...]:
    """Return the entries of a code.

    The name of the catalogue may come before the code. ``xid 79`` gives one entry. ``79`` gives an entry of each
    catalogue that lists it.
    """
    parts = [part.rstrip(":") for part in words.split()]
    for cut in range(len(parts) - 1, -1, -1):
        code = " ".join(parts[cut:])
        found = [catalogue(name).find(code) for name in _matching_names(parts[:cut])]
        entries = tuple(e for e in found if e and (cut or e.columns["code"] != REST))
        if entries:
            return entries
    return ()


def find_catalogues(words: str) -> tuple[Catalogue, ...]:
    """Return the catalogues for a name or its beginning. For ``slurm`` there are two."""
    parts = words.split()
    return tuple(catalogue(name) for name in _matching_names(parts)) if parts else ()


def _matching_names(parts: list[str]) -> tuple[str, ...]:
    """Return the catalogues with ``parts`` in their name or label. No parts match all."""
    if not parts:
        return names()
    wanted = "-".join(parts).lower()
    exact = tuple(name for name in names() if name == wanted)
    return exact or tuple(name for name in names() if f"-{wanted}" in f"-{name}-{_label(name)}")


def _label(name: str) -> str:
    """Return the label with hyphens: ``vendor-error`` of ``vendor error {code}: …``."""
    return "-".join(catalogue(name).head.label("en").lower().split())


def similar_names(words: str) -> tuple[str, ...]:
    """Return names of codes that are similar to ``words``: ``ECONREFUSED`` gives ``ECONNREFUSED``."""
    originals = {e.name.lower(): e.name for name in names() for e in catalogue(name).entries}
    return tuple(
        originals[n] for n in difflib.get_close_matches(words.lower(), originals, MOST_GUESSES, LEAST_SIMILARITY)
    )


def entry_rows(entry: Entry, lang: str = "en") -> Iterator[tuple[str, str]]:
    """Yield pairs of a label and a text about an entry. The first pair is the code and its name."""
    about, label = entry.head.about, labels(lang)
    yield f"{entry.head.label(lang)} {entry.code}".strip(), "" if entry.name == entry.code else entry.name
    yield label["meaning"], entry.column("meaning", lang)
    yield label["blame"], entry.column("blame", lang)
    yield label["action"], f"{entry.column('action', lang)} ({label[entry.decision]})"
    texts = ", ".join(f'"{text}"' for text in Catalogue.texts(entry))
    for key, text in (("says", texts), ("follows", _causes(entry)), ("leads", _effects(entry))):
        if text:
            yield label[key], text
    yield (
        label["source"],
        f"{about['source']}; {label['version']} {about['version']}; {label['checked']} {about['checked']}",
    )


def _causes(entry: Entry) -> str:
    return ", ".join(sorted(entry.columns.get("follows", "").split(), key=lambda code: (len(code), code)))


def _effects(entry: Entry) -> str:
    """Return the codes that ``entry`` causes."""
    others = catalogue(entry.head.name).entries
    codes = [e.code for e in others if entry.code in e.columns.get("follows", "").split()]
    return ", ".join(codes[:MOST_EFFECTS])
