from __future__ import annotations

import pytest
from format_probe import PRINTABLE, kinds, read, read_record, records
from hypothesis import given, settings
from hypothesis import strategies as st

from logdoctor.matcher import scan_form

RECORDS = records("openmpi")

RULE = "-" * 74


def frame(*lines: str) -> str:
    return "\n".join([RULE, *lines, RULE])


SLOTS = (
    "There are not enough slots available in the system to satisfy the 24",
    "slots that were requested by the application:",
    "",
    "  ./solve",
    "",
    "Either request fewer slots for your application, or make more slots",
    "available for use.",
)


def test_a_framed_help_text_is_one_event_with_whole_paragraphs():
    record = read_record(RECORDS, frame(*SLOTS))
    assert (record.kind, record.level) == ("openmpi.slots", "fatal")
    assert record.text.split("\n") == [
        "There are not enough slots available in the system to satisfy the 24 slots that were requested by the application:",
        "./solve",
        "Either request fewer slots for your application, or make more slots available for use.",
    ]


def test_a_help_text_without_its_dashes_is_recognised_and_leaves_other_lines_alone():
    records = read(RECORDS, "\n".join([*SLOTS[:2], "", "step 4 done", "bash: orted: command not found"]))
    assert [s.kind for s in records] == ["openmpi.slots", "openmpi.command_missing"]


@pytest.mark.parametrize(
    ("lines", "kind", "fields"),
    [
        (
            ["MPI_ABORT was invoked on rank 5 in communicator MPI_COMM_WORLD", "with errorcode 17."],
            "openmpi.abort",
            {"rank": 5, "exit_code": 17},
        ),
        (
            [
                "MPI_ABORT was invoked on rank 2 in communicator MPI COMMUNICATOR 3 SPLIT FROM 0",
                "  Proc: [[4411,1],10]",
                "  Errorcode: -1",
            ],
            "openmpi.abort",
            {"group_rank": 2, "rank": 10, "exit_code": -1},
        ),
        (
            ["mpirun noticed that process rank 3 with PID 4455 on node gn7 exited on signal 9 (Killed)."],
            "openmpi.rank_died",
            {"rank": 3, "pid": 4455, "host": "gn7", "signal": 9},
        ),
        (
            [
                "prterun noticed that process rank 3 with PID 4455 on node gn7 exited on",
                "signal 11 (Segmentation fault: 11).",
            ],
            "openmpi.rank_died",
            {"rank": 3, "pid": 4455, "host": "gn7", "signal": 11},
        ),
        (
            [
                "mpirun detected that one or more processes exited with non-zero status, thus causing",
                "the job to be terminated. The first process to do so was:",
                "",
                "  Process name: [[33442,1],6]",
                "  Exit code:    3",
            ],
            "openmpi.exit_code",
            {"rank": 6, "exit_code": 3},
        ),
        (
            [
                "prterun detected that one or more processes exited with non-zero status,",
                "thus causing the job to be terminated. The first process to do so was:",
                "",
                "   Process name: [prterun-gn7-8123@1,4]",
                "   Exit code:    2",
            ],
            "openmpi.exit_code",
            {"rank": 4, "exit_code": 2},
        ),
        (
            [
                "WARNING: Open MPI failed to TCP connect to a peer MPI process.  This",
                "should not happen.",
                "",
                "  Local host: gn1",
                "  PID:        7712",
                "  Message:    connect() to 10.9.9.1:1031 failed",
                "  Error:      No route to host (113)",
            ],
            "openmpi.tcp",
            {"host": "gn1", "pid": 7712, "peer": "10.9.9.1:1031", "errno": 113},
        ),
    ],
)
@pytest.mark.parametrize("framed", [True, False])
def test_help_texts_of_the_launcher_give_rank_and_end(lines, kind, fields, framed):
    record = read_record(RECORDS, frame(*lines) if framed else "\n".join(lines))
    assert record.kind == kind
    assert fields.items() <= record.fields.items()


@pytest.mark.parametrize(
    ("first", "level"),
    [
        ("WARNING: There was an error initializing an OpenFabrics device.", "warning"),
        ("WARNING: No preset parameters were found for the device that Open MPI detected:", "warning"),
        ("[[4411,1],0]: A high-performance Open MPI point-to-point messaging module", "warning"),
        ("By default, for Open MPI 4.0 and later, infiniband ports on a device", "warning"),
        ("ORTE was unable to reliably start one or more daemons.", "fatal"),
        ("PRTE has lost communication with a remote daemon.", "fatal"),
        ("It looks like MPI_INIT failed for some reason; your parallel process is", "fatal"),
        ("No components were able to be opened in the pml framework.", "fatal"),
        ("A request was made to bind to that would result in binding more", "fatal"),
        ("The user-provided time limit for job execution has been reached:", "fatal"),
        ("A requested component was not found, or was unable to be opened.  This", "error"),
        ("A system call failed during shared memory initialization that should", "error"),
        ("Open MPI detected an inbound MPI TCP connection request from a peer", "error"),
        ("mpirun was unable to find the specified executable file, and therefore", "fatal"),
        ("An MCA parameter was set that this Open MPI has never heard of and cannot use", "error"),
        ("WARNING: an MCA parameter of this Open MPI is deprecated and will go away", "warning"),
    ],
)
def test_level_of_a_help_text_comes_from_its_words(first, level):
    assert read_record(RECORDS, frame(first, "more words about it.")).level == level


