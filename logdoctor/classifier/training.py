"""Makes the model: features with labels in, a calibrated `LinearModel` and the figures of its evaluation out.

Held out twice: every example once (its variants with it), which asks "is a known failure in other words recognised?",
and every rule once with all its examples, which asks "does it keep silent about a failure it was never shown?".  The
temperature is fitted on the first; the threshold must give the wanted precision on both together, healthy logs left
out, as nobody asks about them.  No randomness: the same samples give the same bytes.  scikit-learn and pandas are
imported when training starts, not before.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from logdoctor.classifier.features import BUCKETS
from logdoctor.classifier.linear_model import HEALTHY, LARGEST, NAMELESS, SCALE, LinearModel

PRECISION = 0.85
"""Of the guesses it utters, so many shall be right on held-out data."""
FOLDS = 3
STRENGTH = 10.0
"""scikit-learn's C, the inverse of the regularisation."""
STEPS = 60
WAYS = ("known failures, other words", "rules never seen")
"""The two ways to hold out."""
SMALLEST_WEIGHT = 0.15
"""A smaller weight moves no answer and is left out of the file; larger ones too where the file would be too large."""
SILENT = 1.01
"""A threshold that no probability reaches."""

Told = Callable[[str, int, int], None]
"""Told what is being done, how many such steps are done and how many there are."""


class Sample(Struct, frozen=True):
    """One log (or a variant of one): its features, what it is, and what must be held out together with it.

    ``whole``: it is the log itself; the model is judged by those only.
    """

    features: Mapping[int, float]
    label: str
    example: str
    rule: str
    whole: bool = True


class Trained(Struct, frozen=True):
    """The model and, for people, how well its kind does on what it has not seen."""

    model: LinearModel
    table: Any
    """A pandas table: one row a threshold; how much is said and how much of it is right, for both ways to hold out."""
    held_out: Any
    """A pandas table: one row a held-out sample; way, example, label, guess, probability, right."""


def train(samples: Sequence[Sample], told: Told = lambda *_: None) -> Trained:
    """Evaluate by cross-validation, calibrate, fit on everything.  Raises `ValueError` with fewer than two classes."""
    samples = [s for s in samples if s.features]
    if len({s.label for s in samples}) < 2:  # nothing to tell apart
        raise ValueError("there must be samples of at least two classes")
    known = _held_out(samples, [s.example for s in samples], WAYS[0], told)
    fresh = _held_out(samples, [s.rule for s in samples], WAYS[1], told)
    temperature = _temperature(known)
    held_out = _predictions([*known, *fresh], temperature)
    table = _table(held_out)
    told("fitting the model on everything", 2 * FOLDS, 2 * FOLDS + 1)
    model = _plain_model(_fit(samples), temperature, _threshold(held_out))
    return Trained(model, table, held_out)


def _matrix(samples: Sequence[Sample]) -> Any:
    from sklearn.feature_extraction import DictVectorizer

    columns = DictVectorizer(sort=False).fit([dict.fromkeys(range(BUCKETS), 1.0)])
    return columns.transform([s.features for s in samples])


def _fit(samples: Sequence[Sample]) -> Any:
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # one thread: sums in the same order every time, and faster than threads that wait for each other
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)  # stopping early is part of the regularisation
        return LogisticRegression(C=STRENGTH, max_iter=STEPS).fit(_matrix(samples), [s.label for s in samples])


class _Held(Struct, frozen=True):
    way: str
    sample: Sample
    classes: Sequence[str]
    sums: Any


def _held_out(samples: Sequence[Sample], groups: Sequence[str], way: str, told: Told) -> list[_Held]:
    """Every log judged by a model that saw nothing of its group; the folds go by the groups' names."""
    folds = [zlib.crc32(g.encode()) % FOLDS for g in groups]
    found: list[_Held] = []
    for fold in range(FOLDS):
        told(f"holding out: {way}", WAYS.index(way) * FOLDS + fold, 2 * FOLDS + 1)
        rest = [s for s, f in zip(samples, folds, strict=True) if f != fold]
        judged = [s for s, f in zip(samples, folds, strict=True) if f == fold and s.whole]
        if judged and len({s.label for s in rest}) > 1:
            fitted = _fit(rest)
            sums = _sums(fitted, judged)
            found += [_Held(way, s, fitted.classes_, row) for s, row in zip(judged, sums, strict=True)]
    return found


