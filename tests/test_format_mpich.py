from __future__ import annotations

from format_probe import PRINTABLE, kinds, read, read_record, records
from hypothesis import given, settings
from hypothesis import strategies as st

RECORDS = records("mpich")

STACK = """PMPI_Recv(171).....................: MPI_Recv(buf=0x7ff0, count=4, MPI_INT, src=0) failed
MPIDI_CH3U_Receive_data_found(131).: Message from rank 0 and tag 5 truncated; 64 bytes received but buffer size is 16"""


def test_stack_without_its_head_is_read():
    assert kinds(RECORDS, STACK) == ["mpich.other", "mpich.other"]


def test_a_line_of_a_stack_that_was_wrapped_is_read_to_its_end():
    text = (
        "Fatal error in PMPI_Send: Other MPI error, error stack:\n"
        "PMPI_Send(171)............: MPI_Send(buf=0x55d0, count=800, MPI\n_DOUBLE, dest=5, tag=2, comm=0x84) failed\n"
        "MPID_nem_tcp_connpoll(1700): Communication error\n"
        "unrelated words"
    )
    record = read_record(RECORDS, text)
    assert (record.fields["innermost"], record.fields["message"]) == ("MPID_nem_tcp_connpoll", "Communication error")
    assert "unrelated" not in record.text


def test_the_old_form_over_three_lines_is_one_event():
    text = "[cli_3]: aborting job:\nFatal error in PMPI_Init:\nOther MPI error, error stack:\nMPID_Init(419)...........: channel initialization failed"
    record = read_record(RECORDS, text)
    assert record.fields["by_rank"] == 3
    assert record.fields["message"] == "channel initialization failed"


ROW = "=" * 83
HYDRA_END = f"""{ROW}
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 6612 RUNNING AT gn9
=   EXIT CODE: 139
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
{ROW}
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)
This typically refers to a problem with your application.
Please see the FAQ page for debugging suggestions"""
INTEL_END = f"""{ROW}
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   RANK 2 PID 6611 RUNNING AT gn9
=   KILLED BY SIGNAL: 9 (Killed)
{ROW}"""


def test_bad_termination_of_hydra_is_one_record():
    record = read_record(RECORDS, HYDRA_END)
    assert record.kind == "mpich.bad_termination"
    assert record.fields == {"pid": 6612, "host": "gn9", "exit_code": 139, "signal": 11}


def test_intel_mpi_names_the_rank_and_the_signal():
    assert read_record(RECORDS, INTEL_END).fields == {"rank": 2, "pid": 6611, "host": "gn9", "signal": 9}


WORDS = st.sampled_from([*STACK.split("\n"), *HYDRA_END.split("\n"), "Abort(1) on node 1", "Fatal error in PMPI_X:"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(WORDS, st.text(st.sampled_from(PRINTABLE), max_size=60)), max_size=14))
def test_garbage_around_known_words_never_raises(lines):
    read(RECORDS, "\n".join(lines))
