"""Checks that a rule gives the same remedy in every language."""

from __future__ import annotations

import re
from collections.abc import Iterator

from logdoctor.authoring.lint_issue import LintIssue, RuleSource
from logdoctor.model import StepWords, Words

_CODE = re.compile("`([^`]+)`")


def check_translations(source: RuleSource) -> Iterator[LintIssue]:
    """Compare each remedy with the English one: its steps and its commands in backticks."""
    english = source.rule.say("en")
    for lang, words in source.rule.words:
        if lang != "en":
            yield from _differences(source, lang, english, words)


def _differences(source: RuleSource, lang: str, english: Words, words: Words) -> Iterator[LintIssue]:
    part = ("text", lang, "remedy")
    if len(words.remedy) != len(english.remedy):
        what = f"the remedy has {len(words.remedy)} steps in '{lang}', and {len(english.remedy)} in English"
        yield source.issue("translation", part, what, "", "give the same steps in the same order")
        return
    for number, step in enumerate(words.remedy):
        if step.run or step.when:
            what = f"step {number + 1} in '{lang}' has commands or a condition of its own"
            yield source.issue(
                "translation", (*part, number), what, "", "leave out 'run' and 'when': the English ones hold"
            )
    for number, (step, english_step) in enumerate(zip(words.remedy, english.remedy, strict=True)):
        odd = sorted(_codes(step) ^ _codes(english_step))
        if odd:
            what = f"only one of English and '{lang}' has in step {number + 1}: {' '.join(f'`{code}`' for code in odd)}"
            cure = "put the same commands and settings in backticks in both"
            yield source.issue("translation", (*part, number), what, "", cure)


def _codes(step: StepWords) -> set[str]:
    """Return the codes of the fullest form. Shorter forms have words in place of values."""
    return {*_CODE.findall(step.do[0])}
