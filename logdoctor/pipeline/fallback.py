"""The classifier's guess for a failure that no rule explains.

The classifier is asked after the rules, and only about an ``unknown`` verdict with failure lines. So it never
contradicts a rule and never diagnoses a healthy job.
"""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from logdoctor.classifier import SHIPPED_MODEL, FeatureCounter
from logdoctor.model import Cause, Culprit, Diagnosis, InputError, Rule
from logdoctor.model.catalogue import Catalogue
from logdoctor.pack.regexes import later
from logdoctor.pipeline.knowledge import Knowledge
from logdoctor.reasoning.findings.wording import Circumstances, fill_words

MAX_EVIDENCE = 3
_EXIT_CODE_ONLY = later(r"(?:exit(?:ed)? (?:with )?|return ?)(?:code|status)\b[^\n\d]{0,12}-?\d{1,10}\W*$")
"""An exit code without a reason. Lines like this resemble others only by chance."""


def add_guess(
    diagnosis: Diagnosis, counter: FeatureCounter, pack: Knowledge, words: Catalogue, model: Path | None = None
) -> Diagnosis:
    """Return the diagnosis with the classifier's guess, or unchanged.  A guess does not change the verdict.

    ``model`` replaces the shipped model. A model that cannot be loaded becomes a problem of the diagnosis, not an
    error.
    """
    if diagnosis.verdict != "unknown" or diagnosis.causes or not diagnosis.unexplained or not counter.failures:
        return diagnosis
    if all(_EXIT_CODE_ONLY.search(text) for *_, text in counter.failures):
        return diagnosis
    from logdoctor.classifier.features import counter_features
    from logdoctor.classifier.linear_model import load_model

    try:
        guess = load_model(model or SHIPPED_MODEL).guess(counter_features(counter))
    except InputError as error:
        return replace(diagnosis, problems=(*diagnosis.problems, error.as_problem()))
    rule = _find_rule(pack, guess.signature) if guess else None
    if guess is None or rule is None:
        return diagnosis
    return replace(diagnosis, causes=(_make_guess(rule, guess.probability, diagnosis, words),))


def _find_rule(pack: Knowledge, signature: str) -> Rule | None:
    """Return the rule of the signature, else its first variant."""
    rules = [r for r in pack.rules if r.signature == signature and r.role != "benign"]
    return next((r for r in rules if r.id == signature), rules[0] if rules else None)


def _make_guess(rule: Rule, probability: float, diagnosis: Diagnosis, words: Catalogue) -> Cause:
    """Return the guess as a cause without a culprit. A resemblance proves no rank and no host."""
    job = diagnosis.job
    tools = {"scheduler": [job.scheduler] if job.scheduler else [], "launcher": [job.launcher] if job.launcher else []}
    texts = fill_words(rule.say(words.lang), {}, Circumstances(tools))
    percent = f"{probability:.0%}".rstrip("%")
    return Cause(
        signature=rule.signature,
        title=words("cause.guess.title", title=texts.title),
        summary=words("cause.guess", name=rule.signature, percent=percent, cause=texts.cause),
        confidence=round(probability, 2),
        by="classifier",
        culprit=Culprit(),
        action=rule.action,
        steps=texts.steps,
        references=rule.references,
        evidence=diagnosis.unexplained[:MAX_EVIDENCE],
        explains=(),
    )
