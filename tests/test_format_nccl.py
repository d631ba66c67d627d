"""NCCL's and RCCL's lines, of all eras, and the healthy lines that look like failures."""

import pytest
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


@pytest.mark.parametrize(
    ("line", "file", "number"),
    [
        (HEAD + "misc/socket.cc:57 NCCL WARN Something broke", "misc/socket.cc", 57),
        ("[2025-11-03 08:14:02] " + HEAD + "init.cc:1840 NCCL WARN Something broke", "init.cc", 1840),
        ("[2026-02-03 08:14:02] " + HEAD + "init.cc:19 (ncclCommInit) NCCL WARN Something broke", "init.cc", 19),
        (HEAD + "int open_plugin(plugin_t**):208 NCCL WARN Something broke", "int open_plugin(plugin_t**)", 208),
    ],
)
def test_warning_is_recognised_in_every_version_of_the_prefix(line, file, number):
    record = read_record(line)
    assert (record.kind, record.level, record.text) == ("nccl.warn", "error", "Something broke")
    assert (record.fields["file"], record.fields["line"], record.fields["device"]) == (file, number, 3)
    assert (record.source.host, record.source.pid) == ("trn07", 4811)
    assert record.rank is None, "the number in brackets is a CUDA device, not a rank"


@pytest.mark.parametrize("left", ["07", "-", "---"])
def test_digits_or_dashes_in_place_of_a_host_are_no_host(left):
    record = read_record(
        f"{left}:4811:4902 [3] NCCL INFO comm 0x5d rank 3 nranks 8 cudaDev 3 busId 4e000 - Init COMPLETE"
    )
    assert (record.source.host, record.source.pid, record.fields["group_rank"]) == (None, 4811, 3)


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        ("Net : Connection closed by remote peer [10.9.1.7<40112>]", {"peer": "10.9.1.7:40112"}),
        ("socketProgress: Connection closed by remote peer trn08<40112>", {"peer": "trn08:40112"}),
        ("Connect to 10.9.1.7<4431> failed : Connection refused", {"peer": "10.9.1.7:4431", "errno": 111}),
        ("socketStartConnect: Connect to 10.9.1.7<4431> failed : No route to host", {"errno": 113}),
        (
            "socketStartConnect: Connect to fe80::12:ff%eth1<4431> failed : Software caused connection abort",
            {"peer": "[fe80::12:ff%eth1]:4431", "errno": 103},
        ),
        (
            "socketPollConnect: Connect to 10.9.1.7<4431> returned 110(Connection timed out) errno 115(Operation now in progress)",
            {"peer": "10.9.1.7:4431", "errno": 110},
        ),
        (
            "socketPollConnect: connect to 10.9.1.7<4431> returned Connection refused, exceeded error retry count after 34 attempts",
            {"peer": "10.9.1.7:4431", "errno": 111, "error": "Connection refused"},
        ),
        ("NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129", {"status": 12, "vendor_err": 129}),
        (
            "NET/IB : Got completion from peer 10.9.1.7<4431> with error 5, opcode 1, len 0, vendor err 249",
            {"status": 5, "peer": "10.9.1.7:4431", "vendor_err": 249},
        ),
        (
            (
                "NET/IB: Got completion from peer 10.9.1.7<4431> with status=12 opcode=129 len=0 vendor err 129 (Recv)"
                " localGid ::ffff:10.9.2.1 remoteGids::ffff:10.9.2.7 hca mlx5_4"
            ),
            {"status": 12, "opcode": 129, "direction": "Recv", "hca": "mlx5_4", "remote_gid": "::ffff:10.9.2.7"},
        ),
        (
            (
                "NET/IB: Got completion from peer 10.9.1.7<4431> with status=IBV_WC_RETRY_EXC_ERR(12)"
                " opcode=IBV_WC_RDMA_WRITE(1) vendor_err=129 hca mlx5_0"
            ),
            {"status": 12, "opcode": 1, "vendor_err": 129, "hca": "mlx5_0"},
        ),
        ("NET/IB: Got completion from peer 10.9.1.7<4431> with status=12 opcode=0 len=0 vend", {"status": 12}),
        ("NET/IB : mlx5_2:1 Got async event : port error", {"hca": "mlx5_2", "port": 1, "event": "port error"}),
        (
            "NET/IB : mlx5_2:1 async fatal event on QP (0x7f01): local catastrophic error",
            {"object": "QP", "hca": "mlx5_2"},
        ),
        (
            "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_3:1, curr state INIT, next state RTR",
            {"call": "ibv_modify_qp", "errno": 110, "hca": "mlx5_3"},
        ),
        ("Call to ibv_reg_mr failed with error Cannot allocate memory", {"call": "ibv_reg_mr", "errno": 12}),
        ("Call to ibv_reg_mr failed", {"call": "ibv_reg_mr"}),
        (
            "Net : Call to recv from 10.9.1.7<41468> failed : Connection timed out",
            {"call": "recv", "peer": "10.9.1.7:41468", "errno": 110},
        ),
        ("Cuda failure 2 'out of memory'", {"code": 2, "cuda_error": 2, "error": "out of memory"}),
        ("HIP failure 'invalid device function'", {"error": "invalid device function"}),
        (
            "Duplicate GPU detected : rank 6 and rank 2 both on CUDA device 9d000",
            {"group_ranks": (6, 2), "bus_id": "0000:9d:00"},
        ),
        (
            "Mismatched NCCL version detected : rank 4 version 22105 rank 0 version 22304",
            {"group_ranks": (4, 0), "version": 22105, "other_version": 22304},
        ),
        (
            "Error while creating shared memory segment /dev/shm/nccl-Qx91 (size 9637888), error: No space left on device (28)",
            {"path": "/dev/shm/nccl-Qx91", "size": 9637888, "errno": 28},
        ),
        (
            "Error: failed to extend /dev/shm/nccl-Qx91 to 4194308 bytes",
            {"path": "/dev/shm/nccl-Qx91", "size": 4194308},
        ),
        ("Failed to CUDA calloc 4194304 bytes", {"size": 4194304}),
        (
            "[Proxy Service 2] Failed to execute operation Connect from rank 2, retcode 6",
            {"operation": "Connect", "peer_rank": 2, "code": 6, "result": 6},
        ),
        (
            "[Service thread] Could not receive type from localRank 5, res=3, closed=0",
            {"peer_local_rank": 5, "code": 3, "result": 3},
        ),
        ("[Service thread] Accept failed Too many open files", {"errno": 24}),
        ("NET/Socket : message truncated : receiving 4096 bytes instead of 512", {"size": 4096, "expected": 512}),
        ("Bootstrap : no socket interface found", {}),
        ("No IP interface found (starting with ib7)", {"interface": "ib7"}),
        (
            "NET/OFI Unable to register memory. RC: -12, Error: Cannot allocate memory",
            {"code": -12, "fi_errno": -12, "errno": 12},
        ),
        ("Mismatched collective detected, please check your calls at and around rank 5.", {"peer_rank": 5}),
    ],
)
def test_values_in_a_warning_become_fields(message, fields):
    record = read_record(f"{HEAD}transport/some.cc:12 NCCL WARN {message}")
    assert (record.kind, record.level, record.text) == ("nccl.warn", "error", message)
    assert {name: record.fields.get(name) for name in fields} == fields


