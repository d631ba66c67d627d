"""Messages of one language, the words of answers that do not come from rules."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from logdoctor.model.chinese import space_chinese


class Catalogue(Struct, frozen=True):
    """The messages of one language, by key. ``words("rank.1", ranks=3)`` returns "rank 3"."""

    lang: str
    table: Mapping[str, str]

    def __call__(self, key: str, **places: object) -> str:
        """Return the message ``key`` with its ``{places}`` filled in. Raises KeyError if there is no such key."""
        text = self.table[key].format(**places)
        return space_chinese(text) if self.lang == "zh" else text

    def count(self, key: str, number: int) -> str:
        """Return "1 line" or "12,345 lines" from the messages ``key.1`` and ``key.n``."""
        return self(f"{key}.1") if number == 1 else self(f"{key}.n", n=f"{number:,}")
