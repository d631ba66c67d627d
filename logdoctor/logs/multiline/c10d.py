"""Reports of PyTorch's process groups and its store, and DDP's advice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex

from logdoctor.logs.error_numbers import errno_texts
from logdoctor.logs.multiline.c10d_lines import read_error
from logdoctor.logs.multiline.lines_below import joined, matching, numbers_of
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.model.numbers import number_fields, numbers_in
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
_ORIGINAL_EXCEPTION = later(r"\s*(?:Original exception|Rank \d+ |\[\S*gloo/)")
_ADVICE = later(
    r"\s*(?:Parameter|making sure all|If you already|find_unused|In addition|Since|Please include|the loss|"
    r"function\.|the outputs?|You can|This error|by\b|return value)"
)
_WITHOUT_GRADIENT = later(r"did not receive grad for rank (?P<rank>\d+)")
_PARAMETERS = later(r"did not receive grad for rank \d+: (?P<parameters>[^\n]+)")


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


def with_ranks(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Return the missing ranks as numbers, and the exception if it follows."""
    listed = numbers_in(str(fields.get("missing", "")))
    more: dict[str, Value] = {"ranks": tuple(listed[:4096])} if listed else {}
    lines = [line for line, _ in matching(below, _ORIGINAL_EXCEPTION, 5)]
    return Multiline(joined(head, lines), more, numbers_of(lines))


def with_advice(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the lines of DDP's explanation. The last line lists the parameters."""
    lines = [line for line, _ in matching(below, _ADVICE)]
    text = joined(head, lines)
    more: dict[str, Value] = {}
    if named := _PARAMETERS.search(text):
        more["parameters"] = named["parameters"].strip()[:500]
    if without_gradient := _WITHOUT_GRADIENT.search(text):
        more |= number_fields(without_gradient.groupdict())
    return Multiline(text, more, numbers_of(lines))


def with_peer(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Join host and port to the field ``peer`` and make errno positive. Lines of a C++ stack below are read as well."""
    multiline = read_error(head, fields, below)
    more = {name: value for name, value in multiline.fields.items() if name not in ("peer", "errno")}
    if "store_host" in fields and "port" in fields:
        host = str(fields["store_host"])
        more["peer"] = f"[{host}]:{fields['port']}" if ":" in host else f"{host}:{fields['port']}"
    if "uv_port" in fields:
        more["port"] = fields["uv_port"]
    errno = fields.get("errno", fields.get("code")) or errno_texts().get(str(fields.get("error", "")).strip())
    if isinstance(errno, int):
        more["errno"] = abs(errno)
    if "keys" in fields:
        more["keys"] = tuple(regex.split(r",\s*", str(fields["keys"]).strip())[:64])
    return Multiline(multiline.text, more, multiline.taken)