@pytest.mark.parametrize(
    "message",
    [
        'Missing "iommu=pt" from kernel command line which can lead to system instability',
        "NUMA auto balancing enabled which can lead to variability in the RCCL performance!",
        "NET/IB : mlx5_2:1 Got non-fatal async event: GID table change(18)",
        "NET/IB : mlx5_2:1 Got async event : client reregistration",
        "NET/IB : mlx5_2:1 Got async event : port active",
        "Cannot initialize CollNet, using point-to-point network instead",
        "No NVML device handle. Skipping nvlink detection.",
        "NET/Plugin: Failed to find ncclNetPlugin_v8 symbol.",
        "Could not open plugin, falling back to the internal network",
        "Could not find a path for pattern 4, falling to simple order",
        "Retrieve cuMemCreate version 10020 failed with 500",
        "Failed to load CUDA missing symbol cuGetProcAddress",
        "Could not read node # 5",
    ],
)
def test_advice_and_fallbacks_are_no_errors(message):
    record = read_record(f"{HEAD}net.cc:12 NCCL WARN {message}")
    assert (record.kind, record.level) == ("nccl.warn_harmless", "warning")


def test_the_port_of_ras_being_taken_is_harmless_and_another_port_is_not():
    harmless = read_record(HEAD + "ras/client_support.cc:160 NCCL WARN Call to bind failed: Address already in use")
    assert (harmless.kind, harmless.fields["errno"]) == ("nccl.warn_harmless", 98)
    assert (
        read_record(HEAD + "misc/socket.cc:160 NCCL WARN Call to bind failed: Address already in use").kind
        == "nccl.warn"
    )


