"""Records of PyTorch's distributed package, from 1.x to 2.x."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logdoctor.logs import parse_text
from logdoctor.model import Record

OLD = "[E ProcessGroupNCCL.cpp:563] "
NEW = "[rank5]:[E1104 08:14:02.113355799 ProcessGroupNCCL.cpp:616] "
PG = "[PG ID 2 PG GUID 7(dp_group) Rank 1] "


def read_record(text: str) -> Record:
    records = parse_text(text)
    assert len(records) == 1, [(e.kind, e.text) for e in records]
    return records[0]


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (
            OLD
            + "[Rank 2] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, TensorShape=[512, 4],"
            " Timeout(ms)=900000) ran for 900144 milliseconds before timing out.",
            {"op": "ALLREDUCE", "shape": "512, 4", "timeout_ms": 900000, "ran_ms": 900144, "group_rank": 2},
        ),
        (
            OLD + "[Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=88, OpType=BROADCAST,"
            " TensorShape=[9], Timeout(ms)=900000) ran for 900144 milliseconds before timing out.",
            {"op": "BROADCAST", "seq": 88},
        ),
        (
            NEW + "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=88, OpType=_ALLGATHER_BASE,"
            " NumelIn=640, NumelOut=1280, Timeout(ms)=900000) ran for 900144 milliseconds before timing out.",
            {"op": "_ALLGATHER_BASE", "seq": 88, "numel_in": 640, "numel_out": 1280, "group_rank": 1},
        ),
        (
            NEW + PG + "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, OpType=SEND, NumelIn=1,"
            " NumelOut=1, Timeout(ms)=900000) ran for 900144 milliseconds before timing out.",
            {"op": "SEND", "pg": 7, "pg_desc": "dp_group", "group_rank": 1},
        ),
        (NEW + PG + "Watchdog caught collective operation timeout: NCCL operation timed out", {"pg": 7}),
    ],
)
def test_a_watchdog_timeout_is_read_in_every_era(line, fields):
    record = read_record(line)
    assert (record.kind, record.level) == ("c10d.watchdog_timeout", "error")
    assert {name: record.fields.get(name) for name in fields} == fields


def test_rank_in_a_sub_group_is_no_global_rank():
    assert read_record(NEW + PG + "Watchdog caught collective operation timeout: ").rank == 5
    assert read_record(OLD + PG + "Some NCCL operations have failed or timed out.").rank is None


def test_a_message_broken_by_a_narrow_terminal_is_joined():
    record = read_record(
        NEW + "[Rank 1] Watchdog caught \n"
        "collective operation timeout: WorkNCCL(SeqNum=88, OpType=ALLREDUCE, \n"
        "NumelIn=64, NumelOut=64, Timeout(ms)=900000) ran for 900144 milliseconds before timing out.\n"
    )
    assert (record.kind, record.fields["seq"], record.fields["ran_ms"]) == ("c10d.watchdog_timeout", 88, 900144)


@pytest.mark.parametrize(
    "text",
    [
        "Timeout at NCCL work: 88, last enqueued NCCL work: 90, last completed NCCL work: 87.",
        (
            "Exception (either an error or timeout) detected by watchdog at work: 88, last enqueued NCCL work: 90,"
            " last completed NCCL work: 87."
        ),
        " failure detected by watchdog at work sequence id: 88 PG status: last enqueued work: 90, last completed work: 87",
    ],
)
def test_the_state_of_a_group_is_read_in_every_era(text):
    record = read_record(NEW + PG + text)
    assert (record.kind, record.fields["work"], record.fields["last_enqueued"]) == ("c10d.pg_state", 88, 90)
    assert record.fields["last_completed"] == 87


@pytest.mark.parametrize(
    ("text", "sender"),
    [
        ("Received a global dump signal from rank 6, and will try our best to dump the debug info.", 6),
        ("Received a dump signal due to a collective timeout from  rank 6 and we will try our best to dump", 6),
        ("Received a dump signal due to a collective timeout from this local rank and we will try our best", None),
        ("Received a global timeout from another rank and will start to dump the debug info.", None),
    ],
)
def test_dump_signal_gives_its_sender_if_printed(text, sender):
    record = read_record(NEW + PG + text)
    assert (record.kind, record.fields.get("from_rank")) == ("c10d.dump_signal", sender)


@pytest.mark.parametrize(
    ("text", "kind", "level"),
    [
        ("Some NCCL operations have failed or timed out. Due to the asynchronous nature", "c10d.taking_down", "fatal"),
        ("To avoid data inconsistency, we are taking the entire process down.", "c10d.taking_down", "fatal"),
        ("To avoid this inconsistency, we are taking the entire process down.", "c10d.taking_down", "fatal"),
        ("ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1", "c10d.dumping", "info"),
        ("ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress", "c10d.heartbeat", "fatal"),
        ("Heartbeat monitor timed out! Process will be terminated", "c10d.heartbeat", "fatal"),
        (
            "Terminating the process after attempting to dump debug info, due to ProcessGroupNCCL watchdog hang.",
            "c10d.terminating",
            "fatal",
        ),
        ("Could not acquire GIL within 300 ms on exit, possible GIL induced hang", "c10d.gil", "error"),
        ("Found key in store: NCCLABORTEDCOMM:77, from rank: 3. This means", "c10d.aborted_elsewhere", "error"),
        ("NCCL communicator was aborted on rank 4. Original reason for failure was: X", "c10d.comm_aborted", "error"),
        ("Stack trace of the failed collective not found, potentially because", "c10d.flight_recorder", "info"),
        ("A message of a version that is not written yet", "c10d.log", "error"),
    ],
)
def test_other_lines_of_an_aborting_group_have_kinds(text, kind, level):
    record = read_record(NEW + PG + text)
    assert (record.kind, record.level) == (kind, level)


def test_the_path_of_the_flight_recorder_is_kept():
    record = read_record(NEW + PG + "Finished writing Flight Recorder debug info to /tmp/nccl_trace_rank_5")
    assert (record.kind, record.fields["path"]) == ("c10d.flight_recorder", "/tmp/nccl_trace_rank_5")


def test_error_of_another_c10d_file_is_read_and_of_a_foreign_file_is_not():
    assert read_record("[rank5]:[E1104 08:14:02.113355799 FlightRecorder.cpp:21] Something new").kind == "c10d.log"
    assert not [e for e in parse_text("[E1104 08:14:02.113355799 my_own_tool.cpp:21] Something") if e.format == "c10d"]
    assert parse_text("[rank5]:[I1104 08:14:02.113355799 ProcessGroupNCCL.cpp:21] Something healthy") == []


def test_a_watchdog_exception_takes_its_explanation_and_frames():
    records = parse_text(
        NEW + PG + "Process group watchdog thread terminated with exception: CUDA error: unspecified launch failure\n"
        "CUDA kernel errors might be asynchronously reported at some other API call.\n"
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
        "\n"
        "Exception raised from c10_cuda_check_implementation at ../c10/cuda/CUDAException.cpp:43 (most recent call first):\n"
        "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x57 (0x7f01 in /opt/lib/libc10.so)\n"
        "frame #1: c10d::ProcessGroupNCCL::WorkNCCL::isCompleted() + 0x80 (0x7f02 in /opt/lib/libtorch_cuda.so)\n"
    )
    assert [e.kind for e in records] == ["c10d.watchdog_exception"]
    record = records[0]
    assert (record.level, record.fields["error"]) == ("fatal", "CUDA error: unspecified launch failure")
    assert record.fields["frames"] == "c10::Error::Error > c10d::ProcessGroupNCCL::WorkNCCL::isCompleted"
    assert "frame #0" not in record.text, "rules search the message, not the frames"


def test_an_error_of_nccl_is_one_event_with_its_last_error():
    records = parse_text(
        NEW
        + "[Rank 1] Collective WorkNCCL(SeqNum=4, OpType=ALLGATHER, NumelIn=8, NumelOut=64, Timeout(ms)=600000) raised"
        " the following async exception: NCCL error: remote process exited or there was a network error, NCCL version 2.20.5\n"
        "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\n"
        "Last error:\n"
        "socketProgress: Connection closed by remote peer trn08<40112>\n"
    )
    assert [e.kind for e in records] == ["c10d.async_error"]
    fields = records[0].fields
    assert (fields["result"], fields["peer"], fields["op"], fields["seq"]) == (
        "ncclRemoteError",
        "trn08:40112",
        "ALLGATHER",
        4,
    )
    assert fields["last_error"] == "socketProgress: Connection closed by remote peer trn08<40112>"


def test_a_raised_error_of_nccl_outside_a_traceback_is_read():
    records = parse_text(
        "torch.distributed.DistBackendError: NCCL error in: ../csrc/ProcessGroupNCCL.cpp:1691, unhandled system error"
        " (run with NCCL_DEBUG=INFO for details), NCCL version 2.19.4\n"
        "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. \n"
        "Last error:\n"
        "socketStartConnect: Connect to 10.9.1.7<4431> failed : Software caused connection abort\n"
    )
    assert [e.kind for e in records] == ["c10d.nccl_error"]
    fields = records[0].fields
    assert (fields["result"], fields["version"], fields["errno"]) == ("ncclSystemError", "2.19.4", 103)
    assert (fields["peer"], fields["line"]) == ("10.9.1.7:4431", 1691)


def test_line_below_last_error_is_quoted():
    error = (
        "torch.distributed.DistBackendError: NCCL error in: ../csrc/NCCLUtils.hpp:219, invalid usage, NCCL version 2.18.1\n"
        "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\n"
        "Last error:\n"
        "Duplicate GPU detected : rank 5 and rank 1 both on CUDA device 4e000\n"
    )
    frames = 'Traceback (most recent call last):\n  File "run.py", line 4, in <module>\n    main()\n'
    assert [e.line.number for e in parse_text(error)] == [4]
    assert [e.line.number for e in parse_text(frames + error)] == [7]


def test_an_empty_last_error_does_not_swallow_the_next_record():
    records = parse_text(
        "NCCL error in: ../csrc/NCCLUtils.hpp:219, invalid usage, NCCL version 2.18.1\n"
        "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\n"
        "Last error:\n"
        "trn07:4811:4902 [3] misc/socket.cc:57 NCCL WARN Socket recv failed\n"
    )
    assert [e.kind for e in records] == ["c10d.nccl_error", "nccl.warn"]


def test_desync_report_gives_the_late_ranks():
    records = parse_text(
        "\t - [1] Timeout at collective: ALLREDUCE, #12\n"
        "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n"
        "\t   - [3, 4] finished collective #11, but didn't join collective #12 (count from 1)\n"
        "\t - Snapshot of ranks' latest states:\n"
        "\t   #12 started ranks:\n"
        "\t     [0, 1, 2] started ALLREDUCE\n"
        "\t   #11 finished ranks:\n"
        "\t     [3, 4] finished BROADCAST\n"
    )
    assert [e.kind for e in records] == ["c10d.desync_report"]
    assert (records[0].fields["ranks"], records[0].fields["op"], records[0].fields["seq"]) == ((3, 4), "ALLREDUCE", 12)


def test_the_python_stack_of_a_failed_collective_is_kept():
    records = parse_text(
        NEW + "Stack trace of the failed collective: \n"
        "#0 all_reduce from /opt/env/torch/distributed/distributed_c10d.py:2501\n"
        "#1 validate from /home/kim/train.py:77\n"
        "step 5\n"
    )
    stack = next(e for e in records if e.kind == "c10d.failed_stack")
    assert stack.fields["frames"].endswith("distributed_c10d.py:all_reduce > /home/kim/train.py:validate")


@pytest.mark.parametrize(
    ("line", "kind", "level", "fields"),
    [
        (
            "[W socket.cpp:601] [c10d] The client socket has failed to connect to [trn01]:29511 (errno: 111 - Connection refused).",
            "c10d.store_connect_retry",
            "warning",
            {"peer": "trn01:29511", "errno": 111},
        ),
        (
            "[E socket.cpp:860] [c10d] The client socket has timed out after 300s while trying to connect to (trn01, 29511).",
            "c10d.store_connect_timeout",
            "error",
            {"peer": "trn01:29511", "seconds": 300},
        ),
        (
            (
                "[E1104 08:14:02.113355799 socket.cpp:1019] [c10d] The client socket has timed out after 60000ms while trying"
                " to connect to (10.9.1.1, 29511)."
            ),
            "c10d.store_connect_timeout",
            "error",
            {"peer": "10.9.1.1:29511", "timeout_ms": 60000},
        ),
        (
            "[W socket.cpp:426] [c10d] The server socket has failed to bind to [::]:29511 (errno: 98 - Address already in use).",
            "c10d.store_bind_failed",
            "warning",
            {"peer": "[::]:29511", "errno": 98},
        ),
        (
            (
                "RuntimeError: The server socket has failed to listen on any local network address. The server socket has failed"
                " to bind to [::]:29511 (errno: 98 - Address already in use)."
            ),
            "c10d.store_listen_failed",
            "error",
            {"errno": 98, "peer": "[::]:29511"},
        ),
        (
            (
                "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address."
                " port: 29511, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
            ),
            "c10d.store_listen_failed",
            "error",
            {"name": "EADDRINUSE", "errno": 98},
        ),
        (
            (
                "[W socket.cpp:600] [c10d] The IPv6 network addresses of (trn01, 29511) cannot be retrieved"
                " (gai error: -2 - Name or service not known)."
            ),
            "c10d.store_resolve",
            "warning",
            {"gai": -2, "family": "IPv6", "peer": "trn01:29511"},
        ),
        (
            "RuntimeError: Timed out after 901 seconds waiting for clients. 3/4 clients joined.",
            "c10d.store_clients",
            "error",
            {"joined": 3, "expected": 4},
        ),
        (
            "torch.distributed.DistStoreError: wait timeout after 600000ms, keys: /default_pg/0//1, /default_pg/0//2",
            "c10d.store_wait_timeout",
            "error",
            {"timeout_ms": 600000, "keys": ("/default_pg/0//1", "/default_pg/0//2")},
        ),
        (
            (
                "[W511 10:01:29.54 socket.cpp:460] [c10d] waitForInput: poll for socket SocketImpl(fd=49, addr=gx04:46374,"
                " remote=gx01:38293) returned 0, likely a timeout"
            ),
            "c10d.store_silent",
            "error",
            {"peer": "gx01:38293"},
        ),
        (
            (
                "[W511 10:01:29.54 socket.cpp:485] [c10d] waitForInput: socket SocketImpl(fd=49, addr=gx04:46374,"
                " remote=gx01:38293) timed out after 300000ms"
            ),
            "c10d.store_silent",
            "error",
            {"peer": "gx01:38293", "timeout_ms": 300000},
        ),
        (
            (
                "RuntimeError: [3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store"
                " by key '0', but store->get('0') got error: Socket Timeout"
            ),
            "c10d.unique_id",
            "error",
            {"group_rank": 3, "from_rank": 0, "error": "Socket Timeout"},
        ),
        (
            (
                "RuntimeError: [3] is setting up HCCL communicator and retreiving hcclUniqueId from [0] via c10d key-value store"
                " by key '0', but store->get('0') got error: Broken pipe"
            ),
            "c10d.unique_id",
            "error",
            {"group_rank": 3, "from_rank": 0, "error": "Broken pipe"},
        ),
        (
            (
                "Waiting in store based barrier to initialize process group for rank: 2, key: store_based_barrier_key:1"
                " (world_size=8, worker_count=5, timeout=0:30:00)"
            ),
            "c10d.barrier_wait",
            "info",
            {"rank": 2, "world": 8, "joined": 5},
        ),
        (
            (
                "RuntimeError: Timed out initializing process group in store based barrier on rank: 2, for key:"
                " store_based_barrier_key:1 (world_size=8, worker_count=5, timeout=0:30:00)"
            ),
            "c10d.barrier_timeout",
            "error",
            {"rank": 2, "world": 8, "joined": 5},
        ),
        (
            (
                "ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable MASTER_ADDR"
                " expected, but not set"
            ),
            "c10d.env_missing",
            "error",
            {"variable": "MASTER_ADDR"},
        ),
        (
            "[Rank 0]: Ranks 3, 5 failed to pass monitoredBarrier in 60000 ms",
            "c10d.monitored_barrier",
            "error",
            {"ranks": (3, 5), "timeout_ms": 60000},
        ),
        (
            "Rank 1 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0.",
            "c10d.monitored_barrier",
            "error",
            {"ranks": None, "keeper": 0, "from_rank": 1},
        ),
        (
            (
                "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective:"
                " CollectiveFingerPrint(SequenceNumber=9, OpType=ALLREDUCE, TensorShape=[4]), but Rank 2 is running collective:"
                " CollectiveFingerPrint(SequenceNumber=9, OpType=BARRIER).Collectives differ in the following aspects: Op type"
            ),
            "c10d.mismatch",
            "error",
            {"group_rank": 0, "op": "ALLREDUCE", "other_rank": 2, "other_op": "BARRIER"},
        ),
        (
            (
                "RuntimeError: DDP expects same model across all ranks, but Rank 3 has 60 params, while rank 0 has inconsistent"
                " 58 params."
            ),
            "c10d.ddp_mismatch",
            "error",
            {"group_rank": 3, "other_rank": 0},
        ),
    ],
)
def test_stores_barriers_and_mismatches_are_read(line, kind, level, fields):
    record = read_record(line)
    assert (record.kind, record.level) == (kind, level)
    assert {name: record.fields.get(name) for name in fields} == fields


def test_lost_store_has_the_level_of_its_line_and_its_frames():
    tail = (
        "recvValue failed on SocketImpl(fd=31, addr=[trn02]:41022, remote=[trn01]:29511): failed to recv, got 0 bytes\n"
        "Exception raised from recvBytes at /src/Utils.hpp:678 (most recent call first):\n"
        "frame #0: c10::Error::Error(c10::SourceLocation) + 0x98 (0x7f01 in /opt/lib/libc10.so)\n"
    )
    quiet = read_record("[rank2]:[W1104 08:14:02.113355799 TCPStore.cpp:125] [c10d] " + tail)
    assert (quiet.kind, quiet.level, quiet.fields["peer"]) == ("c10d.store_lost", "warning", "trn01:29511")
    assert read_record("[rank2]:[E1104 08:14:02.113355799 TCPStore.cpp:125] [c10d] " + tail).level == "error"


def test_unused_parameters_are_one_event_with_their_names():
    record = read_record(
        "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one.\n"
        "making sure all `forward` function outputs participate in calculating loss.\n"
        "Parameters which did not receive grad for rank 2: head.bias, head.weight\n"
    )
    assert (record.kind, record.level) == ("c10d.ddp_unused", "error")
    assert (record.fields["rank"], record.fields["parameters"]) == (2, "head.bias, head.weight")


@pytest.mark.parametrize(
    "line",
    [
        (
            "[rank0]:[W1104 08:14:02.113355799 ProcessGroupNCCL.cpp:1250] Warning: WARNING: process group has NOT been destroyed"
            " before we destruct ProcessGroupNCCL. (function operator())"
        ),
        (
            "[rank0]:[W1104 08:14:02.113355799 ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not called"
            " before program exit, which can leak resources."
        ),
        (
            "[rank1]:[W1104 08:14:02.113355799 ProcessGroupNCCL.cpp:4115] [PG ID 0 PG GUID 0 Rank 1]  using GPU 1 to perform"
            " barrier as devices used by this process are currently unknown."
        ),
        (
            "[W1104 08:14:02.113355799 socket.cpp:752] [c10d] The client socket cannot be initialized to connect to [trn01]:29511"
            " (errno: 97 - Address family not supported by protocol)."
        ),
        "[I ProcessGroupNCCL.cpp:835] [Rank 0] NCCL watchdog thread terminated normally",
        "[I socket.cpp:442] [c10d - debug] The server socket has started to listen on [::]:29511.",
        "Rank 3: Completed store-based barrier for key:store_based_barrier_key:1 with 8 nodes.",
        "Reducer buckets have been rebuilt in this iteration.",
        "UserWarning: find_unused_parameters=True was specified in DDP constructor, but did not find any unused parameters",
    ],
)
def test_healthy_lines_and_advice_are_no_errors(line):
    assert [e.kind for e in parse_text(line) if e.level in ("error", "fatal")] == []


_KNOWN = [NEW, PG, "Watchdog caught ", "NCCL error in: ", "Timeout at collective: ", "Last error:\n", "frame #0: "]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(_KNOWN), st.text(max_size=40)), max_size=8))
def test_rubbish_around_known_words_never_raises(parts):
    for record in parse_text("".join(parts)):
        assert record.format
