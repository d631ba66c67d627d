from __future__ import annotations

from pathlib import Path

import pytest
from dialect_probe import kinds, one

from logdoctor import diagnose
from logdoctor.parsers.dialects.serving import RECORDS

REFUSED = (
    "(APIServer pid=411) ERROR 05-12 10:02:11 [serving_chat.py:254] Error in preprocessing prompt inputs\n"
    "(APIServer pid=411) ERROR 05-12 10:02:11 [serving_chat.py:254] Traceback (most recent call last):\n"
    '(APIServer pid=411) ERROR 05-12 10:02:11 [serving_chat.py:254]   File "/opt/s/serving_engine.py", line 64, in _check\n'
    "(APIServer pid=411) ERROR 05-12 10:02:11 [serving_chat.py:254]     raise ValueError(\n"
    "(APIServer pid=411) ERROR 05-12 10:02:11 [serving_chat.py:254] ValueError: 5210 tokens are too many for this model\n"
)
ANSWERED = '(APIServer pid=411) INFO:     10.1.4.7:4012{} - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'


@pytest.mark.parametrize(
    "line",
    [
        "Engine 000: Avg prompt throughput: 12.0 tokens/s, Avg generation throughput: 31.8 tokens/s, Running: 1 reqs",
        "Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 0.4 tokens/s, Running: 1 reqs, Swapped: 0 reqs",
        "[2025-09-03 11:20:31 DP1 TP3] Decode batch, #running-req: 4, #token: 4864, token usage: 0.03",
        "[2025-09-03 11:20:31 TP0] Prefill batch. #new-seq: 1, #new-token: 812, #cached-token: 0",
        'INFO:     10.1.4.7:40124 - "POST /v1/completions HTTP/1.1" 200 OK',
    ],
)
def test_a_server_that_answers_makes_progress(line):
    seen = one(RECORDS, line)
    assert (seen.kind, seen.level, seen.fields["unit"]) == ("progress.step", "info", "answered request")


@pytest.mark.parametrize(
    "line",
    [
        "Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 0.0 tokens/s, Running: 0 reqs, Waiting: 0 reqs",
        "[2025-09-03 11:20:31 DP1 TP3] Decode batch, #running-req: 0, #token: 0",
        'INFO:     10.1.4.7:40124 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error',
        'INFO:     10.1.4.7:40124 - "GET /metrics HTTP/1.1" 200 OK',
    ],
)
def test_a_server_that_only_lives_makes_none(line):
    assert kinds(RECORDS, line) == []


def test_a_request_that_is_refused_is_no_failure_of_a_server_that_goes_on(tmp_path: Path):
    log = tmp_path / "serve.log"
    log.write_text(REFUSED + "".join(map(ANSWERED.format, range(3))))
    assert diagnose([str(log)]).verdict == "healthy"


def test_it_is_one_where_nothing_more_is_answered(tmp_path: Path):
    log = tmp_path / "serve.log"
    log.write_text("".join(map(ANSWERED.format, range(3))) + REFUSED)
    assert diagnose([str(log)]).verdict != "healthy"
