"""Number of random inputs of a test, and limits on its processor time."""

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
    """Mark a test as one of `make fuzz` and set its number of random inputs.

    Outside the nightly run the inputs are fixed, so that a failure can be repeated.
    """
    suppressed = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]
    number_of_inputs = settings(
        max_examples=nightly if NIGHTLY else few,
        deadline=None,
        derandomize=not NIGHTLY,
        database=None,
        suppress_health_check=suppressed,
    )
    return lambda test: pytest.mark.fuzz(number_of_inputs(test))


@contextmanager
def within(paces: float) -> Iterator[None]:
    """Fail if the block takes more processor time than ``paces`` loops of a million multiplications.

    A slow or busy machine slows both.  A pace is a twentieth of a second on a machine of 2024.
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
