"""The words of the reports that are not a rule's: one JSON file a language, all with the same keys (a test says so)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

_FOLDER = Path(__file__).parent / "words"


class Catalogue(Struct, frozen=True):
    """The words of one language; call it with a key and what its ``{places}`` are to hold."""

    lang: str
    table: Mapping[str, str]

    def __call__(self, key: str, **places: object) -> str:
        """Give the words under ``key``, filled in.  Raises KeyError for a key that isn't there."""
        return self.table[key].format(**places)

    def count(self, key: str, number: int) -> str:
        """Give "1 line" or "12,345 lines": the words under ``key.1`` or ``key.n``."""
        return self(f"{key}.1") if number == 1 else self(f"{key}.n", n=f"{number:,}")


def languages() -> tuple[str, ...]:
    """Give the languages there are, by name."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.json")))


@lru_cache(maxsize=8)
def catalogue(lang: str) -> Catalogue:
    """Give the words of ``lang`` ("zh", "zh_CN.UTF-8", "zh-Hans"); English for a language that isn't there."""
    name = lang.replace("-", "_").partition("_")[0].lower()
    known = name if name in languages() else "en"
    return Catalogue(known, msgspec.json.decode((_FOLDER / f"{known}.json").read_bytes()))
