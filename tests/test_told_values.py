"""The share of the proofs' values that stand on the first screen. It may only rise."""

import sys
from pathlib import Path
from zlib import crc32

TOP = Path(__file__).parent.parent
sys.path.insert(0, str(TOP / "tools"))
import told_values  # noqa: E402

EVERY = 8
"""One case of so many is diagnosed, so that the test takes few seconds. Its name decides, so a new case moves no other."""
MISSING = 8
"""Values of these cases that are not on the screen. Lower it after an improvement."""


def test_values_on_the_screen_are_not_fewer_than_before():
    found = sorted(told_values.find_cases([str(TOP / "corpus")]))
    cases = [case for case in found if crc32(case[0].name.encode()) % EVERY == 0]
    missing = [row for case in cases for row in told_values.missing_of(case)]
    assert len(missing) <= MISSING, missing
