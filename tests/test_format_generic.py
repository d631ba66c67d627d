from __future__ import annotations

import pytest
from format_probe import PRINTABLE, read, read_record, records
from hypothesis import given, settings
from hypothesis import strategies as st

from logdoctor.model import Source

ALL = (*records("generic"), *records("os_errors"))


@pytest.mark.parametrize(
    "line",
    [
        "ERROR: could not start the worker",
        "[ERROR] shard 3 is gone",
        "2025-03-04 10:11:12,123 ERROR loader: shard 3 is gone",
        "2025-03-04T10:11:12.5Z my-service ERROR shard 3 is gone",
        "2025-03-04 10:11:12 | ERROR    | app:run:12 - shard 3 is gone",
        "03/04 10:11 app - CRITICAL - shard 3 is gone",
        'time="2025-03-04T10:11:12Z" level=error msg="shard 3 is gone"',
        '{"ts": 1, "level": "error", "msg": "shard 3 is gone"}',
        "launcher: error: shard 3 is gone",
        "Error: shard 3 is gone",
        "Error while loading shard 3",
        "An error occurred: shard 3 is gone",
        "Run r-88 FAILED after 02:11:09",
        "[FAIL] exit 1",
        "❌ Training failed (exit 1)",
        "*** Run aborted ***",
        "Simulation failed at step 330",
        "train.py failed (rc=1)",
        "Finished: FAILURE",
        "Final status: FAILED",
        "EXIT_CODE=1",
        "[FAIL] SMOKE FAILED: sft-qwen (exit 1)",
        "[ERROR] exited with code 3 after 2 h",
    ],
)
def test_error_word_at_the_usual_place_is_an_error(line):
    record = read_record(ALL, line)
    assert (record.kind, record.level) == ("generic.error", "error")


@pytest.mark.parametrize(
    "line", ["FATAL:   container has no entrypoint", "fatal: not a git repository", "[FATAL] giving up"]
)
def test_line_with_fatal_is_fatal(line):
    record = read_record(ALL, line)
    assert (record.kind, record.level) == ("generic.fatal", "fatal")


@pytest.mark.parametrize(
    "line",
    [
        "max_error: 3",
        "'on_error': 'raise',",
        "error_rate=0.1",
        "0 errors, 2 warnings",
        "word error rate: 12.3",
        "error: 0.0312",
        "train error: 0.12 val error: 0.15",
        "Status: No errors detected",
        "fatal=False",
        "  --exit-on-error        stop at the first one",
        "log_level: ERROR",
        "--log-level ERROR",
        "LOG_LEVEL=ERROR",
        "ERROR = 3",
        "Error Correction Type: None",
        "error_handler: none",
        "errors: none",
        "Error: none",
        "ERROR: 0",
        "step 12 loss 2.1 grad_error 0.1",
        "from app.errors import ErrorReport",
        "ErrorHandling(strategy=retry)",
        "catching exceptions: on",
        "Downloading error_codes.json: 100%",
        "fatal_errors_total 0",
        'ERROR 03-04 10:11:12 [engine.py:77]   File "/srv/x.py", line 3, in run',
        "ERROR 03-04 10:11:12 [engine.py:77]     ^^^^^^^^^",
    ],
)
def test_settings_counts_and_metrics_are_no_errors(line):
    assert all(record.level == "info" for record in read(ALL, line))


def test_error_word_in_a_logged_warning_stays_a_warning():
    record = read_record(ALL, "cannot open /data/x.idx: No such file or directory", Source(level="warning"))
    assert (record.level, record.fields["errno"]) == ("warning", 2)


@pytest.mark.parametrize(
    ("line", "errno"),
    [
        ("cat: /data/list.txt: No such file or directory", 2),
        ("OSError: [Errno 24] Too many open files", 24),
        ("write failed: No space left on device", 28),
        ("mkdir: cannot create directory '/data/x': Permission denied", 13),
        ("connect to n7 port 22: Connection refused", 111),
        ("mmap failed: Cannot allocate memory (12)", 12),
        ("open('/mnt/a') failed with Stale file handle", 116),
        ('rsync: write failed on "/x": Disk quota exceeded (122)', 122),
        ("No route to host", 113),
    ],
)
def test_an_errno_text_gives_its_number(line, errno):
    record = read_record(ALL, line)
    assert (record.kind, record.level, record.fields["errno"]) == ("os.error", "error", errno)


