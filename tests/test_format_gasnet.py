from __future__ import annotations

from format_probe import kinds, read_record, records

RECORDS = records("gasnet")


def test_a_fatal_error_names_rank_call_and_errno():
    record = read_record(
        RECORDS,
        "*** FATAL ERROR (proc 41): in gasnetc_ofi_init() at /b/ofi-conduit/gasnet_ofi.c:722: fi_domain failed: -61(No data available)",
    )
    assert record.kind == "gasnet.fatal"
    assert (record.fields["rank"], record.fields["func"], record.fields["errno"]) == (41, "gasnetc_ofi_init", -61)
    assert record.fields["message"] == "fi_domain failed: -61(No data available)"


def test_a_fatal_error_of_old_releases_has_no_rank():
    record = read_record(RECORDS, "*** FATAL ERROR: An exclusive lock could not be taken")
    assert (record.kind, "rank" in record.fields) == ("gasnet.fatal", False)


def test_both_crash_handlers_name_rank_and_signal():
    for line in (
        "*** Caught a fatal signal (proc 7): SIGSEGV(11)",
        "Signal 11 received by node 7, process 5120 (thread 7f10) - obtaining backtrace",
    ):
        record = read_record(RECORDS, line)
        assert (record.kind, record.fields["rank"], record.fields["signal"]) == ("gasnet.signal", 7, 11)


def test_lines_around_a_crash_are_no_failure():
    line = "NOTICE: We recommend linking the debug version of GASNet to assist you in resolving this application issue."
    assert kinds(RECORDS, line) == ["gasnet.other"]
