from __future__ import annotations

import pytest
from format_probe import kinds, read_record, records

RECORDS = records("solver")


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
    record = read_record(RECORDS, line)
    assert (record.kind, record.level) == ("progress.step", "info")
    assert {k: record.fields.get(k) for k in fields} == fields


@pytest.mark.parametrize(
    "line", ["residual is not finite at step 60, giving up", "step size residual 12", "KSP solver"]
)
def test_talk_about_residuals_is_no_progress(line):
    assert kinds(RECORDS, line) == []


@pytest.mark.parametrize(
    "line",
    [
        "Total wall time: 0:12:07",
        "Finished mdrun on rank 0 Tue Mar  4 10:11:12 2025",
        "   JOB DONE.",
        "d01 2021-05-01_06:00:00 wrf: SUCCESS COMPLETE WRF",
        " Normal termination of Gaussian 16 at Tue Mar  4 10:11:12 2025.",
        "  **** **** ******  **  PROGRAM ENDED AT                 2025-03-04 10:11:12.123",
        "WallClock: 812.445312  CPUTime: 810.120000  Memory: 611.210938 MB",
        "*** Psi4 exiting successfully. Buy a developer a beer!",
        "                             ****ORCA TERMINATED NORMALLY****",
        " Total times  cpu:       12.3s     wall:       13.1s",
        "End of Tests.",
        "Final Summary::HPCG result is VALID with a GFLOP/s rating of=88.1",
    ],
)
def test_end_message_of_a_simulation_is_a_good_end(line):
    assert read_record(RECORDS, line).kind == "progress.done"


@pytest.mark.parametrize("line", ["JOB DONE. was never printed", "total wall time 12 s", "End of Tests on node 3"])
def test_talk_about_the_end_is_no_end(line):
    assert kinds(RECORDS, line) == []
