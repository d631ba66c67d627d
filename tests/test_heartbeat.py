"""Programs whose lines no format knows."""

from __future__ import annotations

import pytest
from failing_job import diagnose_log

from logdoctor.pipeline.excerpts import Excerpts
from logdoctor.pipeline.pulse import listen


def beats(*lines: str) -> list[int]:
    """Return the numbers of the lines that are a heartbeat."""
    excerpts, data = Excerpts(), "".join(f"{line}\n" for line in lines).encode()
    log = excerpts.record("a.log", lambda buffer: fill(buffer, data))
    log(memoryview(bytearray(len(data))))
    excerpts.finish("a.log", len(lines))
    return [line.number for line in listen(excerpts.logs).beats.get("a.log", ())]


def fill(buffer: memoryview, data: bytes) -> int:
    buffer[: len(data)] = data
    return len(data)


def stamped(second: int, text: str) -> str:
    return f"2026-05-07 12:40:{second:02d} {text}"


ROWS = [f"s:{n} trl:{n * 7}" for n in range(6)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([stamped(n, row) for n, row in enumerate(ROWS)], 6),
        ([line for row in ROWS for line in (row, "mixing")], 6),
        ([f"s:{n} trl:{n}" for n in range(60)], 60),
        (ROWS, 0),
        ([stamped(0, row) for row in ROWS], 0),
        ([stamped(n, f"s:{9 - n}") for n in range(6)], 0),
        ([stamped(n, "mixing") for n in range(9)], 0),
        ([stamped(n, row) for n, row in enumerate(ROWS[:4])], 0),
    ],
    ids=["time passes", "lines between", "many", "table", "table with a time", "falls", "no number", "few"],
)
def test_template_with_a_rising_number_is_a_heartbeat(lines, expected):
    assert len(beats(*lines)) == expected


LOGGED = "2026-05-07 12:40:00,100 - ERROR - shard 4 is gone"


@pytest.mark.parametrize(("after", "verdict"), [(6, "no-end-seen"), (2, "unknown")])
def test_heartbeat_refutes_an_error_that_no_rule_knows(knowledge, after, verdict):
    before = [stamped(n, f"s:{n} trl:{n}") for n in range(6)]
    lines = [*before, LOGGED, *(stamped(10 + n, f"s:{10 + n} trl:{10 + n}") for n in range(after))]
    assert diagnose_log("\n".join(lines) + "\n", knowledge).verdict == verdict


def test_heartbeat_does_not_refute_what_a_rule_knows(knowledge):
    lines = [*(stamped(n, f"s:{n}") for n in range(6)), "FATAL: CUDA out of memory. Tried to allocate 2.00 GiB"]
    lines += [stamped(10 + n, f"s:{10 + n}") for n in range(6)]
    assert diagnose_log("\n".join(lines) + "\n", knowledge).verdict == "failed"


@pytest.mark.parametrize(
    ("lines", "verdict"),
    [
        (["reading mesh", "the flux cannot be balanced, giving up"], "unknown"),
        (["the flux cannot be balanced, giving up", *["reading mesh"] * 5], "nothing-to-judge"),
        (["flux 3 cannot be balanced", *["reading mesh"] * 5, "flux 5 cannot be balanced"], "nothing-to-judge"),
        (["reading mesh", "INFO the flux cannot be balanced"], "nothing-to-judge"),
        (["step 3/3 loss: 2.31", "the flux cannot be balanced, giving up"], "no-end-seen"),
    ],
    ids=["last words", "not last", "said before", "only news", "ended well"],
)
def test_new_complaint_at_the_end_is_an_alarm(knowledge, lines, verdict):
    assert diagnose_log("\n".join(lines) + "\n", knowledge).verdict == verdict


def test_complaint_is_quoted(knowledge):
    diagnosis = diagnose_log("reading mesh\nthe flux cannot be balanced, giving up\n", knowledge)
    assert [(e.line.number, e.line.text) for e in diagnosis.unexplained] == [
        (2, "the flux cannot be balanced, giving up")
    ]