def test_binding_target_is_no_peer():
    first = "A request was made to bind to that would result in binding more"
    record = read_record(
        RECORDS, frame(first, "processes than cpus on a resource:", "   Bind to:     CORE", "   Node:        gn3")
    )
    assert record.fields["host"] == "gn3"
    assert "peer" not in record.fields


def test_a_table_between_rows_of_dashes_is_no_help_text():
    assert read(RECORDS, frame("epoch   loss   accuracy", "1       0.93   0.41")) == []
    assert read(RECORDS, frame("[gn7:11] hello from Open MPI", "x")) == []


def test_two_frames_in_a_row_stay_two_events():
    text = frame("ORTE was unable to reliably start one or more daemons.") + "\n" + frame(*SLOTS)
    assert kinds(RECORDS, text) == ["openmpi.daemon", "openmpi.slots"]


HANDLER = """[gn7:812] *** An error occurred in MPI_Recv
[gn7:812] *** reported by process [2190344193,2]
[gn8:99] *** reported by process [2190344193,3]
[gn7:812] *** on communicator MPI_COMM_WORLD
[gn7:812] *** MPI_ERR_TRUNCATE: message truncated
[gn7:812] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,
[gn7:812] ***    and potentially your MPI job)"""


def test_the_error_handler_gives_call_communicator_class_and_world_rank():
    record = read_record(RECORDS, HANDLER)
    assert (record.kind, record.level) == ("openmpi.fatal_handler", "fatal")
    assert record.fields["function"] == "MPI_Recv"
    assert record.fields["error_class"] == "MPI_ERR_TRUNCATE"
    assert record.fields["communicator"] == "MPI_COMM_WORLD"
    assert record.fields["rank"] == 2
    assert "MPI_ERRORS_ARE_FATAL" in record.text


CRASH = """[gn7:812] *** Process received signal ***
[gn7:812] Signal: Segmentation fault (11)
[gn7:812] Signal code: Address not mapped (1)
[gn7:812] Failing at address: 0x28
[gn7:812] [ 0] /lib64/libpthread.so.0(+0xf630)[0x7f8e2c1d1630]
[gn8:91] *** Process received signal ***
[gn7:812] [ 1] /opt/app/libsolve.so.2(solve_step+0x1f)[0x7f8e2a1d1630]
[gn7:812] *** End of error message ***
[gn8:91] Signal: Aborted (6)
[gn8:91] *** End of error message ***"""


def test_crash_reports_of_two_ranks_that_interleave_stay_apart():
    first, second = read(RECORDS, CRASH)
    assert (first.fields["signal"], second.fields["signal"]) == (11, 6)
    assert first.fields["frames"] == ("solve_step",)
    assert first.fields["library"] == "/opt/app/libsolve.so.2"


def test_the_rest_of_a_crash_report_without_its_head_is_one_event_of_its_process():
    record = read_record(RECORDS, "\n".join(CRASH.split("\n")[6:8]))
    assert (record.kind, record.fields["frames"], record.fields["by_pid"]) == ("openmpi.stack", ("solve_step",), 812)


def test_frames_of_system_libraries_alone_are_no_crash():
    assert kinds(RECORDS, CRASH.split("\n")[4]) == []


