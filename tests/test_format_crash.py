from __future__ import annotations

import pytest
from format_probe import PRINTABLE, read, read_record, records
from hypothesis import given, settings
from hypothesis import strategies as st

from logdoctor.logs.multiline.crash_stacks import read_terminate
from logdoctor.logs.record_pattern import Message

RECORDS = (*records("crash"), *records("crash_traces"))


def test_uncaught_exception_keeps_type_and_message_and_leaves_other_lines():
    text = (
        "terminate called after throwing an instance of 'std::runtime_error'\n"
        "  what():  the queue was closed\n"
        "epoch 3 begins"
    )
    records = read(RECORDS, text)
    assert len(records) == 1
    assert records[0].fields == {"exception": "std::runtime_error", "message": "the queue was closed"}


def test_message_of_an_uncaught_exception_is_quoted():
    head = Message("terminate called after throwing an instance of 'std::runtime_error'")
    multiline = read_terminate(head, {}, iter([Message("  what():  the queue was closed", below=1)]))
    assert multiline is not None
    assert multiline.evidence == 1


def test_interleaved_exceptions_of_two_processes_share_one_message():
    text = (
        "terminate called after throwing an instance of 'c10::Error'\n"
        "terminate called after throwing an instance of 'c10::Error'\n"
        "  what():    what():  CUDA error: unknown error\n"
    )
    records = read(RECORDS, text)
    assert [s.kind for s in records] == ["crash.terminate"]
    assert records[0].fields["message"] == "CUDA error: unknown error"


def test_frames_below_a_c10_exception_belong_to_it():
    text = (
        "terminate called after throwing an instance of 'c10::DistBackendError'\n"
        "  what():  [PG 0 Rank 5] something ended\n"
        "Exception raised from run at /src/x.cpp:12 (most recent call first):\n"
        "frame #0: c10::Error::Error(int) + 0x96 (0x7f00 in /venv/libc10.so)\n"
        "frame #1: <unknown function> + 0xd3b65 (0x7f01 in /venv/libtorch.so)\n"
        "Fatal Python error: Aborted"
    )
    records = read(RECORDS, text)
    assert len(records) == 1
    assert records[0].fields["message"] == "[PG 0 Rank 5] something ended"
    assert "frame #0" not in records[0].text


def test_older_torch_gives_the_rank_in_the_group():
    record = read_record(
        RECORDS,
        "terminate called after throwing an instance of 'std::runtime_error'\n"
        "  what():  [Rank 6] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE)",
    )
    assert (record.fields.get("group_rank"), record.fields.get("rank")) == (6, None)


def test_terminate_without_an_exception_is_recognised():
    assert read_record(RECORDS, "terminate called without an active exception").kind == "crash.terminate"


def test_a_debugger_stack_gives_signal_frames_and_library():
    text = (
        'Thread 12 "python" received signal SIGSEGV, Segmentation fault.\n'
        "[Switching to Thread 0x7f66 (LWP 4120)]\n"
        "0x00007f8a in ringPost () from /opt/lib/libacme.so.2\n"
        "(gdb) bt\n"
        "#0  0x00007f8a in ringPost () from /opt/lib/libacme.so.2\n"
        "#1  0x00007f8b in ringPoll (ctx=0x55) at ring.cc:120\n"
        "#2  0x00007f8c in start_thread () from /lib/x86_64-linux-gnu/libc.so.6\n"
    )
    record = read(RECORDS, text)[0]
    assert (record.kind, record.level, record.fields["signal"]) == ("crash.gdb", "fatal", 11)
    assert record.fields["frames"][:2] == ("ringPost", "ringPoll")
    assert record.fields["library"] == "/opt/lib/libacme.so.2"
    assert "ringPoll" in record.text


def test_a_stack_alone_is_no_failure():
    text = "#0  0x00007f8a in epoll_wait () from /lib/libc.so.6\n#1  0x00007f8b in poll_loop () from /opt/libpoll.so"
    record = read_record(RECORDS, text)
    assert (record.kind, record.level) == ("crash.backtrace", "info")


