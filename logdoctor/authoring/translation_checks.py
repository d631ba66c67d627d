"""Checks of a rule's words in several languages: whoever reads another one must be told to do the same."""

from __future__ import annotations

import re
from collections.abc import Iterator

from logdoctor.authoring.remark import Remark, Written
from logdoctor.model import Words

_CODE = re.compile("`([^`]+)`")
_DEFAULT = re.compile(r"(\{\w+(?:\.\w+)?)\|[^{}]*\}")
"""What stands for a value that is not known is words, inside a command too: each language has its own."""


def check_translations(written: Written) -> Iterator[Remark]:
    """Remarks on remedies of other languages whose steps, or whose commands in backticks, are not the English ones."""
    english = written.rule.say("en")
    for lang, words in written.rule.words:
        if lang != "en":
            yield from _differences(written, lang, english, words)


def _differences(written: Written, lang: str, english: Words, words: Words) -> Iterator[Remark]:
    part = ("text", lang, "remedy")
    if len(words.remedy) != len(english.remedy):
        what = f"the remedy has {len(words.remedy)} steps in '{lang}', and {len(english.remedy)} in English"
        yield written.remark("translation", part, what, "", "give the same steps in the same order")
        return
    for number, (said, meant) in enumerate(zip(words.remedy, english.remedy, strict=True)):
        odd = sorted(_codes(said) ^ _codes(meant))
        if odd:
            what = f"only one of English and '{lang}' has in step {number + 1}: {' '.join(f'`{code}`' for code in odd)}"
            cure = "put the same commands and settings in backticks in both"
            yield written.remark("translation", (*part, number), what, "", cure)


def _codes(step: str) -> set[str]:
    return {_DEFAULT.sub(r"\1}", code) for code in _CODE.findall(step)}
