"""NCCL's and RCCL's lines, of all eras, and the healthy lines that look like failures."""

from hypothesis import given, settings
from hypothesis import strategies as st

from logdoctor.logs import parse_text
from logdoctor.logs.multiline.nccl_lines import format_address, format_bus_id, message_fields
from logdoctor.model import Record

HEAD = "trn07:4811:4902 [3] "


def read_record(text: str) -> Record:
    records = parse_text(text)
    assert len(records) == 1, records
    return records[0]


def test_the_port_of_ras_being_taken_is_harmless_and_another_port_is_not():
    harmless = read_record(HEAD + "ras/client_support.cc:160 NCCL WARN Call to bind failed: Address already in use")
    assert (harmless.kind, harmless.fields["errno"]) == ("nccl.other", 98)
    assert (
        read_record(HEAD + "misc/socket.cc:160 NCCL WARN Call to bind failed: Address already in use").kind
        == "nccl.warn"
    )


def test_a_back_trace_line_may_name_its_function():
    record = read_record(HEAD + "NCCL INFO group.cc:91 (groupLaunch) -> 1")
    assert (record.kind, record.fields["func"]) == ("nccl.trail", "groupLaunch")


def test_api_calls_make_no_events():
    assert parse_text("trn07:4811:4902 NCCL CALL ncclGroupStart()") == []


def test_the_end_of_a_communicator_is_information():
    record = read_record(HEAD + "NCCL INFO comm 0x55a0 rank 3 nranks 16 cudaDev 3 busId 1a000 - Abort COMPLETE")
    assert (record.kind, record.level, record.fields["how"]) == ("nccl.comm_closed", "info", "Abort")


def test_the_report_of_ras_names_communicator_and_rank():
    records = parse_text(
        "#1-0 (9f3c55aa01b2c3d4) MISMATCH\n"
        "Rank 5 has launched up to operation 17 -- GPU 5 managed by process 991 on node 10.9.1.7\n"
    )
    assert [e.kind for e in records] == ["nccl.ras_spread", "nccl.other"]
    assert (records[1].fields["group_rank"], records[1].pid, records[1].host) == (5, 991, "10.9.1.7")


def test_late_ranks_in_a_ras_list_are_the_odd_ranks():
    report = (
        "#0-0 (9f3c55aa01b2c3d4) MISMATCH\n"
        "  Communicator ranks have different AllReduce operation counts\n"
        "  5 ranks have launched up to operation 90\n"
        "  2 ranks have launched up to operation {}\n"
        "  Rank 1 -- GPU 1 managed by process 991 on node 10.9.1.7\n"
        "  Rank 4 -- GPU 4 managed by process 994 on node 10.9.1.7\n"
        "  Rank 6 has not launched any operations -- GPU 6 managed by process 996 on node 10.9.1.8\n"
    )
    assert parse_text(report.format(88))[0].fields["odd"] == (1, 4, 6)
    assert parse_text(report.format(91))[0].fields["odd"] == (6,)


def test_a_prefix_without_the_process_names_the_host():
    failure = read_record(
        "gpu-a32 [5] misc/socket.cc:46 NCCL WARN Call to ibv_modify_qp failed with error Invalid argument"
    )
    assert (failure.host, failure.pid, failure.fields["device"]) == ("gpu-a32", None, 5)


def test_info_lines_of_nvshmem_are_no_errors():
    record = read_record(
        "gpu-a32:4811:4811 [0] NVSHMEM INFO [0] status 0 cudaErrorInvalidValue 1 cudaErrorNoKernelImageForDevice 209"
    )
    assert (record.kind, record.level, record.host) == ("nvshmem.other", "info", "gpu-a32")


def test_process_or_device_counter_is_no_host():
    for words in ("rank", "GPU", "stderr"):
        assert read_record(f"{words} [5] misc/socket.cc:46 NCCL WARN Call to ibv_modify_qp failed").host is None


def test_the_processes_that_ras_calls_dead_are_read():
    text = "  2 job processes are considered dead (unreachable via the RAS network)\n"
    text += "  Process 41207 on node 10.9.1.7 managing GPU 5\n  Process 41208 on node 10.9.1.8 managing GPUs 0,1\n"
    assert read_record(text).fields["odd_hosts"] == ("10.9.1.7", "10.9.1.8")


def test_missing_plugin_in_the_first_releases_is_information():
    note = read_record("trn07:810:912 [0] INFO NET : Unable to load libnccl-net.so : cannot open shared object file")
    assert (note.kind, note.level, note.host) == ("nccl.other", "info", "trn07")


def test_links_that_an_editor_made_of_file_names_are_undone():
    warned = read_record(
        "gx7:11:19 [0] transport/[net_ib.cc:99](http://net_ib.cc:99/) NCCL WARN NET/IB : Unable to open device x"
    )
    assert (warned.host, warned.fields["file"], warned.fields["line"]) == ("gx7", "transport/net_ib.cc", 99)