@pytest.mark.parametrize(
    ("tail", "result", "thread"),
    [("-> 2", 2, None), ("-> 3 [Async thread]", 3, "Async thread"), ("-> 6 [Proxy Thread]", 6, "Proxy Thread")],
)
def test_back_trace_line_has_place_and_result(tail, result, thread):
    record = read_record(HEAD + f"NCCL INFO transport/net.cc:302 {tail}")
    assert (record.kind, record.fields["result"]) == ("nccl.trail", result)
    assert (record.fields["file"], record.fields["line"], record.fields.get("thread")) == (
        "transport/net.cc",
        302,
        thread,
    )


def test_a_back_trace_line_may_name_its_function():
    record = read_record(HEAD + "NCCL INFO group.cc:91 (groupLaunch) -> 1")
    assert (record.kind, record.fields["func"]) == ("nccl.trail", "groupLaunch")


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Call to connect returned Connection refused, retrying", "nccl.retry"),
        (
            "socketPollConnect: connect returned Connection refused, retrying (3/34) after sleep for 300 msec",
            "nccl.retry",
        ),
        ("[Service thread] Connection closed by localRank 4", "nccl.local_closed"),
        ("Could not enable P2P between dev 1(=51000) and dev 2(=8a000)", "nccl.p2p_disabled"),
        ("HINT: Consider NCCL_IB_TIMEOUT", "nccl.hint"),
        ("RAS declaring peer 10.9.1.7<51234> as DEAD", "nccl.ras"),
        ("Failed to open libnvidia-ml.so.1", "nccl.info_error"),
        ("Failed to open libibverbs.so[.1]", "nccl.no_ib"),
        ("NET/IB : No device found.", "nccl.no_ib"),
        ("NET/Plugin: Could not find: libnccl-net.so", "nccl.plugin"),
    ],
)
def test_info_lines_about_trouble_have_kinds_and_are_no_errors(message, kind):
    record = read_record(HEAD + "NCCL INFO " + message)
    assert record.kind == kind
    assert record.level in ("info", "warning")


@pytest.mark.parametrize(
    "message",
    [
        "Channel 03/1 : 5[5] -> 6[6] via P2P/CUMEM/read",
        "Channel 00/04 :    0   1   2   3",
        "Trees [0] 1/-1/-1->0->-1 [1] -1/-1/-1->0->1",
        "Ring 00 : 3 -> 0 -> 1",
        "AllReduce: opCount 1f sendbuff 0x7f00 recvbuff 0x7f00 count 4096 datatype 7 op 0 root 0 comm 0x55 [nranks=8]",
        "Connected all rings",
        "16 coll channels, 0 nvls channels, 16 p2p channels, 2 p2p channels per peer",
        "threadThresholds 8/8/64 | 64/8/64 | 512 | 512",
        "Setting affinity for GPU 2 to ffff",
    ],
)
def test_lines_of_a_healthy_start_make_no_events(message):
    assert parse_text(HEAD + "NCCL INFO " + message) == []


def test_api_calls_make_no_events():
    assert parse_text("trn07:4811:4902 NCCL CALL ncclGroupStart()") == []


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("NCCL version 2.18.5+cuda12.2", {"library": "NCCL", "version": "2.18.5", "cuda": "12.2"}),
        (HEAD + "NCCL INFO NCCL version 2.27.3-beta1+cuda12.9", {"library": "NCCL"}),
        ("RCCL version 2.20.5+hip6.2 HEAD:1a2b3c", {"library": "RCCL", "version": "2.20.5", "hip": "6.2"}),
        ("RCCL version : 2.22.3-HEAD:1a2b3c", {"library": "RCCL", "version": "2.22.3"}),
    ],
)
def test_the_version_is_a_fact(line, fields):
    record = read_record(line)
    assert record.kind == "nccl.version"
    assert {name: record.fields.get(name) for name in fields} == fields


