"""A failed job, for tests of the whole pipeline.

Rank 3 runs out of GPU memory, and the other ranks time out.
"""

from __future__ import annotations

import io
from typing import Any

import jsonschema

import logdoctor
from logdoctor.model import Diagnosis
from logdoctor.model.json_schema import json_schema

TIMEOUT = (
    "[rank{rank}]:[E604 10:22:31.40{rank}117311 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=1841, OpType=ALLREDUCE, NumelIn=52428800, NumelOut=52428800, "
    "Timeout(ms)=600000) ran for 60002{rank} milliseconds before timing out."
)
OOM = (
    "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total capacity of "
    "79.15 GiB of which 1.21 GiB is free."
)
LINES = (
    "step 410 loss 2.113",
    "[rank3]: Traceback (most recent call last):",
    '[rank3]:   File "/opt/train/pretrain.py", line 88, in <module>',
    "[rank3]:     main()",
    '[rank3]:   File "/opt/train/pretrain.py", line 61, in main',
    "[rank3]:     loss.backward()",
    OOM,
    *(TIMEOUT.format(rank=rank) for rank in (0, 1, 2)),
)
LOG = "\n".join(LINES) + "\n"
ANSWER = ("cuda.oom", (3,))
HEALTHY = "step 1 loss 3.10\nstep 2 loss 2.90\nTraining completed.\n"
UNKNOWN = "srun: error: gpu-04: task 3: Exited with exit code 1\n"


def forbid_other_keys(schema: Any) -> Any:
    """Forbid keys that the schema does not name, so that no key of the JSON goes undescribed."""
    if isinstance(schema, list):
        return [forbid_other_keys(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closing = {"additionalProperties": False} if schema.get("type") == "object" else {}
    return {**closing, **{name: forbid_other_keys(part) for name, part in schema.items()}}


VALIDATOR = jsonschema.Draft202012Validator(forbid_other_keys(json_schema("diagnosis")))

SUMMARY = """\
============================================================
/srv/exp/pretrain.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2025-06-11_09:21:09
  host      : {host}
  rank      : {rank} (local_rank: {rank})
  exitcode  : 1 (pid: {pid})
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================
"""


def summary(rank: int, host: str = "trn07", pid: int = 88140) -> str:
    """Return torchrun's summary if ``rank`` ended first."""
    return SUMMARY.format(rank=rank, host=host, pid=pid)


def diagnose_log(log: str | bytes, knowledge, **options) -> Diagnosis:
    """Return the diagnosis of a log."""
    data = log.encode() if isinstance(log, str) else log
    return logdoctor.diagnose(io.BytesIO(data), knowledge=knowledge, **options)


def answer(diagnosis: Diagnosis) -> tuple[str, tuple[int, ...]]:
    """Return signature and ranks of the first cause.

    Without a cause return the verdict and no ranks.
    """
    if not diagnosis.causes:
        return diagnosis.verdict, ()
    return diagnosis.causes[0].signature, diagnosis.causes[0].culprit.ranks


def answer_of_report(report: dict) -> tuple[str, tuple[int, ...]]:
    """Return the same from a JSON report."""
    if not report["causes"]:
        return report["verdict"], ()
    return report["causes"][0]["signature"], tuple(report["causes"][0]["culprit"]["ranks"])
