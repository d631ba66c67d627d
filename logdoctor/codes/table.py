"""Read the files of the catalogues, and find codes in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct

from logdoctor.model import Value
from logdoctor.model.numbers import code_number

FOLDER = Path(__file__).parent
REST = "*"
"""Code of the entry for all codes without one."""


class Head(Struct, frozen=True):
    """The head of a catalogue. ``about`` maps each key to its words."""

    name: str
    about: Mapping[str, str]

    @property
    def explains(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a glob over record kinds and an explained field."""
        return tuple(
            (kind, field) for kind, _, field in (e.rpartition(".") for e in self.about.get("explains", "").split())
        )

    def title(self, lang: str) -> str:
        return self.about.get(f"title_{lang}") or self.about["title"]

    def template(self, lang: str) -> str:
        """Return the template of an entry: ``Xid {code}: {meaning} ({blame})``."""
        return self.about.get(f"shown_{lang}") or self.about["shown"]

    def label(self, lang: str) -> str:
        """Return the words before a code: ``Xid``, ``exit code``. Without any, return the title up to its colon."""
        return (
            self.template(lang).partition("{")[0].strip(' "“') or self.title(lang).replace("：", ":").partition(":")[0]
        )


class Entry(Struct, frozen=True):
    """An entry of a catalogue. ``code`` is the code that was looked up, ``columns`` is the row of the file."""

    head: Head
    code: str
    columns: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.columns["name"]

    def column(self, column: str, lang: str = "en") -> str:
        """Return the text of ``column``, or "" without such a column."""
        if column == "code":
            return self.code
        if column in ("blame", "action"):
            return _words(column)[self.columns[column]][lang if lang == "zh" else "en"]
        return self.columns.get(f"{column}_{lang}") or self.columns.get(column, "")

    def sentence(self, lang: str = "en") -> str:
        """Return the entry in one line: ``Xid 79: … (hardware)``."""
        values = {key: self.column(key, lang) for key in ("code", "name", "meaning", "blame")}
        return self.head.template(lang).format_map(values)

    @property
    def decision(self) -> str:
        """The decision that the action stands for, as a value of `logdoctor.model.Do`."""
        return _words("action")[self.columns["action"]]["decision"]


class Catalogue:
    """All entries of one file."""

    def __init__(self, head: Head, rows: Sequence[Mapping[str, str]]) -> None:
        self.head = head
        self.entries = tuple(Entry(head, row["code"], row) for row in rows)
        self._by_number: dict[int, Entry] = {}
        self._by_word: dict[str, Entry] = {}
        self._ranges: list[tuple[int, int, Entry]] = []
        for entry in self.entries:
            self._index(entry)

    def _index(self, entry: Entry) -> None:
        first, _, last = entry.code.lstrip("-").partition("-")
        number = code_number(entry.code)
        if number is not None:
            self._by_number.setdefault(number, entry)
        elif first.isdigit() and last.isdigit():
            self._ranges.append((int(first), int(last), entry))
        also = entry.columns.get("also", "").split("|")
        for word in (entry.code, entry.name, *self.texts(entry), *filter(None, also)):
            self._by_word.setdefault(word.lower(), entry)

    @staticmethod
    def texts(entry: Entry) -> tuple[str, ...]:
        """Return the texts that programs print for ``entry``."""
        return tuple(filter(None, entry.columns.get("says", "").split("|")))

    def words(self) -> Iterator[tuple[str, Entry]]:
        """Yield every text that programs print, with its entry."""
        for entry in self.entries:
            yield from ((text, entry) for text in self.texts(entry))

    def find(self, value: Value) -> Entry | None:
        """Return the entry of a number, name or printed text.

        Letter case does not matter. A path is found by its last part. Without an entry, return None.
        """
        number = value if isinstance(value, int) else code_number(str(value).strip())
        own = self._find_own(str(value).strip().lower(), number)
        if own:
            return own
        other = self._find_elsewhere(number) if number is not None else None
        rest = self._by_word.get(REST)
        if other or rest is None or number is None:
            return other
        return Entry(self.head, str(number), rest.columns)

    def _find_own(self, word: str, number: int | None) -> Entry | None:
        if number is None:
            return (self._by_word.get(word) or self._by_word.get(word.rpartition("/")[2])) if word != REST else None
        if number in self._by_number:
            return self._by_number[number]
        found = next((e for first, last, e in self._ranges if first <= number <= last), None)
        return Entry(self.head, str(number), found.columns) if found else None

    def _find_elsewhere(self, number: int) -> Entry | None:
        """Look up ``number`` in the catalogue that ``otherwise`` names."""
        name, _, offset = self.head.about.get("otherwise", "").partition(" ")
        other = -number if number < 0 else number - int(offset or 0)
        found = catalogue(name).find(other) if name and other > 0 else None
        return Entry(self.head, str(number), found.columns) if found else None


def names() -> tuple[str, ...]:
    """Return the names of all catalogues."""
    return tuple(head.name for head in heads())


@cache
def heads() -> tuple[Head, ...]:
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
    """Return the catalogue ``name``. Raises KeyError if there is none."""
    head = next((h for h in heads() if h.name == name), None)
    if head is None:
        raise KeyError(name)
    return Catalogue(head, rows(FOLDER / "data" / f"{name}.tsv"))


def rows(path: Path) -> list[dict[str, str]]:
    """Read the rows of a TSV file by column. Lines that start with ``# `` are skipped."""
    lines = [x for x in path.read_text("utf-8").splitlines() if x and not x.startswith("# ")]
    columns = lines[0].split("\t")
    return [dict(zip(columns, line.split("\t"), strict=True)) for line in lines[1:]]


@cache
def _words(kind: str) -> Mapping[str, Mapping[str, str]]:
    """Read the words for the keys of ``words/<kind>.tsv``."""
    return {row["key"]: row for row in rows(FOLDER / "words" / f"{kind}.tsv")}


def labels(lang: str) -> Mapping[str, str]:
    """Return the labels of the rows that describe an entry."""
    return {key: row["zh" if lang == "zh" else "en"] for key, row in _words("page").items()}