@pytest.mark.parametrize(
    ("line", "phase", "bus"),
    [
        ("comm 0x55a0 rank 3 nranks 16 cudaDev 3 busId 1a000 - Init COMPLETE", "COMPLETE", "0000:1a:00"),
        (
            "comm 0x55a0 rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 1a000 commId 0x9f3c - Init START",
            "START",
            "0000:1a:00",
        ),
        (
            "ncclCommInitRankConfig comm 0x55a0 rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 101d0 commId 0x9f3c - Init COMPLETE",
            "COMPLETE",
            "0000:10:1d",
        ),
        (
            "ncclCommSplit comm 0x55a0 rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 9000 parent 0x44 splitCount 2 color 7 key 3- Init START",
            "START",
            "0000:09:00",
        ),
    ],
)
def test_joining_a_communicator_is_recognised_in_every_version(line, phase, bus):
    record = read_record(HEAD + "NCCL INFO " + line)
    assert (record.kind, record.fields["phase"], record.fields["bus_id"]) == ("nccl.comm_init", phase, bus)
    assert (record.fields["group_rank"], record.fields["nranks"], record.fields["cuda_dev"]) == (3, 16, 3)
    assert record.rank is None, "a rank inside a communicator is not the global one"


def test_the_end_of_a_communicator_is_information():
    record = read_record(HEAD + "NCCL INFO comm 0x55a0 rank 3 nranks 16 cudaDev 3 busId 1a000 - Abort COMPLETE")
    assert (record.kind, record.level, record.fields["how"]) == ("nccl.comm_end", "info", "Abort")


@pytest.mark.parametrize(
    ("message", "kind", "fields"),
    [
        ("Bootstrap : Using [0]eth0:10.9.1.1<0>", "nccl.bootstrap", {"interface": "eth0", "address": "10.9.1.1:0"}),
        ("Bootstrap: Using bond0:fd00::7<0>", "nccl.bootstrap", {"interface": "bond0", "address": "[fd00::7]:0"}),
        ("Using network AWS Libfabric", "nccl.network", {"network": "AWS Libfabric"}),
        (
            "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_bond_0:1/RoCE [RO]; OOB eth0:10.9.1.1<0>",
            "nccl.interfaces",
            {"transport": "IB", "interfaces": ("mlx5_0", "mlx5_bond_0"), "oob": "eth0"},
        ),
        (
            "NET/Socket : Using [0]eth0:10.9.1.1<0> [1]docker0:172.17.0.1<0>",
            "nccl.interfaces",
            {"transport": "Socket", "interfaces": ("eth0", "docker0")},
        ),
        ("NCCL_SOCKET_IFNAME set by environment to eth9", "nccl.env", {"name": "NCCL_SOCKET_IFNAME", "value": "eth9"}),
        ("NCCL_IB_TIMEOUT set to 22.", "nccl.env", {"name": "NCCL_IB_TIMEOUT", "value": 22}),
        ("cudaDriverVersion 12040", "nccl.driver", {"version": 12040}),
        (
            "comm 0x55 rank 5 nRanks 16 nNodes 2 localRanks 8 localRank 5 MNNVL 0",
            "nccl.comm_layout",
            {"nnodes": 2, "local_ranks": 8},
        ),
        ("NET/OFI Initializing aws-ofi-nccl 1.9.1-aws", "nccl.ofi", {"plugin_version": "1.9.1-aws"}),
        ("NET/Plugin: Loaded net plugin FooNet (v8)", "nccl.plugin", {"name": "FooNet"}),
    ],
)
def test_facts_of_the_start_are_read(message, kind, fields):
    record = read_record(HEAD + "NCCL INFO " + message)
    assert (record.kind, record.level) == (kind, "info")
    assert {name: record.fields.get(name) for name in fields} == fields


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)",
        "ncclCommInitRank failed: unhandled cuda error",
        "INTERNAL: NCCL operation ncclGroupEnd() failed: internal error",
        "cupy_backends.cuda.libs.nccl.NcclError: NCCL_ERROR_SYSTEM_ERROR: unhandled system error",
        "Failed, NCCL error app.cu:71 'invalid usage'",
    ],
)
def test_reports_of_failed_calls_by_programs_are_read(line):
    assert [(e.kind, e.level) for e in parse_text(line)] == [("nccl.call_failed", "error")]


def test_the_report_of_ras_names_communicator_and_rank():
    records = parse_text(
        "#1-0 (9f3c55aa01b2c3d4) MISMATCH\n"
        "Rank 5 has launched up to operation 17 -- GPU 5 managed by process 991 on node 10.9.1.7\n"
    )
    assert [e.kind for e in records] == ["nccl.ras_problem", "nccl.ras_rank"]
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


