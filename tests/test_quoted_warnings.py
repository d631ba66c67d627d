"""An NCCL warning quoted by PyTorch or XLA counts as if NCCL had printed it."""

from __future__ import annotations

import io

import pytest

from logdoctor import diagnose
from logdoctor.logs.multiline.nccl_lines import quoted_warning

TORCH = """\
[rank3]: Traceback (most recent call last):
[rank3]:   File "/srv/run/train.py", line 40, in <module>
[rank3]:     main()
[rank3]: torch.distributed.DistBackendError: NCCL error in: /build/NCCLUtils.hpp:317, unhandled system error, NCCL version 2.21.5
[rank3]: ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.
[rank3]: Last error:
[rank3]: {}
"""
PLAIN = """\
NCCL error in: /build/NCCLUtils.hpp:317, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5
ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.
Last error:
{}
"""
XLA = (
    "XlaRuntimeError: INTERNAL: NCCL operation ncclCommInitRank(&comm, nranks, id, rank) failed: unhandled system error"
    " (run with NCCL_DEBUG=INFO for details). Last NCCL warning(error) log entry (may be unrelated) '{}'.\n"
)


@pytest.mark.parametrize("form", [TORCH, PLAIN, XLA])
@pytest.mark.parametrize(
    ("warning", "signature"),
    [
        ("Invalid rank requested : 9/8", "nccl.invalid-usage"),
        ("NET/Socket : no usable interface found", "net.no-interface"),
        (
            "NET/Socket : peer 10.9.0.4<46213> message truncated : receiving 512 bytes instead of 256",
            "net.size-mismatch",
        ),
        ("ncclSocketRecv: socket state (5) is not ready", "nccl.internal"),
        ("socketTryAccept: Accept failed: Interrupted system call", "nccl.proxy-service"),
    ],
)
def test_quoted_nccl_warning_gives_its_signature(form, warning, signature, knowledge):
    diagnosis = diagnose(io.BytesIO(form.format(warning).encode()), knowledge=knowledge)
    assert diagnosis.causes[0].signature == signature


def test_quoting_line_is_the_evidence_and_its_rank_the_culprit(knowledge):
    diagnosis = diagnose(io.BytesIO(TORCH.format("Invalid rank requested : 9/8").encode()), knowledge=knowledge)
    assert (diagnosis.causes[0].evidence[0].line.number, diagnosis.causes[0].culprit.ranks) == (7, (3,))


def test_quoted_harmless_warning_explains_nothing(knowledge):
    harmless = XLA.format("NUMA auto balancing enabled which can lead to variability in the NCCL performance!")
    assert diagnose(io.BytesIO(harmless.encode()), knowledge=knowledge).verdict == "unknown"


@pytest.mark.parametrize(
    "tail", ["", "\n  Exception raised from check at /build/NCCLUtils.hpp:317 (most recent call first):"]
)
def test_empty_quotation_is_ignored(tail):
    assert quoted_warning(f"NCCL error in: x.hpp:317, internal error\nLast error:{tail}") == ""


def test_last_error_of_another_program_is_ignored():
    assert quoted_warning("OSError: gave up\nLast error:\nInvalid rank requested : 9/8") == ""
