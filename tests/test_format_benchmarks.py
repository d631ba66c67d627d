from __future__ import annotations

import io

from format_probe import read_record, records

from logdoctor.model import CALM
from logdoctor.pipeline.diagnosis import diagnose

RECORDS = records("benchmarks")

SCORES = "|Tasks|Version|Filter|n-shot|  Metric   |   |Value |   |Stderr|"
REFUSED = "requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://hub.example.org/api/whoami"
KILLED = (
    "[E] torch.distributed.elastic.multiprocessing.api: failed (exitcode: 1) local_rank: 0 (pid: 77) of binary: python"
)


def verdict(*lines: str) -> str:
    return diagnose([io.BytesIO("\n".join(lines).encode())]).verdict


def test_error_before_printed_scores_is_healthy():
    assert verdict(REFUSED) == "failed"
    assert verdict(REFUSED, SCORES) in CALM


def test_scores_do_not_excuse_a_process_that_ended():
    assert verdict(REFUSED, KILLED, SCORES) == "failed"


def test_the_state_of_a_failed_transfer_of_perftest_is_no_exit_code():
    record = read_record(RECORDS, "Failed status 4: wr_id 0 syndrom 0x51")
    assert (record.kind, record.fields) == ("benchmark.completion", {"status": 4, "vendor_err": "0x51"})
