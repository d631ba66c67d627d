from __future__ import annotations

from format_probe import PRINTABLE, kinds, read, read_record, records
from hypothesis import given, settings
from hypothesis import strategies as st

RECORDS = records("cuda")


def test_the_number_of_a_cuda_error_is_kept():
    assert read_record(RECORDS, "Cuda failure 999 'unknown error'").fields["code"] == 999


def test_unknown_status_is_a_cuda_error():
    assert read_record(RECORDS, "CUDA error 951: the fabric is resting").kind == "cuda.error"


def test_an_assert_inside_a_kernel_gives_place_and_expression():
    record = read_record(
        RECORDS, "../aten/src/Gather.cu:144: pick: block: [31,0,0], thread: [5,0,0] Assertion `i >= 0 && i < n` failed."
    )
    assert (record.kind, record.fields["file"], record.fields["expression"]) == (
        "cuda.other",
        "../aten/src/Gather.cu",
        "i >= 0 && i < n",
    )


KNOWN = (
    "CUDA error: ",
    "Cuda failure ",
    "CUBLAS_STATUS_",
    "RESOURCE_EXHAUSTED: ",
    ": block: [1,0,0], thread: [2,0,0] Assertion `",
    "cudaError",
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(KNOWN), st.text(PRINTABLE, max_size=80), st.text(PRINTABLE, max_size=80))
def test_garbage_around_known_words_never_raises(words, before, after):
    read(RECORDS, f"{before}{words}{after}")


def test_advice_about_memory_is_no_failure():
    assert kinds(RECORDS, "if you see CUDA out of memory errors, lower the batch size") == []
