"""Trains a calibrated `LinearModel` from labelled features, and evaluates it.

Samples are held out by two methods.  Holding out each example with its variants tests whether a failure is recognized
in other words.  Holding out each rule with its examples tests whether the model stays silent about an unknown failure.

The temperature is fitted with the first method.  The threshold must give the wanted precision on both together.
Healthy logs do not count, because the classifier is never used for them.  Training has no randomness, so equal samples
give equal bytes.  Importing this module needs scikit-learn and pandas.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from logdoctor.classifier.features import BUCKETS
from logdoctor.classifier.linear_model import HEALTHY, NO_SIGNATURE, SCALE, LinearModel
from logdoctor.model.extras import needs_extra
from logdoctor.model.own_files import MAX_BYTES

with needs_extra("learn", "no classifier can be trained"):
    import numpy as np
    import pandas as pd
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

PRECISION = 0.85
"""Share of the guesses on held-out samples that must be right."""
FOLDS = 3
STRENGTH = 10.0
"""scikit-learn's C, the inverse of the regularisation."""
STEPS = 60
METHODS = ("known failures, other words", "rules never seen")
"""The two methods of holding out: by example, by rule."""
MIN_WEIGHT = 0.15
"""Smaller weights change no guess and are left out.  The limit rises if the file would be too large."""
SILENT = 1.01
"""Threshold above all probabilities."""

ReportProgress = Callable[[str, int, int], None]
"""Callback with the present step, the number of finished steps and the number of all steps."""


class Sample(Struct, frozen=True):
    """Labelled features of a log or of a variant.

    Samples with the same ``example`` or ``rule`` are held out together.  ``original`` is False for a variant, and only
    originals count in the evaluation.
    """

    features: Mapping[int, float]
    label: str
    example: str
    rule: str
    original: bool = True


class TrainingResult(Struct, frozen=True):
    """The model and its evaluation on held-out samples."""

    model: LinearModel
    table: Any
    """A pandas table with one row per threshold: shares of guesses and of right guesses, for each method."""
    held_out: Any
    """A pandas table with one row per held-out sample: way, example, label, guess, probability, right."""


def train(samples: Sequence[Sample], report: ReportProgress = lambda *_: None) -> TrainingResult:
    """Evaluate by cross-validation, calibrate, then fit on all samples.

    Raises `ValueError` if there are fewer than two classes.
    """
    samples = [s for s in samples if s.features]
    if len({s.label for s in samples}) < 2:
        raise ValueError("there must be samples of at least two classes")
    by_example = _cross_validate(samples, [s.example for s in samples], METHODS[0], report)
    by_rule = _cross_validate(samples, [s.rule for s in samples], METHODS[1], report)
    temperature = _fit_temperature(by_example)
    held_out = _predictions([*by_example, *by_rule], temperature)
    table = _table(held_out)
    report("fitting the model on everything", 2 * FOLDS, 2 * FOLDS + 1)
    model = _make_model(_fit(samples), temperature, _choose_threshold(held_out))
    return TrainingResult(model, table, held_out)


def _matrix(samples: Sequence[Sample]) -> Any:
    columns = DictVectorizer(sort=False).fit([dict.fromkeys(range(BUCKETS), 1.0)])
    return columns.transform([s.features for s in samples])


def _fit(samples: Sequence[Sample]) -> Any:
    # One thread adds in the same order every time, and is faster than threads that wait for each other.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)  # stopping early is part of the regularisation
        return LogisticRegression(C=STRENGTH, max_iter=STEPS).fit(_matrix(samples), [s.label for s in samples])


class _HeldOut(Struct, frozen=True):
    method: str
    sample: Sample
    classes: Sequence[str]
    sums: Any


def _cross_validate(
    samples: Sequence[Sample], groups: Sequence[str], method: str, report: ReportProgress
) -> list[_HeldOut]:
    """Evaluate each original sample with a model fitted without its group.

    A group is assigned to a fold by the hash of its name.
    """
    folds = [zlib.crc32(g.encode()) % FOLDS for g in groups]
    results: list[_HeldOut] = []
    for fold in range(FOLDS):
        report(f"holding out: {method}", METHODS.index(method) * FOLDS + fold, 2 * FOLDS + 1)
        rest = [s for s, f in zip(samples, folds, strict=True) if f != fold]
        tested = [s for s, f in zip(samples, folds, strict=True) if f == fold and s.original]
        if tested and len({s.label for s in rest}) > 1:
            fitted = _fit(rest)
            sums = _sums(fitted, tested)
            results += [_HeldOut(method, s, fitted.classes_, row) for s, row in zip(tested, sums, strict=True)]
    return results


