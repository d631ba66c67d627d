"""Gloo's exceptions, alone and behind the name of a Python exception."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logdoctor.logs import parse_text
from logdoctor.model import Record

PAIR = "[../third_party/gloo/gloo/transport/tcp/pair.cc:534] "


def read_record(text: str) -> Record:
    records = parse_text(text)
    assert len(records) == 1, [(e.kind, e.text) for e in records]
    return records[0]


@pytest.mark.parametrize(
    ("line", "kind", "fields"),
    [
        (PAIR + "Connection closed by peer [10.9.1.7]:23044", "gloo.closed", {"peer": "10.9.1.7:23044", "line": 534}),
        ("RuntimeError: " + PAIR + "Connection closed by peer [::1]:2304", "gloo.closed", {"peer": "[::1]:2304"}),
        (
            "[/src/gloo/gloo/transport/tcp/unbound_buffer.cc:84] Timed out waiting 900000ms for recv operation to complete",
            "gloo.timeout",
            {"timeout_ms": 900000, "direction": "recv"},
        ),
        (
            PAIR + "Read error [10.9.1.7]:23044: Connection reset by peer",
            "gloo.io_error",
            {"peer": "10.9.1.7:23044", "errno": 104, "operation": "Read error"},
        ),
        (PAIR + "writev [10.9.1.7]:23044: Broken pipe", "gloo.io_error", {"errno": 32}),
        (
            "[rank4]:[E1104 08:14:02.113355799 ProcessGroupGloo.cpp:143] Gloo connectFullMesh failed with "
            + PAIR
            + "no error",
            "gloo.mesh",
            {"reason": PAIR + "no error"},
        ),
        (
            (
                "RuntimeError: [enforce fail at ../third_party/gloo/gloo/transport/tcp/device.cc:84] ifa != nullptr."
                " Unable to find address for: eth9"
            ),
            "gloo.enforce",
            {"interface": "eth9", "expression": "ifa != nullptr"},
        ),
        (
            "[enforce fail at ../third_party/gloo/gloo/transport/tcp/pair.cc:446] op.preamble.length <= op.nbytes. 48 vs 16",
            "gloo.enforce",
            {"expression": "op.preamble.length <= op.nbytes", "message": "48 vs 16"},
        ),
        (PAIR + "A message of a version that is not written yet", "gloo.error", {"line": 534}),
    ],
)
def test_an_exception_of_gloo_is_an_error_with_what_it_names(line, kind, fields):
    record = read_record(line)
    assert (record.kind, record.level) == (kind, "error")
    assert {name: record.fields.get(name) for name in fields} == fields


@pytest.mark.parametrize(
    "line",
    [
        "[Gloo] Rank 2 is connected to 3 peer ranks. Expected number of connected peer ranks is : 3",
        (
            "[W ProcessGroupGloo.cpp:715] Warning: Unable to resolve hostname to a (local) address. Using the loopback address"
            " as fallback. (function operator())"
        ),
        "distributed_backend=gloo",
    ],
)
def test_healthy_lines_of_gloo_are_no_errors(line):
    assert [e.kind for e in parse_text(line) if e.level in ("error", "fatal")] == []


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_rubbish_around_known_words_never_raises(before, after):
    for record in parse_text(f"{before}{PAIR}{after}"):
        assert record.format
