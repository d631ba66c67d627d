from __future__ import annotations

from format_probe import PRINTABLE, kinds, read, read_record, records
from hypothesis import given, settings
from hypothesis import strategies as st

RECORDS = records("frameworks")


STALL = (
    "One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for "
    "remainder of ranks for more than 60 seconds. This may indicate that different ranks are trying to submit different tensors."
)


def test_stall_with_ready_ranks_gives_the_missing_ranks():
    record = read_record(RECORDS, f"{STALL} Stalled ops: grad.a [ready ranks: 3, 0, 4], grad.b [ready ranks: 3, 0, 4]")
    assert record.fields["missing"] == (1, 2)
    assert "missing" not in read_record(RECORDS, "HorovodAllreduce_w0 [ready ranks: 0]").fields


def test_the_order_in_which_ranks_became_ready_is_no_difference_between_tensors():
    record = read_record(RECORDS, f"{STALL} Stalled ops: grad.a [ready ranks: 3, 0, 4], grad.b [ready ranks: 0, 4, 3]")
    assert (record.fields["missing"], record.fields["sides"]) == ((1, 2), 1)


def test_a_stall_without_its_first_line_is_read():
    assert read_record(RECORDS, "HorovodAllreduce_w0 [missing ranks: 3]").fields["missing"] == (3,)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from([STALL, "Missing ranks:", "3: [a, b]", "x [missing ranks: 1,2]"])
        | st.text(PRINTABLE, max_size=50),
        max_size=10,
    )
)
def test_torn_stalls_never_raise(lines):
    for record in read(RECORDS, "\n".join(lines)):
        assert isinstance(record.fields.get("missing", ()), tuple)


def test_milabenchs_report_of_a_failure_without_a_traceback_is_an_error():
    assert read_record(RECORDS, "    No traceback found").level == "error"
    assert kinds(RECORDS, "No traceback found in syslog") == []
