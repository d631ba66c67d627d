r"""Lines of torch.compile about kernels that it tries and drops.

Kinds: ``torch.autotune``    info; a candidate kernel failed while the compiler compared several; message
       ``torch.reference``   info; the compiler's accuracy check saw NaN in its own reference
       ``torch.enforce``     error; a condition in PyTorch's C++ code does not hold: file, line, message

Sources: PyTorch 2.1 to 2.9, torch/_inductor/select_algorithm.py, torch/_inductor/autotune_process.py,
torch/_dynamo/utils.py; c10/util/Exception.h.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.record_pattern import Message, Multiline, RecordPattern
from logdoctor.model import Value

_LONGEST_TRIAL = 40
"""Lines between the head and ``Ignoring this choice.``: a message of Triton, at most with a piece of source."""


def _read_trial(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Take all lines until ``Ignoring this choice``.

    Without that line take only the head.
    """
    taken: list[int] = []
    for message in below:
        taken.append(message.below)
        if "Ignoring this choice" in message.text:
            return Multiline(head.text, {}, tuple(taken))
        if len(taken) >= _LONGEST_TRIAL:
            break
    return Multiline(head.text)


RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "torch.autotune",
        r"(?P<message>(?:Runtime error|CUDA compilation error|Compilation error|out of (?:memory|resource)s?) during "
        r"autotuning|Exception [^\n]{0,300} for benchmark choice )",
        "info",
        _read_trial,
        "torch.compile tried a kernel that does not work here and takes another one.",
        8,
        scan=r"(?:error|resources?|memory) during autotuning|for benchmark choice ",
    ),
    RecordPattern(
        "torch.reference",
        "Found nan in reference. Consider running in higher precision",
        "info",
        note="A check of torch.compile saw NaN in its reference result.",
        priority=8,
        scan="Found nan in reference. Consider running in higher",
    ),
    RecordPattern(
        "torch.enforce",
        r"^\[enforce fail at (?P<file>[\w/.-]{1,300}):(?P<line>\d+)\] ?(?P<message>[^\n]{0,300})",
        "error",
        note="A condition in PyTorch's C++ code does not hold.",
        priority=-1,
        scan=r"\[enforce fail at ",
    ),
)
