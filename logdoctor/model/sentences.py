"""Sentences of a text for a person."""

from __future__ import annotations

import re

_END = re.compile(r"(?<=[\w)\]\"'`%-][\w)\]\"'`%][.!?])[ \n]+(?=[A-Z0-9\"'`(])|(?<=[。！？])")


def split_sentences(text: str) -> list[str]:
    return [part for part in map(str.strip, _END.split(text)) if part]
