"""Reports of PyTorch's process groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.multiline.c10d_lines import read_error
from logdoctor.logs.multiline.lines_below import matching, numbers_of
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.model.numbers import numbers_in
from logdoctor.pack.regexes import later

FILES = (
    r"(?:ProcessGroup\w*|NCCLUtils|TCPStore\w*|FileStore|HashStore|PrefixStore|Store|socket|Utils|reducer|logger|"
    r"FlightRecorder\w*|Work|Backend|comm|init|debug|intra_node_comm|\w*SymmetricMemory\w*|NanCheck|"
    r"ControlPlane|WorkerServer|Functional|TraceUtils)\.(?:cpp|hpp|h|cu)"
)
_OWN_FILE = later(FILES)
_STACK_LINE = later(r"^\s*#\d+ (?P<function>\S+) from (?P<path>\S+?)(?::\d+)?\s*$")
_BEHIND = later(
    r"\[(?P<ranks>[\d, ]{1,4000})\] ?(?:finished collective #\d+, but didn't join|joined but didn't finish)"
)
_REPORT_LINE = later(
    r"^\s+(?:- )?(?:\[[\d, ]+\]|Timeout at collective|To our best knowledge|Snapshot of ranks|#\d+ (?:started|"
    r"finished)|ranks? )|^\s*-"
)


def read_stack(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the Python stack of a failed collective, innermost frame first."""
    stack = [*matching(below, _STACK_LINE)]
    frames = " > ".join(f"{hit['path']}:{hit['function']}" for _, hit in stack[:12])
    return Multiline(head.text, {"frames": frames} if frames else {}, numbers_of(line for line, _ in stack))


def read_desync(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the report of TORCH_NCCL_DESYNC_DEBUG: the ranks behind, and the number of states."""
    report = [line for line, _ in matching(below, _REPORT_LINE)]
    lines = [line.text.strip() for line in (head, *report)]
    text = "\n".join(lines)
    behind = [rank for hit in _BEHIND.finditer(text) for rank in numbers_in(hit["ranks"])]
    more: dict[str, Value] = {"states": sum(" started " in line or " finished " in line for line in lines)}
    if behind:
        more["ranks"] = tuple(dict.fromkeys(behind))
    return Multiline(text, more, numbers_of(report))


def read_own(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read a message that a C++ file of c10d logged as an error.

    The file stands in the stripped prefix (``source.logger``).
    """
    source = head.source
    if source.level not in ("error", "fatal") or not _OWN_FILE.match((source.logger or "").rpartition("/")[2]):
        return None
    return read_error(head, fields, below)
