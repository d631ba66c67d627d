"""Patterns that must be found by plain texts.  One pattern without halves the speed of every scan."""

from __future__ import annotations

import io
from typing import Any

import pytest

from logdoctor import diagnose
from logdoctor.logs import record_patterns
from logdoctor.matcher.engine import ID_MASK
from logdoctor.matcher.scan_pattern import scan_cost
from logdoctor.pipeline.knowledge import Knowledge

FLOODS = [
    (
        "gx01:4120:4377 [3] NCCL INFO AllReduce: opCount 1a3f sendbuff 0x7f2c14000000 recvbuff 0x7f2c18000000 acc (nil) "
        "count 4194304 datatype 9 op 0 root 0 comm 0x55d0c4 [nranks=64] stream 0x55d0c8 task 0 globalrank 3"
    ),
    "gx01:4120:4377 [3] NCCL INFO Channel 07/0 : 3[3] -> 11[3] [send] via NET/IB/3/GDRDMA",
    "gx01:4120:4377 [3] NCCL INFO Ring 02 : 2 -> 3 -> 4",
    "gx01:4120:4377 [3] NCCL INFO Trees [0] 4/-1/-1->3->2 [1] 4/-1/-1->3->2",
    "2025-03-04 10:11:12,131 - INFO - trainer - loss=2.31 lr=1e-4 grad_norm=0.91",
    "[2025-03-04 10:11:12,131] [INFO] [logging.py:96:log_dist] [Rank 0] step=120, skipped=0, lr=[0.0001]",
    "100%|##########| 500/500 [00:41<00:00, 12.07it/s]",
]
"""Lines that healthy logs repeat a million times."""
QUIET = sorted({(r.kind, r.searched) for r in record_patterns() if not r.often and not r.literal})


@pytest.mark.parametrize("kind", sorted({kind for kind, _ in QUIET}))
def test_rare_record_is_found_by_plain_texts(kind: str) -> None:
    searched = [pattern for of, pattern in QUIET if of == kind and not scan_cost(pattern)[1]]
    assert not searched, "give the record `literal: [...]`, texts of which each of its lines holds one"


@pytest.mark.parametrize("spelt", ["段错误", "\\u6bb5\\u9519\\u8bef", "\\u6BB5\\u9519\\u8BEF"])
def test_words_beyond_ascii_are_plain_texts_also_escaped_in_json(spelt: str, knowledge: Knowledge) -> None:
    log = f'{{"log": "{spelt}", "stream": "stderr", "time": "2025-03-04T10:00:00Z"}}\n'
    assert scan_cost("段错误")[1]
    assert diagnose(io.BytesIO(log.encode()), knowledge=knowledge).causes[0].signature == "app.segfault"


@pytest.mark.parametrize("line", FLOODS)
def test_frequent_line_matches_only_patterns_marked_often(line: str, knowledge: Knowledge) -> None:
    engine: Any = knowledge.matcher._engine
    hits = {hit & ID_MASK for hit in engine.session().hits(memoryview(line.encode() + b"\n"), {})}
    atoms = engine._plan.atoms
    assert [atoms[i] for i in hits.difference(engine.often)] == []
