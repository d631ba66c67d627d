"""Look up codes by words: ``xid 79``, ``ECONNREFUSED``, ``exit code -9``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from logdoctor.codes.table import REST, Catalogue, Entry, catalogue, labels, names
from logdoctor.model.numbers import number

MOST_EFFECTS = 12
LIKELY = ("exit-code", "signal", "xid", "cuda", "nccl-result", "sxid", "ib-status", "ib-vendor", "ib-syndrome")
UNLIKELY = ("errno", "libfabric", "nv-status", "rm-init")
"""Catalogues that are likely, or unlikely, to be meant by a number alone."""
USUAL = {"signal": (6, 7, 9, 11, 15), "exit-code": (1, 2, 126, 127, 134, 135, 137, 139, 143, 255)}
"""Numbers that mostly mean this in training jobs."""
_NAME_AND_NUMBER = re.compile(r"([a-z][a-z _./-]*?)[\s:=#_(]*((?<=[\s=(])-|)(0x[0-9a-f]+|\d+)\)?", re.IGNORECASE)


def find_codes(words: str) -> tuple[Entry, ...]:
    """Return the entries of a code, the likely ones first.

    The name of the catalogue may come before the code. ``xid 79`` gives one entry. ``79`` gives an entry of each
    catalogue that lists it. Letter case, ``_``, ``-`` and spaces do not matter.
    """
    for reading in _readings(words):
        found = _find(reading)
        if found:
            return tuple(sorted(found, key=_unlikeliness))
    wanted = squash(words)
    return _by_name().get(wanted, ()) if wanted and not wanted.isdigit() else ()


def _readings(words: str) -> Iterator[str]:
    """Yield ``words``, then what they may mean: ``xid 79`` of ``XID:79`` or ``xid-79``."""
    yield words
    parts = _NAME_AND_NUMBER.fullmatch(words.strip())
    if parts:
        name = re.sub(r"[\s_./-]+", " ", parts[1])
        yield f"{name} {parts[2]}{parts[3]}"
        yield f"{name} {parts[3]}"


def _find(words: str) -> tuple[Entry, ...]:
    parts = [part.rstrip(":") for part in words.split()]
    for cut in range(len(parts) - 1, -1, -1):
        code = " ".join(parts[cut:])
        found = [catalogue(name).find(code) for name in _matching_names(parts[:cut])]
        entries = tuple(e for e in found if e and (cut or e.columns["code"] != REST))
        if entries:
            return entries
    return ()


def _unlikeliness(entry: Entry) -> tuple[bool, float]:
    """Return a key that sorts what is likely in training jobs before the rest."""
    name = entry.head.name
    order = (*LIKELY, *(n for n in names() if n not in LIKELY + UNLIKELY), *UNLIKELY)
    is_usual = number(entry.code) in USUAL.get(name, ())
    is_of_program = entry.name == "PROGRAM"
    return not is_usual, order.index(UNLIKELY[0]) - 0.5 if is_of_program else order.index(name)


def squash(words: str) -> str:
    """Return the letters and digits of ``words``, in small letters."""
    return re.sub(r"[\W_]+", "", words).lower()


def _by_name() -> Mapping[str, tuple[Entry, ...]]:
    """Return the entries of all catalogues by their squashed codes, names and texts."""
    table: dict[str, tuple[Entry, ...]] = {}
    for name in names():
        for entry in catalogue(name).entries:
            for text in {squash(text) for text in (entry.code, entry.name, *Catalogue.texts(entry))}:
                table[text] = (*table.get(text, ()), entry)
    return table


def code_names() -> set[str]:
    """Return the names of all codes, and the words that are no numbers."""
    entries = [entry for name in names() for entry in catalogue(name).entries]
    return {entry.name for entry in entries} | {entry.code for entry in entries if entry.code[-1].isalpha()}


def find_catalogues(words: str) -> tuple[Catalogue, ...]:
    """Return the catalogues for a name or its beginning. For ``slurm`` there are two."""
    parts = words.replace("_", " ").split()
    return tuple(catalogue(name) for name in _matching_names(parts)) if parts else ()


def _matching_names(parts: list[str]) -> tuple[str, ...]:
    """Return the catalogues with ``parts`` in their name or label. No parts match all."""
    if not parts:
        return names()
    wanted = "-".join(parts).lower()
    exact = tuple(name for name in names() if name == wanted)
    if exact:
        return exact
    return tuple(
        name for name in names() if f"-{wanted}" in f"-{name}-{_label(name)}" or squash(name) == squash(wanted)
    )


def _label(name: str) -> str:
    """Return the label with hyphens: ``vendor-error`` of ``vendor error {code}: …``."""
    return "-".join(catalogue(name).head.label("en").lower().split())


def entry_title(entry: Entry, lang: str = "en") -> str:
    """Return the code and its name."""
    name = "" if entry.name.lower() == entry.code.lower() else f"  {entry.name}"
    return f"{entry.head.label(lang)} {entry.code}".strip() + name


def entry_rows(entry: Entry, lang: str = "en", *, full: bool = False) -> Iterator[tuple[str, str]]:
    """Yield pairs of a label and a text about an entry. With ``full`` also the texts that programs print, and sources.

    A term is printed for several failures, so it says only its meaning and their signatures.
    """
    about, label, signatures = entry.head.about, labels(lang), ", ".join(entry.columns.get("see", "").split())
    yield label["meaning"], entry.column("meaning", lang)
    if not signatures:
        yield label["blame"], entry.column("blame", lang)
        yield label["decision"], label[entry.decision]
        yield label["action"], entry.column("action", lang)
    texts = ", ".join(f'"{text}"' for text in Catalogue.texts(entry)) if full else ""
    for key, text in (("says", texts), ("follows", _causes(entry)), ("leads", _effects(entry)), ("see", signatures)):
        if text:
            yield label[key], text
    if full:
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