@pytest.mark.parametrize(
    "line", ["Failed: Cuda error ring.cu:31 'unknown error'", "CUDA failure ring.cu:31 'unknown error'"]
)
def test_the_error_check_of_the_examples_is_read(line):
    failure = read_record(line)
    assert (failure.kind, failure.level, failure.fields["error"]) == ("nccl_tests.failure", "fatal", "unknown error")


def test_a_prefix_without_the_process_names_the_host():
    failure = read_record(
        "gpu-a32 [5] misc/socket.cc:46 NCCL WARN Call to ibv_modify_qp failed with error Invalid argument"
    )
    assert (failure.host, failure.pid, failure.fields["device"]) == ("gpu-a32", None, 5)


@pytest.mark.parametrize("processes", ["XXXX:XXXX", "XXXXXX", "pid:tid", "<pid>:<tid>", "****:****"])
def test_the_host_is_read_where_the_processes_are_blacked_out(processes):
    failure = read_record(f"gpu-a32:{processes} [5] misc/socket.cc:46 NCCL WARN Call to ibv_modify_qp failed")
    assert (failure.host, failure.pid, failure.fields["device"]) == ("gpu-a32", None, 5)


def test_info_lines_of_nvshmem_are_no_errors():
    record = read_record(
        "gpu-a32:4811:4811 [0] NVSHMEM INFO [0] status 0 cudaErrorInvalidValue 1 cudaErrorNoKernelImageForDevice 209"
    )
    assert (record.kind, record.level, record.host) == ("nvshmem.info", "info", "gpu-a32")


def test_process_or_device_counter_is_no_host():
    for words in ("rank", "GPU", "stderr"):
        assert read_record(f"{words} [5] misc/socket.cc:46 NCCL WARN Call to ibv_modify_qp failed").host is None


@pytest.mark.parametrize("place", ["transport/p2p.cc:256 NCCL WARN", "misc/ibvwrap.cu:269 WARN"])
def test_host_without_a_number_before_the_device_is_read(place):
    assert read_record(f"titan [2] {place} Call to ibv_create_qp failed").host == "titan"


def test_the_processes_that_ras_calls_dead_are_read():
    text = "  2 job processes are considered dead (unreachable via the RAS network)\n"
    text += "  Process 41207 on node 10.9.1.7 managing GPU 5\n  Process 41208 on node 10.9.1.8 managing GPUs 0,1\n"
    assert read_record(text).fields["odd_hosts"] == ("10.9.1.7", "10.9.1.8")


def test_missing_plugin_in_the_first_releases_is_information():
    note = read_record("trn07:810:912 [0] INFO NET : Unable to load libnccl-net.so : cannot open shared object file")
    assert (note.kind, note.level, note.host) == ("nccl.plugin", "info", "trn07")


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("trn07:810:810 [2] NCCL INFO group.cc:423 -> 3", "error"),
        ("trn07:810:912 [2] NCCL INFO transport/p2p.cc:352 -> 1", "error"),
        ("trn07:810:912 [2] NCCL INFO init.cc:765 -> 2", "info"),
        ("trn07:810:810 [2] NCCL INFO group.cc:423 -> 7", "info"),
    ],
)
def test_back_trace_is_an_error_unless_a_caller_falls_back(line, level):
    assert read_record(line).level == level


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
    assert (sharp.kind, sharp.level) == ("nccl.sharp", "warning")
    shmem = read_record("/build/src/host/init/init.cu:990: non-zero status: 7 building transport map failed")
    assert (shmem.kind, shmem.fields["code"], shmem.fields["line"]) == ("nvshmem.error", 7, 990)
    bootstrap = read_record(
        "/build/src/modules/bootstrap/uid/bootstrap_uid.cpp:bootstrap_uid_init:234: rank count 4 : 8"
    )
    assert (bootstrap.kind, bootstrap.level, bootstrap.fields["func"]) == (
        "nvshmem.error",
        "error",
        "bootstrap_uid_init",
    )
    skipped = read_record(
        "/build/src/modules/transport/ibrc/ibrc.cpp:1509: non-zero status: 7 No libibverbs. Skipping ibrc."
    )
    assert (skipped.kind, skipped.level) == ("nvshmem.closing", "warning")
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
