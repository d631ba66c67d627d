"""Which lines of a record of several lines are shown as the proof: those that say what went wrong."""

import io

import pytest

from logdoctor import diagnose

RULE = "-" * 74
NO_HOST = "GetSockInterfaceAddr(370)....: gethostbyname failed, n07 (errno 1)"


def proof(text, knowledge):
    cause = diagnose(io.BytesIO(text.encode()), knowledge=knowledge).causes[0]
    return [seen.line.text for seen in cause.evidence]


@pytest.mark.parametrize(
    ("log", "told"),
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
def test_the_message_is_quoted_where_the_head_of_its_record_says_nothing(log, told, knowledge):
    assert proof(log, knowledge)[0] == told


def test_a_sentence_that_goes_on_in_the_next_line_is_quoted_whole(knowledge):
    said = ["A request was made to bind to that would result in binding more", "processes than cpus on a resource:"]
    shown = proof("\n".join([RULE, *said, "", "   Bind to:     CORE", "   Node:        n07", RULE]), knowledge)
    assert shown[0] == " ".join(said)


def test_what_was_asserted_is_told_and_quoted_where_the_assertion_says_nothing(knowledge):
    log = 'Traceback (most recent call last):\n  File "/w/fit.py", line 40, in fit\n    assert world % tp == 0\nAssertionError'
    assert proof(log, knowledge)[0] == "    assert world % tp == 0"
    assert "assert world % tp == 0" in diagnose(io.BytesIO(log.encode()), knowledge=knowledge).causes[0].title


def test_what_one_speaker_repeats_word_by_word_is_quoted_once(knowledge):
    said = "kernel: NVRM: GPU 0000:09:00.0: rm_init_adapter failed, device minor number 0"
    log = "".join(f"Mar  4 10:00:{second} n07 {said}\n" for second in range(10, 14))
    assert proof(log, knowledge) == [f"Mar  4 10:00:10 n07 {said}"]
