"""What the whole scan depends on: one pattern that has to be searched as a pattern halves its speed for everybody."""

from __future__ import annotations

import pytest

from logdoctor.parsers import records
from logdoctor.prefilter import how_dear

QUIET = sorted({(r.kind, r.scan or r.pattern) for r in records() if not r.often})


@pytest.mark.parametrize("kind", sorted({kind for kind, _ in QUIET}))
def test_a_record_that_healthy_logs_are_not_full_of_is_found_by_plain_texts(kind: str) -> None:
    searched = [pattern for of, pattern in QUIET if of == kind and not how_dear(pattern)[1]]
    assert not searched, "give the record a scan= that spells out words which are always there"