def test_the_crash_block_of_glog_is_one_event():
    text = (
        '*** Aborted at 1730000000 (unix time) try "date -d @1730000000" if you are using GNU date ***\n'
        "PC: @                0x0 (unknown)\n"
        "*** SIGSEGV (@0x18) received by PID 90211 (TID 0x7f) from PID 24; stack trace: ***\n"
        "    @     0x7fd0 (unknown)\n"
        "    @     0x7fd1 acme::Solver::step()\n"
    )
    records = read(RECORDS, text)
    assert records[-1].fields["frames"] == ("acme::Solver::step()",)
    assert {s.kind for s in records} == {"crash.trace"}
    assert any(s.fields.get("signal") == 11 and s.fields.get("pid") == 90211 for s in records)


def test_the_stack_of_ucx_names_the_first_library_that_is_not_the_handler():
    text = (
        "[n7:4411:0:4480] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x8)\n"
        "==== backtrace (tid:   4480) ====\n"
        " 0  /opt/ucx/lib/libucs.so.0(ucs_handle_error+0x2e4) [0x7f1]\n"
        " 1  /opt/acme/libmesh.so(meshSend+0x41) [0x7f2]\n"
        "=================================\n"
    )
    record = read(RECORDS, text)[0]
    assert (record.fields["signal"], record.fields["library"]) == (11, "/opt/acme/libmesh.so")
    assert record.fields["frames"] == ("ucs_handle_error", "meshSend")


def test_killed_by_a_signal_gives_the_number():
    assert read_record(RECORDS, "worker 3 was terminated by signal SIGKILL").fields["signal"] == 9
    assert read_record(RECORDS, "child died with <Signals.SIGSEGV: 11>").fields["signal"] == 11


KNOWN = (
    "terminate called after throwing an instance of '",
    "  what():  ",
    "#0  0x12 in ",
    "*** SIGSEGV (@0x0) received by PID 1",
    "Killed",
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(KNOWN), st.text(PRINTABLE, max_size=80), st.text(PRINTABLE, max_size=80))
def test_garbage_around_known_words_never_raises(words, before, after):
    read(RECORDS, f"{before}{words}{after}\n{words}\n{after}\n#1  {before}")


def test_the_note_below_a_rust_panic_is_not_its_message():
    record = read(RECORDS, "thread 'main' panicked at src/mesh.rs:10:5:\nnote: run with `RUST_BACKTRACE=1`\n")[0]
    assert "message" not in record.fields or not record.fields["message"]


def test_message_below_what_and_a_source_place_is_read():
    record = read_record(
        RECORDS,
        "terminate called after throwing an instance of 'Solver::InputError'\n"
        "  what():\n"
        "(src/reader.cpp:41) void readKeyword()\n"
        "unknown keyword SCALE in line 12\n"
        "[gn7:812] *** Process received signal ***",
    )
    assert record.fields["message"] == "unknown keyword SCALE in line 12"


@pytest.mark.parametrize(
    "report",
    [
        "srun: error: gn7: task 3: Aborted (core dumped)",
        "gn7: rank 3 exited with code 134",
        "/opt/run.sh: line 47: 38240 Aborted                 ./solver",
    ],
)
def test_launcher_report_is_no_part_of_the_exception_message(report):
    head = Message("terminate called after throwing an instance of 'std::invalid_argument'")
    below = [Message("  what():  stoul", below=1), Message(report, below=2)]
    multiline = read_terminate(head, {}, iter(below))
    assert multiline is not None
    assert (multiline.fields["message"], multiline.taken) == ("stoul", (1,))


def test_the_frames_that_a_signal_interrupted_belong_to_the_stack():
    record = read_record(
        RECORDS,
        "#0  0x00007f3d19b55217 in waitpid () from /lib64/libc.so.6\n"
        "#1  0x00007f3d14364cdb in crash_handler () from /opt/lib/librun.so\n"
        "#2  <signal handler called>\n"
        "#3  0x00007f3d1599e143 in exchange_halo (this=0x0) at /src/halo.cc:131",
    )
    assert record.fields["frames"] == ("waitpid", "crash_handler", "exchange_halo")
    assert "<signal handler called>" in record.text
