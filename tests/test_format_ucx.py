from __future__ import annotations

from format_probe import PRINTABLE, read, read_record, records
from hypothesis import given, settings
from hypothesis import strategies as st

RECORDS = records("ucx")

RETRY = "[gn2:293:0:293]     ib_mlx5_log.c:177  UCX  ERROR Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)"
REQUEST = "[gn2:293:0:293]     ib_mlx5_log.c:177  UCX  ERROR RC QP 0x8a wqe[3]: SEND s-e [inl len 26] [rqpn 0x8a]"


def test_a_failed_transfer_gives_status_and_vendor_error_as_numbers_and_takes_its_request_along():
    record = read_record(RECORDS, RETRY + "\n" + REQUEST)
    assert (record.kind, record.level) == ("ucx.completion", "error")
    wanted = {
        "status": 12,
        "vendor_err": 129,
        "syndrome": 21,
        "device": "mlx5_0",
        "port": 1,
        "by_host": "gn2",
        "by_pid": 293,
    }
    assert wanted.items() <= record.fields.items()


def test_the_dump_of_an_error_entry_is_decoded():
    rows = ["00000000 00000000 00000000 00000000"] * 3 + ["00000000 93005204 0a0001bd 45c8e0d2"]
    record = read_record(RECORDS, "\n".join(["mlx5: gn2: got completion with error:", *rows]))
    assert record.fields == {"by_host": "gn2", "vendor_err": 0x52, "syndrome": 4, "status": 4}


def test_a_crash_caught_by_ucx_holds_its_stack():
    text = (
        "[gn2:293:0:293] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x8)\n"
        "==== backtrace (tid:  293) ====\n 0  /opt/app/lib/libsolve.so.0(solve_step+0x2e4) [0x7fc9bfe5e654]\n"
        " 1 0x0000000000012b20 .annobin_sigaction.c()  sigaction.c:0\n=================================\nstep 5"
    )
    record = read_record(RECORDS, text)
    assert (record.kind, record.fields["signal"], record.fields["by_pid"]) == ("ucx.signal", 11, 293)
    assert record.fields["frames"] == ("solve_step", ".annobin_sigaction.c")


def test_a_crash_line_with_a_blank_before_the_thread_names_its_process_too():
    record = read_record(RECORDS, "[gn2:293 :0:301] Caught signal 7 (Bus error: nonexistent physical address)")
    assert (record.kind, record.fields["by_host"], record.fields["by_pid"]) == ("ucx.signal", "gn2", 293)


def test_input_output_error_of_ucx_is_no_disk_error():
    line = "[gn2:87:0] ucp_worker.c:1432 UCX  ERROR failed to open a lane of tcp with status Input/output error"
    assert "errno" not in read_record(RECORDS, line).fields


WORDS = st.sampled_from(
    [RETRY, REQUEST, "mlx5: gn2: got completion with error:", "UCX  ERROR ", "[h:1:0] Caught signal 11 (x)", "0 1 2"]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(WORDS, st.text(st.sampled_from(PRINTABLE), max_size=60)), max_size=10))
def test_garbage_around_known_words_never_raises(lines):
    read(RECORDS, "\n".join(lines))


def test_a_report_past_the_logger_names_its_host_and_the_address_of_the_other_port():
    report = "[gn2:293:0:293] ib_mlx5_log.c:139  Transport retry count exceeded on mlx5_0:1/IB (synd 0x15 vend 0x81 hw_synd 0/0)"
    request = "[gn2:293:0:293] ib_mlx5_log.c:139  DCI QP 0xa0f wqe[0]: SEND s-e [rqpn 0xb66 rlid 41] [inl len 18]"
    record = read_record(RECORDS, report + "\n" + request)
    assert (record.kind, record.fields["status"], record.fields["peer"]) == ("ucx.completion", 12, "lid 41")
    assert (record.fields["by_host"], record.fields["by_pid"]) == ("gn2", 293)


def test_a_segment_that_is_already_gone_is_no_failure():
    why = "failed: No such file or directory"
    record = read_record(
        RECORDS, f"[1741078212.114021] [gn2:293:0] mm_posix.c:291  UCX  ERROR shm_unlink(/ucx_shm_posix_51ac) {why}"
    )
    assert (record.kind, record.level) == ("ucx.other", "warning")
