"""Answers to a person who asks what a code means: ``xid 79``, ``Xid 79``, ``ECONNREFUSED``, ``exit code -9``."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from logdoctor.catalogues.table import REST, Catalogue, Entry, catalogue, names, page_words

MOST_NEIGHBOURS = 12
MOST_GUESSES = 3
LIKE = 0.75
"""How much of a name must be right for a guess."""


def asked_for(words: str) -> tuple[Entry, ...]:
    """The entries that ``words`` name: a code, with the catalogue's name or label before it or without."""
    parts = [part.rstrip(":") for part in words.split()]
    for cut in range(len(parts) - 1, -1, -1):
        code = " ".join(parts[cut:])
        found = [catalogue(name).find(code) for name in _named(parts[:cut])]
        entries = tuple(e for e in found if e and (cut or e.columns["code"] != REST))
        if entries:
            return entries
    return ()


def listed(words: str) -> tuple[Catalogue, ...]:
    """The catalogues that ``words`` name: ``xid``, ``slurm`` (two of them), ``exit code``."""
    parts = words.split()
    return tuple(catalogue(name) for name in _named(parts)) if parts else ()


def _named(parts: list[str]) -> tuple[str, ...]:
    """The catalogues whose name or label has these words; all of them for none."""
    if not parts:
        return names()
    wanted = "-".join(parts).lower()
    exact = tuple(name for name in names() if name == wanted)
    return exact or tuple(name for name in names() if f"-{wanted}" in f"-{name}-{_label(name)}")


def _label(name: str) -> str:
    """What is said before a code: ``vendor-error`` of ``vendor error {code}: …``."""
    return "-".join(catalogue(name).head.label("en").lower().split())


def nearest(words: str) -> tuple[str, ...]:
    """Names of codes that look like what was asked for."""
    known = {e.name.lower(): e.name for name in names() for e in catalogue(name).entries}
    return tuple(known[n] for n in difflib.get_close_matches(words.lower(), known, MOST_GUESSES, LIKE))


def page(entry: Entry, lang: str = "en") -> Iterator[tuple[str, str]]:
    """All that is known of an entry, as pairs (what it is, text); the first pair is the code and its name."""
    about, say = entry.head.about, page_words(lang)
    yield f"{entry.head.label(lang)} {entry.code}".strip(), "" if entry.name == entry.code else entry.name
    yield say["meaning"], entry.column("meaning", lang)
    yield say["blame"], entry.column("blame", lang)
    yield say["action"], f"{entry.column('action', lang)} ({say[entry.decision]})"
    texts = ", ".join(f'"{text}"' for text in Catalogue.said(entry))
    for key, text in (("says", texts), ("follows", _codes(entry)), ("leads", _leads(entry))):
        if text:
            yield say[key], text
    yield say["source"], f"{about['source']}; {say['version']} {about['version']}; {say['checked']} {about['checked']}"


def _codes(entry: Entry) -> str:
    return ", ".join(sorted(entry.columns.get("follows", "").split(), key=lambda code: (len(code), code)))


def _leads(entry: Entry) -> str:
    """The codes that this one brings about."""
    others = catalogue(entry.head.name).entries
    codes = [e.code for e in others if entry.code in e.columns.get("follows", "").split()]
    return ", ".join(codes[:MOST_NEIGHBOURS])
