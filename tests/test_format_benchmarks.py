from __future__ import annotations

import io

import pytest
from format_probe import kinds, read_record, records

from logdoctor.pipeline.diagnosis import diagnose

RECORDS = records("benchmarks")

SCORES = "|Tasks|Version|Filter|n-shot|  Metric   |   |Value |   |Stderr|"
REFUSED = "requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://hub.example.org/api/whoami"
KILLED = (
    "[E] torch.distributed.elastic.multiprocessing.api: failed (exitcode: 1) local_rank: 0 (pid: 77) of binary: python"
)


@pytest.mark.parametrize(
    ("row", "size"),
    [
        ("4194304              12034.20", 4194304),
        ("      1048576           40       257.31      8149.12", 1048576),
        (" 65536      5000             2750.10            2749.80            0.043997", 65536),
        ("1024                    6.02              5.90              6.20        1000", None),
        ("1024 records read", None),
        ("1000                  12034.20", None),
    ],
)
def test_a_row_over_message_sizes_is_a_sign_of_life(row, size):
    assert ([read_record(RECORDS, row).fields["value"]] if kinds(RECORDS, row) else [None]) == [size]


@pytest.mark.parametrize(
    "line",
    [
        "# All processes entering MPI_Finalize",
        "Final:         1000    2.1   2.3   2.3   15700.0   15700.0   3940   3940",
    ],
)
def test_final_line_of_a_benchmark_is_a_good_end(line):
    assert kinds(RECORDS, line) == ["progress.done"]


def verdict(*lines: str) -> str:
    return diagnose([io.BytesIO("\n".join(lines).encode())]).verdict


def test_error_before_printed_scores_is_healthy():
    assert verdict(REFUSED) == "failure"
    assert verdict(REFUSED, SCORES) == "healthy"


def test_scores_do_not_excuse_a_process_that_ended():
    assert verdict(REFUSED, KILLED, SCORES) == "failure"


@pytest.mark.parametrize("line", ["Result = PASS", "\tGPU 3: OK", " Verification    =               SUCCESSFUL"])
def test_verified_result_is_no_failure(line):
    assert kinds(RECORDS, line) == []


@pytest.mark.parametrize("line", ["Result = FAIL", "\tGPU 3: FAULTY", " Verification    =             UNSUCCESSFUL"])
def test_wrong_result_is_an_error(line):
    assert kinds(RECORDS, line) == ["benchmark.wrong"]


def test_the_state_of_a_failed_transfer_of_perftest_is_no_exit_code():
    record = read_record(RECORDS, "Failed status 4: wr_id 0 syndrom 0x51")
    assert (record.kind, record.fields) == ("benchmark.completion", {"status": 4, "vendor_err": "0x51"})
