"""Message catalogues: the words of answers and reports that do not come from rules.

Each language is one JSON file in ``words/``. A test checks that all languages have the same keys.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec

from logdoctor.model.catalogue import Catalogue

__all__ = ["Catalogue", "catalogue", "languages"]

_FOLDER = Path(__file__).parent / "words"


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
