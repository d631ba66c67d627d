"""How many random inputs a test takes, and how much processor time what it tests may."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

Test = TypeVar("Test", bound=Callable[..., Any])

NIGHTLY = os.environ.get("LOGDOCTOR_FUZZ") == "nightly"


def inputs(few: int, nightly: int) -> Callable[[Test], Test]:
    """So many inputs; the test is one of `make fuzz`.  Fixed ones by day: a test that fails must fail again."""
    quiet = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]
    taken = settings(
        max_examples=nightly if NIGHTLY else few,
        deadline=None,
        derandomize=not NIGHTLY,
        database=None,
        suppress_health_check=quiet,
    )
    return lambda test: pytest.mark.fuzz(taken(test))


@contextmanager
def within(paces: float) -> Iterator[None]:
    """What is done here takes no more processor time than so many loops of a million multiplications.

    A slow or busy machine slows both; a pace is a twentieth of a second on one of 2024.
    """
    pace = _pace()
    start = time.process_time()
    yield
    spent = time.process_time() - start
    assert spent < paces * max(pace, _pace())


def _pace() -> float:
    start = time.process_time()
    sum(n * n for n in range(1_000_000))
    return time.process_time() - start
