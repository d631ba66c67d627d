"""What the whole scan depends on: one pattern that has to be searched as a pattern halves its speed for everybody."""

from __future__ import annotations

import io

import pytest

from logdoctor import diagnose
from logdoctor.knowledge import Knowledge
from logdoctor.parsers import records
from logdoctor.prefilter import how_dear

QUIET = sorted({(r.kind, r.scan or r.pattern) for r in records() if not r.often})


@pytest.mark.parametrize("kind", sorted({kind for kind, _ in QUIET}))
def test_a_record_that_healthy_logs_are_not_full_of_is_found_by_plain_texts(kind: str) -> None:
    searched = [pattern for of, pattern in QUIET if of == kind and not how_dear(pattern)[1]]
    assert not searched, "give the record a scan= that spells out words which are always there"


@pytest.mark.parametrize("spelt", ["段错误", "\\u6bb5\\u9519\\u8bef", "\\u6BB5\\u9519\\u8BEF"])
def test_words_beyond_ascii_are_plain_texts_too_also_as_json_spells_them(spelt: str, knowledge: Knowledge) -> None:
    log = f'{{"log": "{spelt}", "stream": "stderr", "time": "2025-03-04T10:00:00Z"}}\n'
    assert how_dear("段错误")[1]
    assert diagnose(io.BytesIO(log.encode()), knowledge=knowledge).causes[0].signature == "app.segfault"