def test_the_test_programs_end_and_failures_are_read():
    failure = read_record("trn07: Test NCCL failure common.cu:958 'unhandled cuda error / Cuda failure'")
    assert (failure.kind, failure.level, failure.fields["error"]) == (
        "nccl_tests.failure",
        "fatal",
        "unhandled cuda error",
    )
    assert read_record("# Out of bounds values : 0 OK").level == "info"
    assert read_record("# Out of bounds values : 9 FAILED").level == "error"
    assert read_record("Out of bounds values : 9 FAILED").level == "error"
    assert read_record("# Avg bus bandwidth    : 231.4").kind == "nccl_tests.done"
    row = read_record("#  Rank  5 Group  0 Pid   8123 on      trn07 device  5 [0x9d] NVIDIA H100 80GB HBM3")
    assert (row.pid, row.host, row.fields["bus_id"]) == (8123, "trn07", "0000:9d:00")


def test_bus_ids_and_peers_get_their_usual_form():
    assert [format_bus_id(b) for b in ("1a000", 61000, "101d0", "100001a000", "")] == [
        "0000:1a:00", "0000:61:00", "0000:10:1d", "10000:1a:00", "",
    ]  # fmt: skip
    assert [format_address(a) for a in ("10.0.0.1<4>", "fe80::1%e0<4>", "trn07")] == [
        "10.0.0.1:4",
        "[fe80::1%e0]:4",
        "trn07",
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.text(max_size=60), st.text(max_size=60), st.sampled_from(["NCCL WARN ", "NCCL INFO ", "Got completion ", " -> "])
)
def test_rubbish_around_known_words_never_raises(before, after, words):
    for record in parse_text(f"{before}{words}{after}"):
        assert record.format
    message_fields(before + words + after)


def test_lines_of_libraries_beside_nccl_are_read():
    sharp = read_record("[trn07:0:4811 unique id 91] ERROR Job error in sharp_get_job_data_len.")
    assert (sharp.kind, sharp.level) == ("nccl.other", "warning")
    shmem = read_record("/build/src/host/init/init.cu:990: non-zero status: 7 building transport map failed")
    assert (shmem.kind, shmem.fields["code"], shmem.fields["line"]) == ("nvshmem.other", 7, 990)
    bootstrap = read_record(
        "/build/src/modules/bootstrap/uid/bootstrap_uid.cpp:bootstrap_uid_init:234: rank count 4 : 8"
    )
    assert (bootstrap.kind, bootstrap.level, bootstrap.fields["func"]) == (
        "nvshmem.other",
        "error",
        "bootstrap_uid_init",
    )
    skipped = read_record(
        "/build/src/modules/transport/ibrc/ibrc.cpp:1509: non-zero status: 7 No libibverbs. Skipping ibrc."
    )
    assert (skipped.kind, skipped.level) == ("nvshmem.other", "warning")
    assert not parse_text("../src/host/init/init.cu:41:7: note: declared here")
    plugin = read_record(
        "WARN: Function: ofi_init Line: 71: NET/OFI Couldn't open AV. RC: -22, ERROR: Invalid argument"
    )
    assert (plugin.kind, plugin.fields["errno"], plugin.fields["func"]) == ("nccl.warn", 22, "ofi_init")
    waiting = read_record("Warning: NCCL EP timeout for combine receive, rank 3, local_expert_idx 2, src_rank 11")
    assert (waiting.kind, waiting.level) == ("nccl.expert_timeout", "error")
    assert (waiting.fields["group_rank"], waiting.fields["peer_rank"]) == (3, 11)


def test_before_version_2_3_the_lines_did_not_say_nccl():
    record = read_record(HEAD + "include/socket.h:360 WARN Call to connect failed : Connection timed out")
    assert (record.kind, record.level, record.source.host) == ("nccl.warn", "error", "trn07")
    assert (record.fields["call"], record.fields["error"]) == ("connect", "Connection timed out")
    joined = read_record(HEAD + "INFO comm 0x7fa42c00a3b0 rank 5 nranks 8")
    assert (joined.kind, joined.fields["group_rank"], joined.fields["nranks"]) == ("nccl.comm_init", 5, 8)


def test_only_a_back_trace_that_ends_an_init_is_a_failure():
    assert read_record(HEAD + "NCCL INFO group.cc:70 -> 3 [Async thread]").level == "error"
    assert read_record(HEAD + "NCCL INFO include/net.h:19 -> 2").level == "info"


def test_the_error_check_of_legate_ends_the_program():
    record = read_record(
        "Internal NCCL failure with error unhandled system error in file /build/comm_nccl.cu at line 71"
    )
    assert (record.kind, record.level, record.fields["line"]) == ("nccl_tests.failure", "fatal", 71)


def test_ranks_ahead_are_told_if_ras_lists_them():
    report = (
        "#0-0 (9f3c55aa01b2c3d4) MISMATCH\n"
        "  Communicator ranks have different AllGather operation counts\n"
        "  7 ranks have launched up to operation 90\n"
        "  1 ranks have launched up to operation 91\n"
        "  Rank 4 -- GPU 4 managed by process 994 on node 10.9.1.7\n"
    )
    fields = parse_text(report)[0].fields
    assert "odd" not in fields
    assert (fields["ahead"], fields["ahead_hosts"], fields["fewest"], fields["most"]) == ((4,), ("10.9.1.7",), 90, 91)
