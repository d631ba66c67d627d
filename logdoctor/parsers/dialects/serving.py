r"""Signs of life of inference servers: tokens that came out, requests that were answered.

- ``progress.step`` unit (answered request): as for training programs (see `progress`).  A server that goes on
  answering has outlived what it complained of before; lines that tell of nothing done (0.0 tokens/s) do not count.

Shapes from vLLM 0.2 to 0.13 (`engine/metrics.py`, `v1/metrics/loggers.py`), SGLang 0.2 to 0.5
(`scheduler_metrics_mixin.py`) and uvicorn's access log (`uvicorn.access`).
"""

from __future__ import annotations

from logdoctor.parsers.blocks.progress_lines import read_step
from logdoctor.parsers.record import Record

_NOTE = "The server answers."
_request = read_step("answered request")

RECORDS = (
    Record("progress.step", r"\bAvg generation throughput: (?!0\.0 )\d[\d.]* tokens/s", "info", _request, _NOTE, -3,
           often=True, scan=r"Avg generation throughput: [1-9]|Avg generation throughput: 0\.[1-9]"),
    Record("progress.step", r"\b(?:Decode|Prefill) batch\b.{0,40}?#(?:running-req|new-seq): [1-9]", "info", _request,
           _NOTE, -3, often=True, scan=r"#running-req: [1-9]|#new-seq: [1-9]"),
    Record("progress.step", r"\"POST /\S{1,200} HTTP/\d(?:\.\d)?\" 200\b", "info", _request, _NOTE, -3, often=True,
           scan=r"HTTP/1\.[01]\" 200|HTTP/2(?:\.0)?\" 200"),
)  # fmt: skip