def _sums(fitted: Any, samples: Sequence[Sample]) -> Any:
    sums = fitted.decision_function(_matrix(samples))
    return np.column_stack([-sums / 2, sums / 2]) if sums.ndim == 1 else sums


def _softmax(sums: Any, temperature: float) -> Any:
    powers = np.exp((sums - sums.max()) / temperature)
    return powers / powers.sum()


def _fit_temperature(held_out: Sequence[_HeldOut]) -> float:
    """Return the temperature with the smallest log loss, from a grid."""
    usable = [
        (h.sums, int(np.searchsorted(h.classes, h.sample.label))) for h in held_out if h.sample.label in h.classes
    ]

    def log_loss(temperature: float) -> float:
        return -sum(float(np.log(max(_softmax(sums, temperature)[n], 1e-12))) for sums, n in usable)

    return min((round(0.2 * 1.15**n, 3) for n in range(26)), key=log_loss)


def _predictions(held_out: Sequence[_HeldOut], temperature: float) -> Any:
    rows = []
    for h in held_out:
        probabilities = _softmax(h.sums, temperature)
        top = int(probabilities.argmax())
        rows.append((h.method, h.sample.example, h.sample.label, str(h.classes[top]), float(probabilities[top])))
    frame = pd.DataFrame(rows, columns=["way", "example", "label", "guess", "probability"])
    return frame.assign(right=frame["label"] == frame["guess"])


def _table(held_out: Any) -> Any:
    """Return coverage and precision on failed jobs, at some thresholds.

    A guess that is no signature does not count as a guess.
    """
    rows = []
    for threshold in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98):
        for method, part in held_out[held_out["label"] != HEALTHY].groupby("way"):
            guesses = part[(part["probability"] >= threshold) & ~part["guess"].isin(NO_SIGNATURE)]
            precision = float(guesses["right"].mean()) if len(guesses) else float("nan")
            rows.append((threshold, method, len(guesses) / len(part), precision))
    return pd.DataFrame(rows, columns=["threshold", "way", "speaks", "right"]).pivot_table(
        index="threshold", columns="way", values=["speaks", "right"]
    )


def _choose_threshold(held_out: Any) -> float:
    """Return the lowest threshold with the wanted precision at it and above.

    Returns `SILENT` if no threshold has the precision.
    """
    guesses = held_out[(held_out["label"] != HEALTHY) & ~held_out["guess"].isin(NO_SIGNATURE)]
    best = SILENT
    for threshold in (n / 100 for n in range(99, 29, -1)):
        right = guesses.loc[guesses["probability"] >= threshold, "right"]
        if len(right) and right.mean() < PRECISION:
            break
        best = threshold if len(right) else best
    return best


def _make_model(fitted: Any, temperature: float, threshold: float) -> LinearModel:
    """Make a model with rounded weights. The smallest weights are dropped until the file is small enough."""
    classes = tuple(str(c) for c in fitted.classes_)
    table, bias = fitted.coef_, fitted.intercept_
    if len(classes) == 2:  # scikit-learn returns one row of weights for two classes
        table, bias = [-table[0] / 2, table[0] / 2], [-bias[0] / 2, bias[0] / 2]
    rounded = tuple(round(float(b) * SCALE) / SCALE for b in bias)
    limit = MIN_WEIGHT
    while True:
        weights = _weights(table, limit)
        model = LinearModel(classes, rounded, weights, temperature, threshold)
        if not weights or len(model.to_json().encode()) <= MAX_BYTES:
            return model
        limit *= 1.1


def _weights(table: Any, limit: float) -> dict[str, list[int]]:
    """Return the weights of at least ``limit`` (absolute), by bucket."""
    weights: dict[str, list[int]] = {}
    for bucket in range(BUCKETS):
        row = ((n, float(w[bucket])) for n, w in enumerate(table))
        pairs = [number for n, w in row if abs(w) >= limit for number in (n, round(w * SCALE))]
        if pairs:
            weights[str(bucket)] = pairs
    return weights