@pytest.mark.parametrize(
    ("line", "kind", "fields"),
    [
        (
            "[gn3][[21001,1],4][btl_tcp_endpoint.c:626:mca_btl_tcp_endpoint_complete_connect] connect() to 10.2.3.4:1026 failed: Connection refused (111)",
            "openmpi.tcp_connect",
            {"by_host": "gn3", "by_rank": 4, "peer": "10.2.3.4:1026", "errno": 111},
        ),
        (
            "[gn3][[21001,1],4][btl_tcp_endpoint.c:626:mca_btl_tcp_endpoint_recv_connect_ack] received unexpected process identifier [[21001,1],9]",
            "openmpi.tcp_unexpected_peer",
            {"by_rank": 4, "got": "[[21001,1],9]"},
        ),
        (
            "[gn3][[21001,2],4][btl_tcp_endpoint.c:668:mca_btl_tcp_endpoint_recv_connect_ack] received unexpected process identifier: got [[21001,2],0] expected [[21001,1],0]",
            "openmpi.tcp_unexpected_peer",
            {"got": "[[21001,2],0]", "expected": "[[21001,1],0]"},
        ),
        (
            "[gn3][[21001,1],4][btl_tcp_frag.c:215:mca_btl_tcp_frag_recv] mca_btl_tcp_frag_recv: readv failed: Connection reset by peer (104)",
            "openmpi.tcp_closed",
            {"errno": 104},
        ),
        (
            "[gn3][[21001,1],4][btl_tcp_frag.c:130:mca_btl_tcp_frag_send] mca_btl_tcp_frag_send: writev error (0x14866d8, 8052704)",
            "openmpi.buffer",
            {"by_rank": 4, "length": 8052704, "message": "writev error (0x14866d8, 8052704)"},
        ),
        (
            "[[21001,1],3][btl_openib_component.c:3497:handle_wc] from gn1 to: gn2 error polling LP CQ with status RETRY EXCEEDED ERROR status number 12 for wr_id 11f7d80 opcode 1  vendor error 129 qp_idx 0",
            "openmpi.completion",
            {"peer": "gn2", "status": 12, "vendor_err": 129},
        ),
        ("[gn3:771] Read -1, expected 65536, errno = 1", "openmpi.cma", {"by_pid": 771, "errno": 1}),
        (
            "[gn3:771] [[21001,0],1] ORTE_ERROR_LOG: Not found in file ess_hnp_module.c at line 649",
            "openmpi.error_log",
            {"layer": "ORTE", "message": "Not found", "file": "ess_hnp_module.c"},
        ),
        (
            "[gn3:771] PMIX ERROR: UNREACHABLE in file client/pmix_client.c at line 112",
            "openmpi.error_log",
            {"layer": "PMIX"},
        ),
        (
            "[gn3:771] ../ompi/pml_ucx.c:178  Error: Failed to receive UCX worker address: Not found (-13)",
            "openmpi.ucx",
            {"by_host": "gn3", "file": "pml_ucx.c"},
        ),
        ("/opt/mpi/bin/orted: No such file or directory", "openmpi.command_missing", {"command": "orted"}),
        (
            "[gn3:771] [[21001,0],1] tcp_peer_send_blocking: send() to socket 9 failed: Broken pipe (32)",
            "openmpi.oob",
            {"errno": 32},
        ),
        (
            "[gn3:771] [[21001,0],1]-[[21001,0],0] mca_oob_tcp_msg_recv: readv failed: Connection reset by peer (104)",
            "openmpi.oob",
            {"errno": 104, "by_host": "gn3"},
        ),
    ],
)
def test_lines_of_the_modules_are_errors_with_their_fields(line, kind, fields):
    record = read_record(RECORDS, line)
    assert (record.kind, record.level) == (kind, "error")
    assert fields.items() <= record.fields.items()


def test_only_a_rank_of_the_first_job_is_taken_for_the_global_rank():
    record = read_record(RECORDS, "[gn3][[21001,2],4][btl_tcp_proc.c:12:f] connection refused")
    assert record.kind == "openmpi.btl"
    assert "by_rank" not in record.fields


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("[gn3:771] PMIX ERROR: NO-PERMISSIONS in file gds_dstore.c at line 711", "warning"),
        ("[gn3:771] 7 more processes have sent help message help-mpi-btl-openib.txt / error in device init", "info"),
        ('Set MCA parameter "orte_base_help_aggregate" to 0 to see all help / error messages', "info"),
        (
            "[gn3:771] mca_base_component_repository_open: unable to open mca_btl_usnic: libfoo.so.1: cannot open shared object file (ignored)",
            "warning",
        ),
        ("mpirun: Forwarding signal 18 to job", "info"),
        ("[gn3:771] MCW rank 3 bound to socket 0[core 3[hwt 0]]: [./././B]", "info"),
        ("mpirun (Open MPI) 4.1.5", "info"),
    ],
)
def test_harmless_lines_are_never_errors(line, level):
    assert read_record(RECORDS, line).level == level


@pytest.mark.parametrize(
    "line",
    [
        "[gn3:771] starting the solver, tolerance of error 1e-6",
        "mpirun -np 8 --mca btl_tcp_if_include eth0 ./solve",
        "running with UCX and Open MPI, no problem found",
        "-" * 80,
        "rank 3 finished",
    ],
)
def test_similar_healthy_lines_give_no_record(line):
    assert read(RECORDS, line) == []


def test_every_pattern_can_be_scanned_for():
    assert all(record.scan or scan_form(record.pattern) for record in RECORDS)


WORDS = st.sampled_from(
    [RULE, *SLOTS, *HANDLER.split("\n"), *CRASH.split("\n"), "MPI_ABORT was invoked on rank", "mpirun"]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(WORDS, st.text(st.sampled_from(PRINTABLE), max_size=60)), max_size=14))
def test_garbage_around_known_words_never_raises(lines):
    read(RECORDS, "\n".join(lines))
