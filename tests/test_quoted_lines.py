"""The quoted line of a multi-line record is the one that says what went wrong."""

import io

import pytest

from logdoctor import diagnose

RULE = "-" * 74
NO_HOST = "GetSockInterfaceAddr(370)....: gethostbyname failed, n07 (errno 1)"


def proof(text, knowledge):
    cause = diagnose(io.BytesIO(text.encode()), knowledge=knowledge).causes[0]
    return [match.line.text for match in cause.evidence]


@pytest.mark.parametrize(
    ("log", "evidence"),
    [
        ("[3] --> FOAM FATAL IO ERROR: \n[3] keyword nu is undefined\n[3] \n[3] file: constant/x", "[3] keyword nu is undefined"),
        ("Error in solve.default(crossprod(x, y)) : \n  system is singular\nExecution halted", "  system is singular"),
        (
            f"Fatal error in MPI_Init_thread: Other MPI error, error stack:\nMPIR_Init_thread(138)........: \n{NO_HOST}",
            NO_HOST,
        ),
    ],
    ids=["OpenFOAM", "R", "MPICH"],
)  # fmt: skip
def test_message_below_an_empty_head_is_quoted(log, evidence, knowledge):
    assert proof(log, knowledge)[0] == evidence


def test_sentence_over_two_lines_is_quoted_whole(knowledge):
    message = ["A request was made to bind to that would result in binding more", "processes than cpus on a resource:"]
    lines = proof("\n".join([RULE, *message, "", "   Bind to:     CORE", "   Node:        n07", RULE]), knowledge)
    assert lines[0] == " ".join(message)


def test_assertion_without_message_quotes_the_assert_line(knowledge):
    log = 'Traceback (most recent call last):\n  File "/w/fit.py", line 40, in fit\n    assert world % tp == 0\nAssertionError'
    assert proof(log, knowledge)[0] == "    assert world % tp == 0"
    assert "assert world % tp == 0" in diagnose(io.BytesIO(log.encode()), knowledge=knowledge).causes[0].title


def test_repeated_line_of_one_source_is_quoted_once(knowledge):
    message = "kernel: NVRM: GPU 0000:09:00.0: rm_init_adapter failed, device minor number 0"
    log = "".join(f"Mar  4 10:00:{second} n07 {message}\n" for second in range(10, 14))
    assert proof(log, knowledge) == [f"Mar  4 10:00:10 n07 {message}"]
