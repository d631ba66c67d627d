r"""Inference servers: signs of life (tokens that came out, requests answered), shards and transfers that failed.

- ``progress.step`` unit (answered request): as for training programs (see `progress`).  A server that goes on
  answering has outlived what it complained of before; lines that tell of nothing done (0.0 tokens/s) do not count.
- ``frameworks.refused`` status: it could not answer one; what it answers later outlives that
- ``frameworks.exit`` exit_code, signal, rank: a server's launcher tells what ended a shard (see `frameworks`), or by
  which signal a scheduler died; with another exit code it is ``frameworks.engine_died``
- ``frameworks.error`` message: SGLang could not take new weights from a trainer (it logs that without a level)
- ``frameworks.transfer`` request, message: the prefill's KV cache did not reach the server that decodes

Shapes from vLLM 0.2 to 0.13 (`engine/metrics.py`, `v1/metrics/loggers.py`), SGLang 0.2 to 0.5
(`scheduler_metrics_mixin.py`, `model_runner.py`, `disaggregation/prefill.py` and `decode.py`), uvicorn's access log
(`uvicorn.access`) and text-generation-inference 0.8 to 3.3 (`launcher/src/main.rs`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.multiline.progress_lines import read_step
from logdoctor.logs.record_pattern import Message, Multiline, RecordPattern
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_NOTE = "The server answers."
_request = read_step("answered request")


def read_signal(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Return the signal, and its negative number as exit code."""
    del below
    number = int(str(fields.get("signal", 0)))
    return Multiline(head.text, {"signal": number, "exit_code": -number})


_EXIT_CODE = later(r"Exit code: (?P<exit_code>-?[1-9]\d{0,9})\s*$")
_SIGNALS = (-4, -6, -7, -8, -9, -11)
"""Of these it dies by itself or from outside; others are what the launcher ends the rest with."""


def read_exit_code(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the exit code of a dead scheduler from the next line."""
    under = next(below, None)
    if under is None or not (match := _EXIT_CODE.match(under.text)):
        return Multiline(head.text)
    code = int(match["exit_code"])
    kind = "frameworks.exit" if code in _SIGNALS else ""
    return Multiline(f"{head.text}\n{under.text}", {"exit_code": code}, (under.below,), kind=kind)


RECORDS = (
    RecordPattern("progress.step", r"\bAvg generation throughput: (?!0\.0 )\d[\d.]* tokens/s", "info", _request, _NOTE, -3,
           often=True, scan=r"Avg generation throughput: [1-9]|Avg generation throughput: 0\.[1-9]"),
    RecordPattern("progress.step", r"\b(?:Decode|Prefill) batch\b.{0,40}?#(?:running-req|new-seq): [1-9]", "info", _request,
           _NOTE, -3, often=True, scan=r"#running-req: [1-9]|#new-seq: [1-9]"),
    RecordPattern("progress.step", r"\"POST /\S{1,200} HTTP/\d(?:\.\d)?\" 200\b", "info", _request, _NOTE, -3, often=True,
           scan=r"HTTP/1\.[01]\" 200|HTTP/2(?:\.0)?\" 200"),
    RecordPattern("progress.step", r"^\[GIN\] [\d/]+ - [\d:]+ \| 200 \|.{1,80}\| POST ", "info", _request, _NOTE, -3,
           often=True, scan=r"\[GIN\] [\d/]+ - [\d:]+ \| 200 "),
    RecordPattern("frameworks.refused", r"\"POST /\S{1,200} HTTP/\d(?:\.\d)?\" (?P<status>50[0234])\b", "error",
           note="The server could not answer a request.", priority=-3, scan=r"HTTP/1\.[01]\" 50[0234]"),
    RecordPattern("frameworks.exit",
           r"(?:Shard|Download) process was signaled to shutdown with signal (?P<signal>\d{1,2})"
           r"(?:\D.{0,400}?\brank=(?P<rank>\d{1,6}))?",
           "fatal", read_signal, "The launcher of the server says which signal ended a shard.", 5,
           scan=r"process was signaled to shutdown with signal \d"),
    RecordPattern("frameworks.exit", r"\bShard (?P<rank>\d{1,6}) failed to start", "error",
           note="The launcher says which shard failed first.", priority=5, scan=r"Shard \d+ failed to start"),
    RecordPattern("frameworks.engine_died", r"\bRank (?P<rank>\d{1,6}) scheduler is dead\b", "error", read_exit_code,
           "The inference server lost one of its processes.", 5, scan=r"Rank \d+ scheduler is dead"),
    RecordPattern("frameworks.error",
           r"(?P<message>Failed to (?:update parameter online|(?:update|load|send|get) weights(?: iterator)?|"
           r"(?:initialize|destroy) custom process group): .{1,300})",
           "error", note="The server could not take new weights from the trainer.", priority=2,
           scan=r"Failed to (?:update parameter online|\w{3,6} weights(?: iterator)?|\w{7,10} custom process group): "),
    RecordPattern("frameworks.transfer",
           r"(?:Prefill|Decode) (?:transfer|bootstrap|handshake) failed for request.{0,40}? (?:\w+\.)*"
           r"rid='?(?P<request>[\w-]{1,80})(?:.{0,160}?KVTransferError\([^)]{0,60}\): (?P<message>.{1,300}))?",
           "error", note="The KV cache of a request did not get from the prefill server to the one that decodes.",
           priority=2, scan=r"(?:Prefill|Decode) (?:transfer|bootstrap|handshake) failed for request"),
)  # fmt: skip
