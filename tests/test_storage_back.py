"""A file server that answers again is no cause of what does not speak of storage."""

from __future__ import annotations

import itertools

import pytest
from failing_job import diagnose_log

ALARMS = {
    "nfs": ("nfs: server fs03 not responding, still trying", "nfs: server fs03 OK"),
    "soft nfs": ("nfs: server fs03 not responding, timed out", "nfs: server fs03 OK"),
    "lustre": (
        "LustreError: 167-0: wk-OST0007-osc-ffff8b31: This client was evicted by wk-OST0007; in progress operations fail.",
        "Lustre: wk-OST0007-osc-ffff8b31: Connection restored to 10.7.0.12@o2ib (at 10.7.0.12@o2ib)",
    ),
    "ceph": ("ceph: mds0 hung", "ceph: mds0 recovery completed"),
}
OTHERS = {
    "app.exception": "Traceback (most recent call last):\n  File \"/home/kim/fit.py\", line 8, in main\nKeyError: 'rmse'\n",
    "cuda.oom": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total capacity of "
    "79.15 GiB of which 1.21 GiB is free.\n",
}
STEP = "step 40/90 loss 2.1\n"


def kernel(text: str, minute: int) -> str:
    return f"[Wed Apr  2 11:{minute}:11 2031] {text}\n"


@pytest.mark.parametrize("alarm", ALARMS)
@pytest.mark.parametrize(("signature", "failure"), OTHERS.items(), ids=OTHERS)
@pytest.mark.parametrize("order", [*itertools.permutations(range(3))], ids=str)
def test_another_failure_is_told_wherever_the_kernel_log_stands(knowledge, alarm, signature, failure, order):
    gone, back = (kernel(text, minute) for text, minute in zip(ALARMS[alarm], (20, 24), strict=True))
    parts = ("\n" + gone + back, STEP, failure)
    assert diagnose_log("".join(parts[n] for n in order), knowledge).causes[0].signature == signature


@pytest.mark.parametrize("alarm", ALARMS)
def test_a_server_that_stays_away_is_the_cause(knowledge, alarm):
    text = kernel(ALARMS[alarm][0], 20) + STEP + OTHERS["app.exception"]
    assert diagnose_log(text, knowledge).causes[0].signature == "host.filesystem"


@pytest.mark.parametrize("alarm", ["nfs", "lustre"])
def test_storage_error_of_a_program_is_requeued_if_the_server_is_back(knowledge, alarm):
    gone, back = (kernel(text, minute) for text, minute in zip(ALARMS[alarm], (20, 24), strict=True))
    failure = OTHERS["app.exception"].replace("KeyError: 'rmse'", "OSError: [Errno 5] Input/output error")
    found = diagnose_log(STEP + failure + gone + back, knowledge)
    assert (found.causes[0].signature, found.decision.do) == ("host.filesystem", "requeue")
