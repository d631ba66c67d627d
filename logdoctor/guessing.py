"""Where the rules leave a visible failure open, the classifier may say what it resembles.

It is asked after the rules and only about an ``unknown`` verdict with failure lines, so it never speaks against a rule
and never about a healthy job.  Where rules hold and nothing in the logs puts one of them first, it says which is the
likelier one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from logdoctor.classifier import SHIPPED_MODEL, FeatureCounter
from logdoctor.knowledge import Knowledge
from logdoctor.model import Cause, Culprit, Diagnosis, InputError, Rule
from logdoctor.reasoning.wording import fill_words
from logdoctor.regexes import later

SUMMARY = {
    "en": "A guess, proved by no rule: the failure lines resemble those of '{name}' ({percent} % sure). {cause}",
    "zh": "没有规则能证实这一点。这是一个猜测:失败日志行与“{name}”的日志相似(把握 {percent}%)。{cause}",
}
TITLE = {"en": "Perhaps: {title}", "zh": "可能是:{title}"}
EVIDENCE_SHOWN = 3
MUCH_LIKELIER = 0.8
"""That share of the chances of tied answers must fall to one of them."""
NUMBER_ALONE = later(r"(?:exit(?:ed)? (?:with )?|return ?)(?:code|status)\b[^\n\d]{0,12}-?\d{1,10}\W*$")
"""How a program ended, and no word of why: what such lines resemble is chance."""


def preference(counter: FeatureCounter, model: Path | None = None) -> Callable[[Sequence[str]], str | None]:
    """Says which of some signatures is much the likeliest in the light of what ``counter`` saw."""

    def prefer(signatures: Sequence[str]) -> str | None:
        from logdoctor.classifier.features import counter_features
        from logdoctor.classifier.linear_model import load_model

        try:
            chances = load_model(model or SHIPPED_MODEL).probabilities_of(counter_features(counter), signatures)
        except InputError:  # told where the model is asked for an answer of its own
            return None
        best = max(chances, key=lambda name: (chances[name], name), default=None)
        return best if best and chances[best] >= MUCH_LIKELIER * math.fsum(chances.values()) else None

    return prefer


def with_guess(
    diagnosis: Diagnosis, counter: FeatureCounter, known: Knowledge, lang: str = "en", model: Path | None = None
) -> Diagnosis:
    """The diagnosis with the classifier's guess as its cause, or as it was.

    ``model`` replaces the shipped model; one that cannot be used is a problem of the diagnosis, not an error.
    """
    if diagnosis.verdict != "unknown" or diagnosis.causes or not diagnosis.unexplained or not counter.failures:
        return diagnosis
    if all(NUMBER_ALONE.search(text) for *_, text in counter.failures):
        return diagnosis
    from logdoctor.classifier.features import counter_features
    from logdoctor.classifier.linear_model import load_model

    try:
        guess = load_model(model or SHIPPED_MODEL).guess(counter_features(counter))
    except InputError as error:
        return replace(diagnosis, problems=(*diagnosis.problems, error.as_problem()))
    rule = _rule(known, guess.signature) if guess else None
    if guess is None or rule is None:
        return diagnosis
    cause = _cause(rule, guess.probability, diagnosis, lang)
    return replace(diagnosis, verdict="failure", causes=(cause,))


def _rule(known: Knowledge, signature: str) -> Rule | None:
    """The rule whose words describe the signature: its own, else its first variant."""
    rules = [r for r in known.rules if r.signature == signature and r.role != "benign"]
    return next((r for r in rules if r.id == signature), rules[0] if rules else None)


def _cause(rule: Rule, probability: float, diagnosis: Diagnosis, lang: str) -> Cause:
    """Nobody is blamed: that a failure resembles another says nothing of ranks and hosts."""
    words = fill_words(rule.say(lang), {})
    percent = f"{probability:.0%}".rstrip("%")
    summary = SUMMARY.get(lang, SUMMARY["en"]).format(name=rule.signature, percent=percent, cause=words.cause)
    return Cause(
        signature=rule.signature,
        title=TITLE.get(lang, TITLE["en"]).format(title=words.title),
        summary=summary,
        confidence=round(probability, 2),
        by="classifier",
        culprit=Culprit(),
        action=rule.action,
        remedy=words.remedy,
        references=rule.references,
        evidence=diagnosis.unexplained[:EVIDENCE_SHOWN],
        explains=(),
    )