def _sums(fitted: Any, samples: Sequence[Sample]) -> Any:
    import numpy as np

    sums = fitted.decision_function(_matrix(samples))
    return np.column_stack([-sums / 2, sums / 2]) if sums.ndim == 1 else sums


def _shares(sums: Any, temperature: float) -> Any:
    import numpy as np

    powers = np.exp((sums - sums.max()) / temperature)
    return powers / powers.sum()


def _temperature(held: Sequence[_Held]) -> float:
    """The temperature under which the held-out answers are the least surprising; from a fixed grid."""
    import numpy as np

    asked = [(h.sums, int(np.searchsorted(h.classes, h.sample.label))) for h in held if h.sample.label in h.classes]

    def surprise(temperature: float) -> float:
        return -sum(float(np.log(max(_shares(sums, temperature)[n], 1e-12))) for sums, n in asked)

    return min((round(0.2 * 1.15**n, 3) for n in range(26)), key=surprise)


def _predictions(held: Sequence[_Held], temperature: float) -> Any:
    import pandas as pd

    rows = []
    for h in held:
        shares = _shares(h.sums, temperature)
        top = int(shares.argmax())
        rows.append((h.way, h.sample.example, h.sample.label, str(h.classes[top]), float(shares[top])))
    frame = pd.DataFrame(rows, columns=["way", "example", "label", "guess", "probability"])
    return frame.assign(right=frame["label"] == frame["guess"])


def _table(held_out: Any) -> Any:
    """Coverage and precision at some thresholds, of failed jobs.  A guess that names no failure is silence."""
    import pandas as pd

    rows = []
    for threshold in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98):
        for way, part in held_out[held_out["label"] != HEALTHY].groupby("way"):
            spoken = part[(part["probability"] >= threshold) & ~part["guess"].isin(NAMELESS)]
            precision = float(spoken["right"].mean()) if len(spoken) else float("nan")
            rows.append((threshold, way, len(spoken) / len(part), precision))
    return pd.DataFrame(rows, columns=["threshold", "way", "speaks", "right"]).pivot_table(
        index="threshold", columns="way", values=["speaks", "right"]
    )


def _threshold(held_out: Any) -> float:
    """The lowest threshold from which on the precision stays at `PRECISION`; `SILENT` where none gives it."""
    spoken = held_out[(held_out["label"] != HEALTHY) & ~held_out["guess"].isin(NAMELESS)]
    best = SILENT
    for threshold in (n / 100 for n in range(99, 29, -1)):
        right = spoken.loc[spoken["probability"] >= threshold, "right"]
        if len(right) and right.mean() < PRECISION:
            break
        best = threshold if len(right) else best
    return best


def _plain_model(fitted: Any, temperature: float, threshold: float) -> LinearModel:
    """The fitted model as rounded plain numbers, as many of them as a model file may hold."""
    classes = tuple(str(c) for c in fitted.classes_)
    table, bias = fitted.coef_, fitted.intercept_
    if len(classes) == 2:  # scikit-learn keeps one row of weights only
        table, bias = [-table[0] / 2, table[0] / 2], [-bias[0] / 2, bias[0] / 2]
    rounded = tuple(round(float(b) * SCALE) / SCALE for b in bias)
    smallest = SMALLEST_WEIGHT
    while True:
        weights = _weights(table, smallest)
        model = LinearModel(classes, rounded, weights, temperature, threshold)
        if not weights or len(model.to_json().encode()) <= LARGEST:
            return model
        smallest *= 1.1


def _weights(table: Any, smallest: float) -> dict[str, list[int]]:
    """The weights that are not smaller, by buckets."""
    weights: dict[str, list[int]] = {}
    for bucket in range(BUCKETS):
        row = ((n, float(w[bucket])) for n, w in enumerate(table))
        kept = [number for n, w in row if abs(w) >= smallest for number in (n, round(w * SCALE))]
        if kept:
            weights[str(bucket)] = kept
    return weights
