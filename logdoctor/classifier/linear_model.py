"""The model at run time: sparse weights, dot products, softmax; JSON in and out, never pickle."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

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


Number = Annotated[float, Meta(ge=-LARGE, le=LARGE)]
Whole = Annotated[int, Meta(gt=-LARGE, lt=LARGE)]
"""A sum of those stays finite."""


class _File(Struct, frozen=True):
    """What a model file holds; ``bias`` and ``weights`` in hundredths."""

    format: str
    buckets: int
    classes: tuple[str, ...]
    temperature: Number
    threshold: Number
    bias: tuple[Number, ...]
    weights: dict[str, list[Whole]]


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
        bias = tuple(round(b * SCALE) for b in self.bias)
        weights = {bucket: list(row) for bucket, row in self.weights.items()}
        file = _File(FORMAT, BUCKETS, self.classes, self.temperature, self.threshold, bias, weights)
        return msgspec.json.encode(file).decode() + "\n"


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
    return _model(msgspec.json.decode(_read(path), type=_File))


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        raw = file.read(LARGEST + 1)
    if len(raw) > LARGEST:
        raise ValueError(f"larger than {LARGEST} bytes")
    return raw


def _model(file: _File) -> LinearModel:
    if file.format != FORMAT or file.buckets != BUCKETS:
        raise ValueError(f"not of the format {FORMAT} with {BUCKETS} buckets")
    count = len(file.classes)
    if not count or len(file.bias) != count or file.temperature <= 0:
        raise ValueError("its parts do not fit each other")
    if not all(_fits(row, count) for row in file.weights.values()):
        raise ValueError("a row of weights is cut short, or a weight belongs to no class")
    bias = tuple(b / SCALE for b in file.bias)
    return LinearModel(file.classes, bias, file.weights, file.temperature, file.threshold)


def _fits(row: list[int], classes: int) -> bool:
    """Whether a row is classes' numbers and weights by turns."""
    numbers = row[::2]
    return bool(row) and len(row) % 2 == 0 and min(numbers) >= 0 and max(numbers) < classes
