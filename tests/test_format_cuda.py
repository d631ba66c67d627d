from __future__ import annotations

import pytest
from format_probe import PRINTABLE, kinds, read, read_record, records
from hypothesis import given, settings
from hypothesis import strategies as st

RECORDS = records("cuda")


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("CUDA error: an illegal memory access was encountered", "an illegal memory access was encountered"),
        ("Cuda error src/halo.cu:71 'unspecified launch failure'", "unspecified launch failure"),
        ("CUDA failure 719: unspecified launch failure ; GPU=2 ; hostname=n4", "unspecified launch failure"),
        ("Cuda failure 'invalid device ordinal'", "invalid device ordinal"),
        ("CUDA Runtime error at ring.cpp:120: misaligned address", "misaligned address"),
        (
            "cudaStreamSynchronize(stream) failed: uncorrectable ECC error encountered",
            "uncorrectable ECC error encountered",
        ),
        ("cuCtxCreate returned CUDA_ERROR_INVALID_DEVICE", "CUDA_ERROR_INVALID_DEVICE"),
        ("HIP error: invalid device function", "invalid device function"),
        ("CUDA error: cudaErrorIllegalAddress", "cudaErrorIllegalAddress"),
        ("kernel returned cudaErrorLaunchTimeout", "cudaErrorLaunchTimeout"),
    ],
)
def test_a_failed_cuda_call_gives_its_status(line, status):
    record = read_record(RECORDS, line)
    assert (record.kind, record.level, record.fields["status"]) == ("cuda.error", "error", status)


def test_the_number_of_a_cuda_error_is_kept():
    assert read_record(RECORDS, "Cuda failure 999 'unknown error'").fields["code"] == 999


def test_unknown_status_is_a_cuda_error():
    assert read_record(RECORDS, "CUDA error 951: the fabric is resting").kind == "cuda.error"


@pytest.mark.parametrize(
    "line",
    [
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2147483648 bytes.",
        "OOM when allocating tensor with shape[256,4096] and type float on /device:GPU:0 by allocator GPU_0_bfc",
        "failed to allocate 3.11G (3339714560 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        "ggml_backend: allocating 9216.00 MiB on device 1: cudaMalloc failed: out of memory",
        "CUDA out of memory. Tried to allocate 3.50 GiB. GPU 2 has a total capacity of 79.10 GiB",
    ],
)
def test_too_little_gpu_memory_in_every_wording(line):
    assert read_record(RECORDS, line).kind == "cuda.oom"


def test_an_assert_inside_a_kernel_gives_place_and_expression():
    record = read_record(
        RECORDS, "../aten/src/Gather.cu:144: pick: block: [31,0,0], thread: [5,0,0] Assertion `i >= 0 && i < n` failed."
    )
    assert (record.kind, record.fields["file"], record.fields["expression"]) == (
        "cuda.device_assert",
        "../aten/src/Gather.cu",
        "i >= 0 && i < n",
    )


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (
            "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm( handle )`",
            "CUBLAS_STATUS_EXECUTION_FAILED",
        ),
        ("cuDNN error: CUDNN_STATUS_MAPPING_ERROR", "CUDNN_STATUS_MAPPING_ERROR"),
        ("fft plan: CUFFT_INTERNAL_ERROR", "CUFFT_INTERNAL_ERROR"),
    ],
)
def test_a_failed_math_library_gives_its_status(line, status):
    record = read_record(RECORDS, line)
    assert (record.kind, record.fields["status"]) == ("cuda.library", status)


@pytest.mark.parametrize(
    ("line", "kind", "level"),
    [
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", "cuda.nvml", "error"),
        ("Failed to initialize NVML: Driver/library version mismatch", "cuda.nvml", "error"),
        ("UserWarning: Can't initialize NVML", "cuda.nvml", "warning"),
        ("modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.1.0", "cuda.driver", "error"),
        ("failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected", "cuda.driver", "warning"),
        ("No devices were found", "cuda.driver", "error"),
    ],
)
def test_a_missing_or_unfit_driver(line, kind, level):
    record = read_record(RECORDS, line)
    assert (record.kind, record.level) == (kind, level)


@pytest.mark.parametrize(
    "line",
    [
        "Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered",
        "CUDA kernel errors might be asynchronously reported at some other API call",
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
        "returned CUBLAS_STATUS_SUCCESS",
        "CUDA error: no error",
        "event query: cudaErrorNotReady",
        "CUDA version: 12.4, errors: none",
        "torch.backends.cuda.matmul.allow_tf32 = True",
        "Adding visible gpu devices: 0",
        "CUDA_ERROR_HANDLING: strict",
        "cudaErrorCheck = 1",
    ],
)
def test_look_alikes_of_healthy_runs_are_no_errors(line):
    assert all(record.level == "info" for record in read(RECORDS, line))


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
