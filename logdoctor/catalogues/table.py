"""The files of the catalogues: their heads, their entries, and how a code is found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct

from logdoctor.model import Value

FOLDER = Path(__file__).parent
REST = "*"
"""The code of the entry that stands for all that a catalogue does not list."""


class Head(Struct, frozen=True):
    """What the first lines of a catalogue say: ``about`` by key, ``explains`` as pairs (glob over kinds, field)."""

    name: str
    about: Mapping[str, str]

    @property
    def explains(self) -> tuple[tuple[str, str], ...]:
        """The event fields whose values this catalogue knows."""
        return tuple((kind, field) for kind, _, field in (e.rpartition(".") for e in self.about["explains"].split()))

    def title(self, lang: str) -> str:
        """What it is a catalogue of."""
        return self.about.get(f"title_{lang}") or self.about["title"]

    def shown(self, lang: str) -> str:
        """How an entry is said in one line, with ``{code}``, ``{name}``, ``{meaning}`` and ``{blame}`` to fill in."""
        return self.about.get(f"shown_{lang}") or self.about["shown"]

    def label(self, lang: str) -> str:
        """What stands before a code: ``Xid``, ``exit code``; the first words of the title where nothing does."""
        return self.shown(lang).partition("{")[0].strip(' "“') or self.title(lang).replace("：", ":").partition(":")[0]


class Entry(Struct, frozen=True):
    """One code: ``code`` as asked for, ``columns`` as in the file."""

    head: Head
    code: str
    columns: Mapping[str, str]

    @property
    def name(self) -> str:
        """The symbol or short name."""
        return self.columns["name"]

    def column(self, column: str, lang: str = "en") -> str:
        """What a person reads of ``column``, in words of ``lang``; empty where the entry has no such column."""
        if column == "code":
            return self.code
        if column in ("blame", "action"):
            return _words(column)[self.columns[column]][lang if lang == "zh" else "en"]
        return self.columns.get(f"{column}_{lang}") or self.columns.get(column, "")

    def sentence(self, lang: str = "en") -> str:
        """The entry in one line, as the catalogue's head wants it: ``Xid 79: … (hardware)``."""
        asked = {key: self.column(key, lang) for key in ("code", "name", "meaning", "blame")}
        return self.head.shown(lang).format_map(asked)

    @property
    def decision(self) -> str:
        """The action as one of `logdoctor.model.Action`."""
        return _words("action")[self.columns["action"]]["decision"]


class Catalogue:
    """All entries of one file; ask with `find`."""

    def __init__(self, head: Head, rows: Sequence[Mapping[str, str]]) -> None:
        """Sort the rows by how they are found: number, range, name or words."""
        self.head = head
        self.entries = tuple(Entry(head, row["code"], row) for row in rows)
        self._by_number: dict[int, Entry] = {}
        self._by_word: dict[str, Entry] = {}
        self._ranges: list[tuple[int, int, Entry]] = []
        for entry in self.entries:
            self._sort_in(entry)

    def _sort_in(self, entry: Entry) -> None:
        first, _, last = entry.code.lstrip("-").partition("-")
        number = as_number(entry.code)
        if number is not None:
            self._by_number.setdefault(number, entry)
        elif first.isdigit() and last.isdigit():
            self._ranges.append((int(first), int(last), entry))
        for word in (entry.code, entry.name, *self.said(entry)):
            self._by_word.setdefault(word.lower(), entry)

    @staticmethod
    def said(entry: Entry) -> tuple[str, ...]:
        """The words that programs print for an entry."""
        return tuple(filter(None, entry.columns.get("says", "").split("|")))

    def words(self) -> Iterator[tuple[str, Entry]]:
        """Every text that programs print, with its entry."""
        for entry in self.entries:
            yield from ((text, entry) for text in self.said(entry))

    def find(self, value: Value) -> Entry | None:
        """The entry of a number, name or printed text (case does not matter); None where nothing is known of it."""
        number = value if isinstance(value, int) else as_number(str(value).strip())
        listed = self._listed(str(value).strip().lower(), number)
        if listed:
            return listed
        elsewhere = self._elsewhere(number) if number is not None else None
        rest = self._by_word.get(REST)
        if elsewhere or rest is None or number is None:
            return elsewhere
        return Entry(self.head, str(number), rest.columns)

    def _listed(self, word: str, number: int | None) -> Entry | None:
        if number is None:
            return self._by_word.get(word) if word != REST else None
        if number in self._by_number:
            return self._by_number[number]
        found = next((e for first, last, e in self._ranges if first <= number <= last), None)
        return Entry(self.head, str(number), found.columns) if found else None

    def _elsewhere(self, number: int) -> Entry | None:
        """The entry of the catalogue named by ``otherwise``, under our own code."""
        name, _, offset = self.head.about.get("otherwise", "").partition(" ")
        other = -number if number < 0 else number - int(offset or 0)
        found = catalogue(name).find(other) if name and other > 0 else None
        return Entry(self.head, str(number), found.columns) if found else None


def as_number(text: str) -> int | None:
    """A number as logs print it, decimal or ``0x…``; None for anything else."""
    plain = text[1:] if text[:1] == "-" else text
    if plain.isascii() and plain.isdigit() and len(plain) < 19:
        return int(text)
    if plain[:2].lower() != "0x" or len(plain) > 18:
        return None
    try:
        return int(text, 16)
    except ValueError:
        return None


def names() -> tuple[str, ...]:
    """The catalogues there are, by name."""
    return tuple(head.name for head in heads())


@cache
def heads() -> tuple[Head, ...]:
    """The heads of all files of the folder, by name."""
    return tuple(_head(path) for path in sorted((FOLDER / "data").glob("*.tsv")))


def _head(path: Path) -> Head:
    about: dict[str, str] = {}
    with path.open(encoding="utf-8") as file:
        for line in file:
            if not line.startswith("# "):
                break
            key, _, words = line[2:].strip().partition(": ")
            about[key] = words
    return Head(path.stem, about)


@cache
def catalogue(name: str) -> Catalogue:
    """The catalogue of that name.  Raises KeyError where there is none."""
    head = next((h for h in heads() if h.name == name), None)
    if head is None:
        raise KeyError(name)
    return Catalogue(head, rows(FOLDER / "data" / f"{name}.tsv"))


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a file of ours, as column -> text."""
    lines = [x for x in path.read_text("utf-8").splitlines() if x and not x.startswith("# ")]
    columns = lines[0].split("\t")
    return [dict(zip(columns, line.split("\t"), strict=True)) for line in lines[1:]]


@cache
def _words(kind: str) -> Mapping[str, Mapping[str, str]]:
    """The words for the keys of a column: ``words/blame.tsv`` or ``words/action.tsv``."""
    return {row["key"]: row for row in rows(FOLDER / "words" / f"{kind}.tsv")}


def page_words(lang: str) -> Mapping[str, str]:
    """The words around an entry where a person asked for it."""
    return {key: row["zh" if lang == "zh" else "en"] for key, row in _words("page").items()}
