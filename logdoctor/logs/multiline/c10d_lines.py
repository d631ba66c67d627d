"""Messages of PyTorch's process groups, and the tail of a C++ error.

A prefix in front of the message names the rank.

Sources: PyTorch 1.8 to 2.15, torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, NCCLUtils.cpp, c10/util/Exception.h,
c10/cuda/CUDAException.cpp.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

import regex
from msgspec import Struct, field

from logdoctor.logs.multiline.nccl_lines import message_fields, quoted_warning
from logdoctor.logs.record_pattern import Message, Multiline, MultilineReader
from logdoctor.model import Value
from logdoctor.model.numbers import number_or_text
from logdoctor.pack.regexes import later

GROUP_PREFIX = (
    r"(?:\[(?:PG (?:ID \d+ )?(?:PG GUID )?(?P<pg>[^\s(\]]+) ?(?:\((?P<pg_desc>[^)\n]*)\))? ?)?"
    r"(?:(?<=\(default_pg\) )(?=Rank (?P<by_rank>\d+)))?Rank (?P<group_rank>\d+)\]\s*)?"
)
"""``[Rank R] ``, ``[PG 0 (default_pg) Rank R] ``, ``[PG ID L PG GUID U(desc) Rank R] ``: R is the rank in the group.

In the default group R is also the global rank, so only there the field ``by_rank`` is set."""


RESULTS: Mapping[str, str] = {
    "unhandled cuda error": "ncclUnhandledCudaError",
    "unhandled system error": "ncclSystemError",
    "internal error": "ncclInternalError",
    "invalid argument": "ncclInvalidArgument",
    "invalid usage": "ncclInvalidUsage",
    "remote process exited": "ncclRemoteError",
}
"""Text of ncclGetErrorString -> name of the result (nccl.h)."""

_FRAME = later(r"^\s*frame #\d+: (?P<function>.+?)(?:\(| \+ 0x| \(0x|$)")
_RAISED_FROM = later(r"^\s*Exception raised from (?P<function>\S+) at (?P<file>\S+?):(?P<line>\d+)")
_RESULT = later(r"^\s*(?P<result>nccl(?:\w*Error|Invalid\w+|InProgress|Timeout)): ")
_CUDA_ADVICE = later(
    r"^\s*(?:CUDA kernel errors might|(?:HIP|GPU) kernel errors might|For debugging consider|Compile with `|"
    r"Device-side assert|Search for `|Setting `?TORCH_|This may indicate|This error may)"
)
_OTHER_RECORD = later(r"^\s*(?:terminate called|Traceback|what\(\):|Fatal Python error)|\bNCCL (?:WARN|INFO) ")
"""A line that begins another record, so not the text that an empty ``Last error:`` lacks."""

_MAX_FRAMES = 12
_MAX_BROKEN_LINES = 3
_MAX_CHARS = 4000


class _ErrorTail(Struct):
    """The lines read so far below a C++ error."""

    message: list[str] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)
    fields: dict[str, Value] = field(default_factory=dict)
    taken: list[int] = field(default_factory=list)
    expects_last_error: bool = False
    evidence: int = 0
    """Number of the line with the last error, which says more than the head."""

    def accept(self, line: str) -> bool:
        """Take the line in if it belongs to the error. Return True if it does."""
        line = line[:_MAX_CHARS]
        if match := _FRAME.match(line):
            self.frames.append(match["function"].strip())
            return True
        if match := _RAISED_FROM.match(line):
            return self._keep("", "raised_from", match["function"])
        if match := _RESULT.match(line):
            return self._keep(line, "result", match["result"])
        if self.expects_last_error and not _OTHER_RECORD.search(line):
            self.expects_last_error = False
            return self._keep(line, "last_error", line.strip())
        if line.strip().startswith("Last error:"):
            rest = line.partition("Last error:")[2].strip()
            self.expects_last_error = not rest
            return self._keep(line, "last_error", rest)
        return bool(_CUDA_ADVICE.match(line)) and self._keep(line)

    def _keep(self, line: str, name: str = "", value: str = "") -> bool:
        if line:
            self.message.append(line.strip())
        if value:
            self.fields.setdefault(name, value)
        return True

    def read(self, below: Iterable[Message]) -> None:
        """Take in lines up to the first foreign line. Blank lines are taken only if the error goes on after them."""
        blank: list[int] = []
        for line in below:
            if not line.text.strip() and len(blank) < 2:
                blank.append(line.below)
            elif self.accept(line.text):
                if "last_error" in self.fields and not self.evidence:
                    self.evidence = line.below
                self.taken += [*blank, line.below]
                blank = []
            else:
                return


def read_error(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read a C++ error with the lines below.

    The lines below are NCCL's explanation, its last error, advice, and C++ frames. The text is the message without
    frames. Fields: result (``ncclSystemError`` ...), last_error and the values in it, raised_from, frames (innermost
    first, joined by " > ").
    """
    tail = _ErrorTail()
    tail.read(below)
    text = "\n".join([str(fields.get("text", head.text)), *tail.message])
    extra = dict(tail.fields)
    if "result" not in extra and (results := [name for words, name in RESULTS.items() if words in text]):
        extra["result"] = results[0]
    if tail.frames:
        extra["frames"] = " > ".join(tail.frames[:_MAX_FRAMES])
    extra = {**message_fields(str(extra.get("last_error", text))), **extra}
    extra = {k: v for k, v in extra.items() if k not in fields}
    return Multiline(text, extra, tuple(tail.taken), tail.evidence, quoted_line=quoted_warning(text))


def rejoin_lines(pattern: str, last: str) -> MultilineReader:
    """Return a reader that joins lines broken by a narrow terminal.

    Lines are joined until the field ``last`` of ``pattern`` matches.
    """

    def read(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
        lines, taken = [head.text], list[int]()
        for line in islice(below, 0 if last in fields else _MAX_BROKEN_LINES):
            lines.append(line.text)
            taken.append(line.below)
            for joined in ("".join(lines), " ".join(text.strip() for text in lines)):
                match = regex.search(pattern, joined[:_MAX_CHARS])
                if match and match[last]:
                    values = {name: number_or_text(text) for name, text in match.groupdict().items() if text}
                    return Multiline(joined, values, tuple(taken))
        return Multiline(head.text)

    return read
