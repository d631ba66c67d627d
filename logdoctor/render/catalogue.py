"""Message catalogues: the words of reports that do not come from rules.

Each language is one JSON file in ``words/``. A test checks that all languages have the same keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

_FOLDER = Path(__file__).parent / "words"


class Catalogue(Struct, frozen=True):
    """The messages of one language, by key.

    ``words("rank.1", ranks=3)`` returns "rank 3".
    """

    lang: str
    table: Mapping[str, str]

    def __call__(self, key: str, **places: object) -> str:
        """Return the message ``key`` with its ``{places}`` filled in. Raises KeyError if there is no such key."""
        return self.table[key].format(**places)

    def count(self, key: str, number: int) -> str:
        """Return "1 line" or "12,345 lines" from the messages ``key.1`` and ``key.n``."""
        return self(f"{key}.1") if number == 1 else self(f"{key}.n", n=f"{number:,}")


def languages() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.json")))


@lru_cache(maxsize=8)
def catalogue(lang: str) -> Catalogue:
    """Return the messages of ``lang``, for example "zh", "zh_CN.UTF-8" or "zh-Hans".

    A language without a file gets English.
    """
    wanted = lang.replace("-", "_").partition("_")[0].lower()
    name = wanted if wanted in languages() else "en"
    return Catalogue(name, msgspec.json.decode((_FOLDER / f"{name}.json").read_bytes()))
