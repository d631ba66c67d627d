"""The model at run time: sparse weights, dot products, softmax; JSON in and out, never pickle."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from logdoctor.classifier.features import BUCKETS
from logdoctor.model import InputError

FORMAT = "logdoctor.classifier/2"
HEALTHY = "healthy"
UNKNOWN = "unknown"
NAMELESS = (HEALTHY, UNKNOWN)
"""The classes of logs that name no failure; to guess one of them is to stay silent."""
LARGEST = 1 << 20
"""Bytes of a model file."""
LARGE = 10**9
SCALE = 100
"""Weights are kept as hundredths, so that the file is short and the same on every machine."""


class Guess(Struct, frozen=True):
    """A signature and how probable it is (calibrated, 0 to 1)."""

    signature: str
    probability: float


class LinearModel(Struct, frozen=True):
    """``bias`` has one weight a class.

    ``weights[str(bucket)]`` is flat, as in the file: a class's number, its weight in hundredths, the next class's ...
    """

    classes: tuple[str, ...]
    bias: tuple[float, ...]
    weights: Mapping[str, Sequence[int]]
    temperature: float
    threshold: float

    def guess(self, features: Mapping[int, float]) -> Guess | None:
        """The most probable signature, or None: nothing to go by, not sure enough, or nothing that has a name."""
        best = self.best(features)
        return best if features and best.probability >= self.threshold and best.signature not in NAMELESS else None

    def best(self, features: Mapping[int, float]) -> Guess:
        """The most probable class, however unlikely; the first by name of equal ones."""
        chances = self.chances(features)
        top = max(range(len(chances)), key=lambda n: (chances[n], -n))
        return Guess(self.classes[top], chances[top])

    def chances(self, features: Mapping[int, float]) -> list[float]:
        """How probable each class is, in the order of ``classes``."""
        sums = list(self.bias)
        for bucket, value in features.items():
            row = self.weights.get(str(bucket), ())
            for number, weight in zip(row[::2], row[1::2], strict=True):
                sums[number] += weight * value / SCALE
        top = max(sums)
        powers = [math.exp((s - top) / self.temperature) for s in sums]
        total = math.fsum(powers)
        return [p / total for p in powers]

    def named(self, features: Mapping[int, float], signatures: Collection[str]) -> dict[str, float]:
        """How probable each of ``signatures`` is; those that it was never taught are left out."""
        return {c: p for c, p in zip(self.classes, self.chances(features), strict=True) if c in signatures}

    def to_json(self) -> str:
        """The model as text; the same model gives the same bytes."""
        plain = {
            "format": FORMAT,
            "buckets": BUCKETS,
            "classes": self.classes,
            "temperature": self.temperature,
            "threshold": self.threshold,
            "bias": [round(b * SCALE) for b in self.bias],
            "weights": {bucket: list(row) for bucket, row in self.weights.items()},
        }
        return json.dumps(plain, separators=(",", ":")) + "\n"


def load_model(path: Path) -> LinearModel:
    """Read a model, once a process.  Raises `InputError` for whatever is not one; nothing of a file is ever run."""
    try:
        status = path.stat()
        return _loaded(path, status.st_mtime_ns, status.st_size)
    except (OSError, ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        what, why = "the classifier's model cannot be used", f"{type(error).__name__}: {error}"
        raise InputError(what, str(path), why, "make one with 'logdoctor train', or leave --model out") from None


@lru_cache(maxsize=2)
def _loaded(path: Path, _changed: int, _size: int) -> LinearModel:
    return _model(json.loads(_read(path)))


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        raw = file.read(LARGEST + 1)
    if len(raw) > LARGEST:
        raise ValueError(f"larger than {LARGEST} bytes")
    return raw


def _model(plain: Any) -> LinearModel:
    if plain["format"] != FORMAT or plain["buckets"] != BUCKETS:
        raise ValueError(f"not of the format {FORMAT} with {BUCKETS} buckets")
    classes = tuple(str(c) for c in plain["classes"])
    bias = tuple(_number(b) / SCALE for b in plain["bias"])
    weights = {str(b): _checked(row, len(classes)) for b, row in plain["weights"].items()}
    temperature, threshold = _number(plain["temperature"]), _number(plain["threshold"])
    if not classes or len(bias) != len(classes) or temperature <= 0:
        raise ValueError("its parts do not fit each other")
    return LinearModel(classes, bias, weights, temperature, threshold)


def _checked(row: list[int], classes: int) -> list[int]:
    numbers, weights = row[::2], row[1::2]
    if len(numbers) != len(weights) or set(map(type, row)) != {int} or min(numbers) < 0 or max(numbers) >= classes:
        raise ValueError("a row of weights holds something else, or a weight belongs to no class")
    if max(weights) >= LARGE or min(weights) <= -LARGE:  # a sum of smaller ones stays finite
        raise ValueError("a weight is too large")
    return row


def _number(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number) or abs(number) > 1e9:  # a sum of those stays finite
        raise ValueError(f"{value!r} is no weight")
    return number
