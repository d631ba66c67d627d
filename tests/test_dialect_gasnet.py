from __future__ import annotations

from dialect_probe import kinds, one

from logdoctor.parsers.dialects.gasnet import RECORDS


def test_a_fatal_error_names_rank_call_and_errno():
    seen = one(
        RECORDS,
        "*** FATAL ERROR (proc 41): in gasnetc_ofi_init() at /b/ofi-conduit/gasnet_ofi.c:722: fi_domain failed: -61(No data available)",
    )
    assert seen.kind == "gasnet.fatal"
    assert (seen.fields["rank"], seen.fields["func"], seen.fields["errno"]) == (41, "gasnetc_ofi_init", -61)
    assert seen.fields["message"] == "fi_domain failed: -61(No data available)"


def test_a_fatal_error_of_old_releases_has_no_rank():
    seen = one(RECORDS, "*** FATAL ERROR: An exclusive lock could not be taken")
    assert (seen.kind, "rank" in seen.fields) == ("gasnet.fatal", False)


def test_both_crash_handlers_name_rank_and_signal():
    for line in (
        "*** Caught a fatal signal (proc 7): SIGSEGV(11)",
        "Signal 11 received by node 7, process 5120 (thread 7f10) - obtaining backtrace",
    ):
        seen = one(RECORDS, line)
        assert (seen.kind, seen.fields["rank"], seen.fields["signal"]) == ("gasnet.signal", 7, 11)


def test_what_stands_around_a_crash_is_no_failure():
    line = "NOTICE: We recommend linking the debug version of GASNet to assist you in resolving this application issue."
    assert kinds(RECORDS, line) == ["gasnet.note"]
