"""Records of PyTorch's distributed package, from 1.x to 2.x."""

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


def test_the_path_of_the_flight_recorder_is_kept():
    record = read_record(NEW + PG + "Finished writing Flight Recorder debug info to /tmp/nccl_trace_rank_5")
    assert (record.kind, record.fields["path"]) == ("c10d.other", "/tmp/nccl_trace_rank_5")


def test_error_of_another_c10d_file_is_read_and_of_a_foreign_file_is_not():
    assert read_record("[rank5]:[E1104 08:14:02.113355799 FlightRecorder.cpp:21] Something new").kind == "c10d.other"
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
    assert [e.kind for e in records] == ["c10d.nccl_error"]
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
    assert [e.kind for e in records] == ["c10d.other"]
    assert (records[0].fields["ranks"], records[0].fields["op"], records[0].fields["seq"]) == ((3, 4), "ALLREDUCE", 12)


def test_the_python_stack_of_a_failed_collective_is_kept():
    records = parse_text(
        NEW + "Stack trace of the failed collective: \n"
        "#0 all_reduce from /opt/env/torch/distributed/distributed_c10d.py:2501\n"
        "#1 validate from /home/kim/train.py:77\n"
        "step 5\n"
    )
    stack = next(e for e in records if e.kind == "c10d.other")
    assert stack.fields["frames"].endswith("distributed_c10d.py:all_reduce > /home/kim/train.py:validate")


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
    assert (record.kind, record.level) == ("c10d.other", "error")
    assert (record.fields["rank"], record.fields["parameters"]) == (2, "head.bias, head.weight")


_KNOWN = [NEW, PG, "Watchdog caught ", "NCCL error in: ", "Timeout at collective: ", "Last error:\n", "frame #0: "]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(_KNOWN), st.text(max_size=40)), max_size=8))
def test_rubbish_around_known_words_never_raises(parts):
    for record in parse_text("".join(parts)):
        assert record.format