def test_sentence_with_level_error_is_an_error():
    assert read_record(ALL, "something odd is gone", Source(level="fatal")).level == "fatal"
    assert read_record(ALL, "something odd is gone", Source(level="error")).kind == "generic.error"


@pytest.mark.parametrize(
    "line", ['  File "/srv/x.py", line 3, in run', "    ^^^^^^", "", "Traceback (most recent call last):"]
)
def test_stack_lines_logged_as_errors_are_no_errors(line):
    assert read(ALL, line, Source(level="error")) == []


def test_plain_sentence_logged_as_warning_gives_no_record():
    assert read(ALL, "something odd is gone", Source(level="warning")) == []


def test_an_errno_text_behind_the_word_warning_is_a_warning():
    assert read_record(ALL, "Warning: cache file missing: No such file or directory").level == "warning"


def test_an_optional_driver_that_is_not_installed_is_no_error():
    line = "libibverbs: Warning: couldn't load driver 'libqux-rdmav34.so': libqux-rdmav34.so: cannot open shared object file: No such file"
    assert read_record(ALL, line).level == "info"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (
            "./sim: error while loading shared libraries: libhdf5.so.103: cannot open shared object file: No such file or directory",
            "os.library",
        ),
        ("python: symbol lookup error: /opt/libx.so: undefined symbol: acme_v2", "os.library"),
        ("/lib64/libm.so.6: version `GLIBC_2.38' not found (required by ./sim)", "os.library"),
        ("bash: nvcc: command not found", "os.command"),
        ("/var/spool/x/script: 7: module: not found", "os.command"),
        ("run.sh: line 4: torchrunn: command not found", "os.command"),
        ("/usr/bin/env: 'python4': No such file or directory", "os.command"),
        ("bash: fork: retry: Resource temporarily unavailable", "os.threads"),
        ("libgomp: Thread creation failed: Resource temporarily unavailable", "os.threads"),
        ("OMP: Error #15: Initializing libiomp5.so, but found libomp.so already initialized.", "os.openmp"),
        ("ssh: Could not resolve hostname n9: Name or service not known", "os.dns"),
        (
            "requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: https://example.org/x",
            "os.http",
        ),
        ("curl: (56) Recv failure: Connection reset by peer", "os.http"),
        ("urllib: certificate verify failed: [SSL: CERTIFICATE_VERIFY_FAILED]", "os.ssl"),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_120'", "os.build"),
        ("ninja: build stopped: subcommand failed.", "os.build"),
        ("fused.cpp:12:10: fatal error: cuda_runtime.h: No such file or directory", "os.build"),
    ],
)
def test_refusals_of_the_operating_system_have_kinds_of_their_own(line, kind):
    record = read_record(ALL, line)
    assert record.kind == kind
    assert record.level in ("error", "fatal")


def test_status_of_a_web_server_is_a_field():
    assert read_record(ALL, "HTTP Error 503: Service Unavailable").fields["status"] == 503


@pytest.mark.parametrize(
    "line",
    [
        "train.py: error: unrecognized arguments: --lrr 0.1",
        "train.py: error: the following arguments are required: --data",
        "Error: No such option: --gpus",
        "Key 'depthh' is not in struct",
    ],
)
def test_a_refused_argument_is_a_usage_error(line):
    assert read_record(ALL, line).kind == "generic.usage_error"


def test_printed_usage_is_information():
    record = read_record(ALL, "usage: train.py [-h] [--lr LR]")
    assert (record.kind, record.level) == ("generic.usage", "info")


KNOWN = (
    "ERROR ",
    "error: ",
    "[ERROR]",
    "level=error",
    "fatal: ",
    "No such file or directory",
    "command not found",
    "exit code ",
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(KNOWN), st.text(PRINTABLE, max_size=120), st.text(PRINTABLE, max_size=120))
def test_garbage_around_known_words_never_raises(words, before, after):
    read(ALL, f"{before}{words}{after}")
