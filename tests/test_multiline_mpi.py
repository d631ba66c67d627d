"""The line of a multi-line record that is quoted as evidence."""

from __future__ import annotations

import pytest

from logdoctor.logs.multiline.mpi_blocks import read_bad_termination, read_crash, read_crash_frames, read_error_handler
from logdoctor.logs.record_pattern import Message, MultilineReader


def quoted_line(reader: MultilineReader, *lines: str) -> str:
    below = (Message(line, below=n) for n, line in enumerate(lines[1:], 1))
    multiline = reader(Message(lines[0]), {}, below)
    assert multiline is not None
    return lines[multiline.evidence]


def test_error_class_is_quoted_not_the_call():
    line = quoted_line(
        read_error_handler,
        "[gn7:812] *** An error occurred in MPI_Send",
        "[gn7:812] *** on communicator MPI_COMM_WORLD",
        "[gn7:812] *** MPI_ERR_RANK: invalid rank",
        "[gn7:812] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,",
    )
    assert line.endswith("MPI_ERR_RANK: invalid rank")


def test_the_signal_of_a_crash_is_quoted():
    line = quoted_line(
        read_crash,
        "[gn7:812] *** Process received signal ***",
        "[gn7:812] Signal: Bus error (7)",
        "[gn7:812] Signal code: Non-existant physical address (2)",
        "[gn7:812] *** End of error message ***",
    )
    assert line == "[gn7:812] Signal: Bus error (7)"


def test_signal_behind_the_head_of_a_crash_is_read():
    multiline = read_crash(
        Message("[gn7:812] *** Process received signal ***[gn7:812] Signal: Segmentation fault (11)"), {}, iter(())
    )
    assert multiline.fields["signal"] == 11


@pytest.mark.parametrize("end", ["=   EXIT CODE: 9", "=   KILLED BY SIGNAL: 9 (Killed)"])
def test_end_of_the_process_is_quoted(end):
    line = quoted_line(
        read_bad_termination,
        "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
        "=   PID 6612 RUNNING AT gn9",
        end,
        "=   CLEANING UP REMAINING PROCESSES",
    )
    assert line == end


def test_crash_without_its_head_quotes_the_innermost_frame_of_no_system_library():
    line = quoted_line(
        read_crash_frames,
        "[gn7:812] [ 0] /lib64/libpthread.so.0(+0xf7e0) [0x33d5c0f7e0]",
        "[gn7:812] [ 1] /opt/mesh/lib/libmesh.so.12(_ZN4mesh5splitEv+0x124) [0x2b48563a8bf4]",
        "[gn7:812] [ 2] ./solve(main+0x3c0) [0x5caac0]",
    )
    assert "libmesh" in line
