"""What PyTorch's process groups print around and below a message: who speaks, and the tail of a C++ error.

Facts from PyTorch 1.8 to 2.15: torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, NCCLUtils.cpp, c10/util/Exception.h,
c10/cuda/CUDAException.cpp.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

import regex
from msgspec import Struct, field

from logdoctor.model import Level, Value
from logdoctor.parsers.blocks.nccl_lines import message_fields, number, passed_on
from logdoctor.parsers.record import Bare, Block, BlockReader, Record
from logdoctor.regexes import later

WHO = (
    r"(?:\[(?:PG (?:ID \d+ )?(?:PG GUID )?(?P<pg>[^\s(\]]+) ?(?:\((?P<pg_desc>[^)\n]*)\))? ?)?"
    r"(?:(?<=\(default_pg\) )(?=Rank (?P<by_rank>\d+)))?Rank (?P<group_rank>\d+)\]\s*)?"
)
"""``[Rank R] ``, ``[PG 0 (default_pg) Rank R] ``, ``[PG ID L PG GUID U(desc) Rank R] ``: R is the rank in the group.

Only in the default group it is the global rank, which is then also ``by_rank``."""

WORK = (
    r"WorkNCCL\((?:SeqNum=(?P<seq>\d+), )?OpType=(?P<op>\w+)(?:, TensorShape=\[(?P<shape>[^\]\n]*)\])?"
    r"(?:, NumelIn=(?P<numel_in>\d+), NumelOut=(?P<numel_out>\d+))?(?:, Timeout\(ms\)=(?P<timeout_ms>\d+))?"
)
"""``WorkNCCL(...)`` of 1.8 to 2.15, without its closing parenthesis (a cut line may lack it)."""

RESULTS: Mapping[str, str] = {
    "unhandled cuda error": "ncclUnhandledCudaError",
    "unhandled system error": "ncclSystemError",
    "internal error": "ncclInternalError",
    "invalid argument": "ncclInvalidArgument",
    "invalid usage": "ncclInvalidUsage",
    "remote process exited": "ncclRemoteError",
}
"""ncclGetErrorString and the name of the result (nccl.h)."""

_FRAME = later(r"^\s*frame #\d+: (?P<function>.+?)(?:\(| \+ 0x| \(0x|$)")
_RAISED = later(r"^\s*Exception raised from (?P<function>\S+) at (?P<file>\S+?):(?P<line>\d+)")
_RESULT = later(r"^\s*(?P<result>nccl(?:\w*Error|Invalid\w+|InProgress|Timeout)): ")
_CUDA_ADVICE = later(
    r"^\s*(?:CUDA kernel errors might|(?:HIP|GPU) kernel errors might|For debugging consider|Compile with `|"
    r"Device-side assert|Search for `|Setting `?TORCH_|This may indicate|This error may)"
)
_FOREIGN = later(r"^\s*(?:terminate called|Traceback|what\(\):|Fatal Python error)|\bNCCL (?:WARN|INFO) ")
"""Not the text of an empty ``Last error:``."""

_MAX_FRAMES = 12
_MAX_BROKEN = 3
_LONGEST = 4000


class _Tail(Struct):
    """What has been read below a C++ error so far."""

    message: list[str] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)
    fields: dict[str, Value] = field(default_factory=dict)
    taken: list[int] = field(default_factory=list)
    awaits_last_error: bool = False
    quote: int = 0
    """The line of the last error: it says more than the head."""

    def accept(self, line: str) -> bool:
        """Take the line in if it belongs to the error."""
        line = line[:_LONGEST]
        if hit := _FRAME.match(line):
            self.frames.append(hit["function"].strip())
            return True
        if hit := _RAISED.match(line):
            return self._keep("", "raised_from", hit["function"])
        if hit := _RESULT.match(line):
            return self._keep(line, "result", hit["result"])
        if self.awaits_last_error and not _FOREIGN.search(line):
            self.awaits_last_error = False
            return self._keep(line, "last_error", line.strip())
        if line.strip().startswith("Last error:"):
            rest = line.partition("Last error:")[2].strip()
            self.awaits_last_error = not rest
            return self._keep(line, "last_error", rest)
        return bool(_CUDA_ADVICE.match(line)) and self._keep(line)

    def _keep(self, line: str, name: str = "", value: str = "") -> bool:
        if line:
            self.message.append(line.strip())
        if value:
            self.fields.setdefault(name, value)
        return True

    def read(self, below: Iterable[Bare]) -> None:
        """Take in lines until one does not belong; blank lines only if the error goes on after them."""
        blank: list[int] = []
        for bare in below:
            if not bare.text.strip() and len(blank) < 2:
                blank.append(bare.below)
            elif self.accept(bare.text):
                if "last_error" in self.fields and not self.quote:
                    self.quote = bare.below
                self.taken += [*blank, bare.below]
                blank = []
            else:
                return


def read_error(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """An error of C++ with what stands below it: NCCL's explanation and last error, advice, the C++ frames.

    The text is the message without frames.  Fields: result (``ncclSystemError`` ...), last_error and what it names,
    raised_from, frames (innermost first, joined by " > ").
    """
    tail = _Tail()
    tail.read(below)
    text = "\n".join([str(fields.get("text", head.text)), *tail.message])
    more = dict(tail.fields)
    if "result" not in more and (named := [name for words, name in RESULTS.items() if words in text]):
        more["result"] = named[0]
    if tail.frames:
        more["frames"] = " > ".join(tail.frames[:_MAX_FRAMES])
    more = {**message_fields(str(more.get("last_error", text))), **more}
    more = {k: v for k, v in more.items() if k not in fields}
    return Block(text, more, tuple(tail.taken), tail.quote, passes_on=passed_on(text))


def rejoin(pattern: str, last: str) -> BlockReader:
    """A reader for messages that a narrow terminal broke: lines are joined on until the field ``last`` is found."""

    def read(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block:
        lines, taken = [head.text], list[int]()
        for bare in islice(below, 0 if last in fields else _MAX_BROKEN):
            lines.append(bare.text)
            taken.append(bare.below)
            for whole in ("".join(lines), " ".join(line.strip() for line in lines)):
                hit = regex.search(pattern, whole[:_LONGEST])
                if hit and hit[last]:
                    found = {name: number(text) for name, text in hit.groupdict().items() if text}
                    return Block(whole, found, tuple(taken))
        return Block(head.text)

    return read


def said(
    kind: str,
    message: str,
    level: Level | None,
    note: str,
    *,
    scan: str | None = None,
    priority: int = 3,
    block: BlockReader | None = None,
) -> Record:
    """A record of a process group: `WHO` may stand before the message; the scan looks for the message alone."""
    return Record(kind, WHO + message, level, block, note, priority, scan=scan or message)
