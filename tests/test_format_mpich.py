from __future__ import annotations

import pytest
from format_probe import PRINTABLE, kinds, read, read_record, records
from hypothesis import given, settings
from hypothesis import strategies as st

from logdoctor.matcher import scan_form

RECORDS = records("mpich")

STACK = """PMPI_Recv(171).....................: MPI_Recv(buf=0x7ff0, count=4, MPI_INT, src=0) failed
MPIDI_CH3U_Receive_data_found(131).: Message from rank 0 and tag 5 truncated; 64 bytes received but buffer size is 16"""
LAST_WORDS = "Message from rank 0 and tag 5 truncated; 64 bytes received but buffer size is 16"


@pytest.mark.parametrize(
    ("head", "fields"),
    [
        (
            "Abort(1091471) on node 7 (rank 7 in comm 0): Fatal error in PMPI_Recv: Message truncated, error stack:",
            {"code": 1091471, "rank": 7},
        ),
        ("Abort(604157455): Fatal error in PMPI_Recv: Message truncated, error stack:", {"code": 604157455}),
        ("Fatal error in PMPI_Recv: Message truncated, error stack:", {}),
        (
            "MPICH ERROR [Rank 12] [job id 77.0] [Mon May  1 01:02:03 2023] [nid001] - Abort(1007) (rank 12 in comm 0): Fatal error in PMPI_Recv: Message truncated, error stack:",
            {"rank": 12, "host": "nid001", "code": 1007},
        ),
    ],
)
def test_every_era_of_a_fatal_error_gives_call_class_and_innermost_words(head, fields):
    record = read_record(RECORDS, head + "\n" + STACK)
    assert (record.kind, record.level) == ("mpich.fatal", "fatal")
    wanted = {"function": "PMPI_Recv", "error_class": "Message truncated", "message": LAST_WORDS, **fields}
    assert wanted.items() <= record.fields.items()
    assert "PMPI_Recv(171): MPI_Recv" in record.text


def test_stack_without_its_head_is_read():
    assert kinds(RECORDS, STACK) == ["mpich.stack", "mpich.stack"]


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


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("application called MPI_Abort(MPI_COMM_WORLD, 9) - process 3", {"rank": 3, "exit_code": 9}),
        (
            "Abort(9) on node 3 (rank 3 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 9) - process 3",
            {"rank": 3, "exit_code": 9, "code": 9},
        ),
        ("internal ABORT - process 2", {"rank": 2}),
    ],
)
def test_an_abort_names_its_rank(line, fields):
    record = read_record(RECORDS, line)
    assert (record.kind, record.level) == ("mpich.abort", "fatal")
    assert fields.items() <= record.fields.items()


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


