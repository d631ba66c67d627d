"""Spaces in Chinese text that values were filled into."""

from __future__ import annotations

import re
from functools import cache

_HAN = r"[\u3400-\u9fff]"
_WIDE = r"[，。：；？！、（）《》「」【】]"
_SPACES = rf"""
    (?P<untouched> `[^`]*` | \w+://[^\s，。：；、（）]* | (?<![\w/])[~.]{{0,2}}/[^\s，。：；、（）]* )
    | (?P<one> (?<={_HAN})\ *(?=[A-Za-z0-9]) | (?<=[A-Za-z0-9])\ *(?={_HAN}) )
    | (?<={_HAN})\ +(?={_HAN}) | (?<={_WIDE})\ + | \ +(?={_WIDE})
"""


def space_chinese(text: str) -> str:
    """Return Chinese text with the usual spaces.

    There is one space between Han characters and Latin letters or digits. There is none between Han characters, and
    none beside full-width punctuation. Code in backticks, paths and addresses stay as they are.
    """
    return text if text.isascii() else _pattern().sub(_spaced, text)


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_SPACES, re.VERBOSE | re.ASCII)


def _spaced(match: re.Match[str]) -> str:
    return match["untouched"] or ("" if match["one"] is None else " ")
