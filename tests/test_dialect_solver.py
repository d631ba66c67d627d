from __future__ import annotations

import pytest
from dialect_probe import kinds, one

from logdoctor.parsers.dialects.solver import RECORDS


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("step     40  residual 1.337560e-01", {"unit": "step", "value": 40}),
        ("time step 12/400: total energy -1.23e+02", {"value": 12, "total": 400}),
        ("Iteration 7  max residual = 3.1e-05", {"unit": "iteration", "value": 7}),
        ("  3 KSP Residual norm 1.234567890123e-04", {"unit": "iteration", "value": 3}),
        ("ExecutionTime = 4.12 s  ClockTime = 5 s", {"unit": "step"}),
        ("Timing for main: time 2024-05-01_00:00:20 on domain   1:    1.23 elapsed seconds", {"unit": "step"}),
    ],
)
def test_steps_of_simulation_codes_are_progress(line, fields):
    seen = one(RECORDS, line)
    assert (seen.kind, seen.level) == ("progress.step", "info")
    assert {k: seen.fields.get(k) for k in fields} == fields


@pytest.mark.parametrize(
    "line", ["residual is not finite at step 60, giving up", "step size residual 12", "KSP solver"]
)
def test_talk_about_residuals_is_no_progress(line):
    assert kinds(RECORDS, line) == []