@pytest.mark.parametrize(
    ("line", "kind", "level", "fields"),
    [
        (
            "[proxy:0:1@gn9] HYDU_create_process (utils/launch/launch.c:75): execvp error on file ./solve (No such file or directory)",
            "mpich.exec_failed",
            "fatal",
            {"by_host": "gn9", "file": "./solve"},
        ),
        ("[mpiexec@gn1] match_arg (utils/args/args.c:163): unrecognized argument foo", "mpich.usage", "fatal", {}),
        (
            "[mpiexec@gn1] HYDT_dmxu_poll_wait_for_event (tools/demux/demux_poll.c:77): callback returned error status",
            "mpich.hydra",
            "error",
            {},
        ),
        ("[mpiexec@gn1] Sending Ctrl-C to processes as requested", "mpich.interrupt", "info", {}),
        (
            "x1000c0s0b0n0.hostmgmt: rank 3 died from signal 11 and dumped core",
            "mpich.rank_died",
            "fatal",
            {"rank": 3, "signal": 11},
        ),
        (
            "gn7: rank 4 died from signal 15",
            "mpich.rank_told_to_end",
            "warning",
            {"rank": 4, "host": "gn7", "signal": 15},
        ),
        ("gn7: shepherd died from signal 9", "mpich.daemon_died", "fatal", {"peer": "gn7", "signal": 9}),
        ("gn7: rank 12 exited with code 1", "mpich.rank_died", "fatal", {"rank": 12, "host": "gn7", "exit_code": 1}),
        (
            "_pmiu_daemon(SIGCHLD): [NID 00032] [c0-0c0s8n0] [Tue May 2 01:02:03 2023] PE RANK 3 exit signal Killed",
            "mpich.rank_died",
            "fatal",
            {"rank": 3, "signal": 9},
        ),
        (
            "[gn9:mpispawn_0][child_handler] MPI process (rank: 3, pid: 7942) terminated with signal 9 -> abort job",
            "mpich.rank_died",
            "fatal",
            {"rank": 3, "pid": 7942, "signal": 9},
        ),
        (
            "[gn9:mpi_rank_3][error_sighandler] Caught error: Segmentation fault (signal 11)",
            "mpich.signal",
            "fatal",
            {"by_rank": 3, "signal": 11},
        ),
        (
            "[gn9:mpi_rank_3][async_thread] Got completion with error 12, vendor code=0x81, dest rank=5",
            "mpich.completion",
            "error",
            {"status": 12, "vendor_err": 129, "peer_rank": 5},
        ),
        ("[gn9:mpi_rank_0][smpi_load_topology] WARNING! something is disabled", "mpich.warning", "warning", {}),
        ("PMI2_Init failed to initialize.  Return code: 14", "mpich.pmi", "error", {"code": 14}),
        ("[unset]: write_line error; fd=-1 buf=:cmd=init pmi_version=1 pmi_subversion=1", "mpich.pmi", "error", {}),
        (
            "MPIDI_OFI_handle_cq_error(1075): OFI poll failed (ofi_events.c:1077:f:Input/output error - CANCELED)",
            "mpich.ofi",
            "error",
            {},
        ),
        (
            "[0] MPI startup(): dapl fabric is not available and fallback fabric is not enabled",
            "mpich.startup",
            "fatal",
            {},
        ),
        ("[0] MPI startup(): I_MPI_FABRIC_X environment variable is not supported.", "mpich.setting", "warning", {}),
        (
            "[0] MPI startup(): Intel(R) MPI Library, Version 2021.9  Build 20230306",
            "mpich.version",
            "info",
            {"version": "2021.9"},
        ),
        (
            "[0] MPI startup(): 3       7788     gn2     {3}",
            "mpich.rank",
            "info",
            {"by_rank": 3, "by_pid": 7788, "by_host": "gn2"},
        ),
    ],
)
def test_launchers_and_libraries(line, kind, level, fields):
    record = read_record(RECORDS, line)
    assert (record.kind, record.level) == (kind, level)
    assert fields.items() <= record.fields.items()


@pytest.mark.parametrize(
    "line",
    [
        "[proxy:0:1@gn9] pmi cmd from fd 6: cmd=init pmi_version=1 pmi_subversion=1",
        "[mpiexec@gn1] Launch arguments: /usr/bin/hydra_pmi_proxy --control-port gn1:40001",
        "gn7: rank 12 exited with code 0",
        "loss(12)....: 0.31",
        "the function f(12) returned 3",
        "[3] MPI startup(): shm data transfer mode",
    ],
)
def test_similar_healthy_lines_give_no_record(line):
    assert read(RECORDS, line) == []


def test_every_pattern_can_be_scanned_for():
    assert all(record.scan or scan_form(record.pattern) for record in RECORDS)


WORDS = st.sampled_from([*STACK.split("\n"), *HYDRA_END.split("\n"), "Abort(1) on node 1", "Fatal error in PMPI_X:"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(WORDS, st.text(st.sampled_from(PRINTABLE), max_size=60)), max_size=14))
def test_garbage_around_known_words_never_raises(lines):
    read(RECORDS, "\n".join(lines))


@pytest.mark.parametrize(
    "head",
    [
        "Fatal error in MPI_Recv:\nOther MPI error, error stack:",
        "Fatal error in MPI_Recv: Other MPI error, error stack:",
    ],
)
def test_mvapich_names_host_and_rank_before_the_error_stack(head):
    text = f"[gn9:mpi_rank_3][MPIDI_CH3_Abort] {head}\nMPI_Recv(200)......: MPI_Recv(buf=0x1, count=4) failed\n"
    (record,) = read(RECORDS, text)
    assert (record.kind, record.fields["rank"], record.fields["host"]) == ("mpich.fatal", 3, "gn9")
