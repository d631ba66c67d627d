"""The linear model of the classifier: sparse weights, dot products, softmax.

A model is read from JSON, never from pickle, because a pickle can run code.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from logdoctor.classifier.features import BUCKETS
from logdoctor.model import InputError
from logdoctor.model.own_files import MAX_BYTES, read_bytes

GZIP = b"\x1f\x8b"
"""Beginning of a compressed model, as the shipped one is."""
FORMAT = "logdoctor.classifier/2"
HEALTHY = "healthy"
UNKNOWN = "unknown"
NO_SIGNATURE = (HEALTHY, UNKNOWN)
"""Classes that are no signature.  If one of them is the most probable, there is no guess."""
MAX_NUMBER = 10**9
SCALE = 100
"""Weights are stored as hundredths, so that the file is short and the same on every machine."""


Number = Annotated[float, Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)]
Integer = Annotated[int, Meta(gt=-MAX_NUMBER, lt=MAX_NUMBER)]
"""The bound keeps sums of weights finite."""


class _ModelFile(Struct, frozen=True):
    """Content of a model file.  ``bias`` and ``weights`` are in hundredths."""

    format: str
    buckets: int
    classes: tuple[str, ...]
    temperature: Number
    threshold: Number
    bias: tuple[Number, ...]
    weights: dict[str, list[Integer]]


class Guess(Struct, frozen=True):
    """A signature and its calibrated probability (0 to 1)."""

    signature: str
    probability: float


class LinearModel(Struct, frozen=True):
    """A linear model with one bias per class.

    ``weights[str(bucket)]`` is a flat list of pairs: number of a class, its weight in hundredths.
    """

    classes: tuple[str, ...]
    bias: tuple[float, ...]
    weights: Mapping[str, Sequence[int]]
    temperature: float
    threshold: float

    def guess(self, features: Mapping[int, float]) -> Guess | None:
        """Return the most probable signature, or None.

        Returns None without features, below the threshold, and for a class of `NO_SIGNATURE`.
        """
        best = self.most_probable(features)
        return best if features and best.probability >= self.threshold and best.signature not in NO_SIGNATURE else None

    def most_probable(self, features: Mapping[int, float]) -> Guess:
        """Return the most probable class, also if its probability is low.

        Of equally probable classes the first one is returned.
        """
        probabilities = self.probabilities(features)
        top = max(range(len(probabilities)), key=lambda n: (probabilities[n], -n))
        return Guess(self.classes[top], probabilities[top])

    def probabilities(self, features: Mapping[int, float]) -> list[float]:
        """Return the probability of each class, in the order of ``classes``."""
        sums = list(self.bias)
        for bucket, value in features.items():
            row = self.weights.get(str(bucket), ())
            for number, weight in zip(row[::2], row[1::2], strict=True):
                sums[number] += weight * value / SCALE
        top = max(sums)
        powers = [math.exp((s - top) / self.temperature) for s in sums]
        total = math.fsum(powers)
        return [p / total for p in powers]

    def to_json(self) -> str:
        """Encode the model as JSON.  Equal models give equal bytes."""
        bias = tuple(round(b * SCALE) for b in self.bias)
        weights = {bucket: list(row) for bucket, row in self.weights.items()}
        file = _ModelFile(FORMAT, BUCKETS, self.classes, self.temperature, self.threshold, bias, weights)
        return msgspec.json.encode(file).decode() + "\n"


def load_model(path: Path) -> LinearModel:
    """Read a model file, once per process.  Raises `InputError` if it is damaged."""
    try:
        status = path.stat()
        return _load_cached(path, status.st_mtime_ns, status.st_size)
    except (OSError, ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        what, why = "the classifier's model cannot be used", f"{type(error).__name__}: {error}"
        raise InputError(what, str(path), why, "make one with 'logdoctor train', or leave --model out") from None


@lru_cache(maxsize=2)
def _load_cached(path: Path, _changed: int, _size: int) -> LinearModel:
    data = read_bytes(path)
    if data.startswith(GZIP):
        data = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, MAX_BYTES)
    return _make_model(msgspec.json.decode(data, type=_ModelFile))


def _make_model(file: _ModelFile) -> LinearModel:
    if file.format != FORMAT or file.buckets != BUCKETS:
        raise ValueError(f"not of the format {FORMAT} with {BUCKETS} buckets")
    count = len(file.classes)
    if not count or len(file.bias) != count or file.temperature <= 0:
        raise ValueError("its parts do not fit each other")
    if not all(_is_valid_row(row, count) for row in file.weights.values()):
        raise ValueError("a row of weights is cut short, or a weight belongs to no class")
    bias = tuple(b / SCALE for b in file.bias)
    return LinearModel(file.classes, bias, file.weights, file.temperature, file.threshold)


def _is_valid_row(row: list[int], classes: int) -> bool:
    """Return whether ``row`` has valid pairs of class and weight."""
    numbers = row[::2]
    return bool(row) and len(row) % 2 == 0 and min(numbers) >= 0 and max(numbers) < classes
