from __future__ import annotations

from pathlib import Path

import pytest
from format_probe import read_record, records

from logdoctor import diagnose
from logdoctor.model import CALM

RECORDS = records("serving")

REFUSED = (
    "(APIServer pid=411) ERROR 05-12 10:02:11 [serving_chat.py:254] Error in preprocessing prompt inputs\n"
    "(APIServer pid=411) ERROR 05-12 10:02:11 [serving_chat.py:254] Traceback (most recent call last):\n"
    '(APIServer pid=411) ERROR 05-12 10:02:11 [serving_chat.py:254]   File "/opt/s/serving_engine.py", line 64, in _check\n'
    "(APIServer pid=411) ERROR 05-12 10:02:11 [serving_chat.py:254]     raise ValueError(\n"
    "(APIServer pid=411) ERROR 05-12 10:02:11 [serving_chat.py:254] ValueError: 5210 tokens are too many for this model\n"
)
ANSWERED = '(APIServer pid=411) INFO:     10.1.4.7:4012{} - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'


def test_refused_request_with_later_answers_is_no_failure(tmp_path: Path):
    log = tmp_path / "serve.log"
    log.write_text(REFUSED + "".join(map(ANSWERED.format, range(3))))
    assert diagnose([str(log)]).verdict in CALM


def test_refused_request_without_later_answers_is_a_failure(tmp_path: Path):
    log = tmp_path / "serve.log"
    log.write_text("".join(map(ANSWERED.format, range(3))) + REFUSED)
    assert diagnose([str(log)]).verdict not in CALM


def test_shard_that_did_not_start_is_the_cause(tmp_path):
    log = tmp_path / "job.log"
    log.write_text(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB. GPU 0 has 12.11 MiB free.\n rank=3\n"
        "2025-06-02T08:11:02.118230Z ERROR text_generation_launcher: Shard 3 failed to start\nError: ShardCannotStart\n"
    )
    cause = diagnose([log]).causes[0]
    assert (cause.signature, cause.culprit.ranks) == ("cuda.oom", (3,))


def test_a_cache_that_did_not_get_from_prefill_to_decode_is_a_failed_request():
    line = (
        "Decode transfer failed for request rank=1 decode_req.req.rid='77ab' decode_req.req.bootstrap_room=481 with "
        "exception KVTransferError(bootstrap_room=481): Failed to get kvcache from prefill instance, it might be dead"
    )
    record = read_record(RECORDS, line)
    assert (record.kind, record.level, record.fields["request"]) == ("frameworks.other", "error", "77ab")
    assert str(record.fields["message"]).startswith("Failed to get kvcache")


def test_failed_requests_with_later_answers_are_healthy(tmp_path):
    log = tmp_path / "job.log"
    log.write_text(ANSWERED.format(4).replace("200 OK", "500 Internal Server Error") * 4)
    assert diagnose([log]).verdict == "unknown"
    log.write_text(log.read_text() + "".join(ANSWERED.format(n) for n in range(6)))
    assert diagnose([log]).verdict in CALM


def dead_scheduler(tmp_path: Path, code: int):
    log = tmp_path / "server.log"
    log.write_text(
        f"[2025-03-04 10:11:12] Rank 2 scheduler is dead. See its log.\n[2025-03-04 10:11:13] Exit code: {code}\n"
    )
    return diagnose(log)


@pytest.mark.parametrize(("code", "signature"), [(-9, "host.oom-kill"), (-11, "app.segfault")])
def test_line_below_a_dead_scheduler_gives_the_cause(code, signature, tmp_path):
    (cause, *_) = dead_scheduler(tmp_path, code).causes
    assert (cause.signature, cause.culprit.ranks) == (signature, (2,))


def test_terminated_scheduler_gives_no_cause(tmp_path):
    assert dead_scheduler(tmp_path, -3).verdict == "unknown"
