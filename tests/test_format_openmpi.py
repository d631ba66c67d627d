from __future__ import annotations

from format_probe import PRINTABLE, kinds, read, read_record, records
from hypothesis import given, settings
from hypothesis import strategies as st

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
    assert [s.kind for s in records] == ["openmpi.slots", "openmpi.other"]


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
    assert kinds(RECORDS, text) == ["openmpi.other", "openmpi.slots"]


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


def test_only_a_rank_of_the_first_job_is_taken_for_the_global_rank():
    record = read_record(RECORDS, "[gn3][[21001,2],4][btl_tcp_proc.c:12:f] connection refused")
    assert record.kind == "openmpi.btl"
    assert "by_rank" not in record.fields


WORDS = st.sampled_from(
    [RULE, *SLOTS, *HANDLER.split("\n"), *CRASH.split("\n"), "MPI_ABORT was invoked on rank", "mpirun"]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(WORDS, st.text(st.sampled_from(PRINTABLE), max_size=60)), max_size=14))
def test_garbage_around_known_words_never_raises(lines):
    read(RECORDS, "\n".join(lines))


def test_a_repeated_help_text_is_known_by_its_file_and_topic():
    line = "[trn03:771] 3 more processes have sent help message help-mpi-btl-tcp.txt / client connect fail"
    assert read_record(RECORDS, line).fields["topic"] == "help-mpi-btl-tcp.txt:client connect fail"


def test_a_help_text_of_the_catalogue_has_its_code_as_topic_even_without_a_word_of_mpi():
    record = read_record(
        RECORDS, frame("A call to mkdir was unable to create the desired directory:", "", "  Directory: /scratch/a")
    )
    assert record.fields["topic"] == "help-opal-util.txt:mkdir-failed"
