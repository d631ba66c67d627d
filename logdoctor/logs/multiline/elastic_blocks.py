"""Torchrun's summary of failures and the result of its rendezvous.

Sources: `torch/distributed/elastic/multiprocessing/errors/__init__.py` (1.9: stars, ``msg``; 1.10 to 2.15:
``traceback``), `torch/distributed/elastic/agent/server/api.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from msgspec import Struct, field

from logdoctor.logs.multiline.lines_below import matching, numbers_of
from logdoctor.logs.multiline.python.exceptions import EXCEPTION
from logdoctor.logs.multiline.unknown_prefixes import has_prefix, remove_prefix
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.logs.windows_codes import posix_exit_code
from logdoctor.model import Value
from logdoctor.model.numbers import number, number_fields, numbers_in
from logdoctor.pack.regexes import later

MAX_TRACEBACK = 2_000
"""Characters of the root's traceback that are kept."""

_BORDER = later(r"^\s*[=*-]{10,}\s*$")
_ENTRY = later(r"^\s*\[(\d+)\]:\s*$")
_KEY = later(r"^\s*(?P<key>time|host|rank|exitcode|error_file|traceback|msg)\s*: ?(?P<value>.*)")
_ROOT = later(r"^\s*Root Cause(?: \(first observed failure\))?:")
_OTHER_FAILURES = later(r"^\s*(?:Other )?Failures:")
_RANK = later(r"(-?\d{1,9}) \(local_rank: (-?\d{1,9})\)")
_EXIT = later(r"(-?\d{1,10})\s+\(pid: (\d{1,9})\)")
_SIGNAL = later(r"Signal (\d{1,3}) \(\w+\) received by PID")
_EXCEPTION = later(EXCEPTION)
_RESULT = later(r"^\s+(?P<key>\w+)(?:=|\s+: )(?P<value>.*\S)")
_CRASHED = later(r"-(?:4|7|8|9|11)\s")
"""Signals of a crash or a kill. torchrun itself ends its workers with SIGTERM first."""
MAX_GAP = 3
_RULER = later(r"^(?P<prefix>.{0,200}?)[=*-]{10,}\s*$")


class Summary(Struct):
    """Entries of a summary read so far. ``root`` is the first observed failure."""

    root: dict[str, str] = field(default_factory=dict)
    ranks: list[int] = field(default_factory=list)
    entries: list[dict[str, str]] = field(default_factory=list)
    entry: dict[str, str] = field(default_factory=dict)
    in_root: bool = False
    key: str = ""
    evidence: int = 0
    crashed: dict[str, str] = field(default_factory=dict)
    """The first entry beside the root that ended by a signal of `_CRASHED`."""
    crashed_at: int = 0
    count: int = 0
    taken: list[int] = field(default_factory=list)

    def start(self) -> None:
        self.entry, self.key = {}, ""
        self.entries.append(self.entry)
        self.count += 1
        if self.in_root and not self.root:
            self.root = self.entry

    def add(self, key: str, value: str, below: int) -> None:
        """Add a line ``key : value`` to the entry."""
        self.entry[key] = value.strip()
        self.key = key
        match = _RANK.match(value) if key == "rank" else None
        if match:
            self.ranks += number_fields({"rank": match[1]}).values()
        if key == "exitcode" and self.entry is self.root:
            self.evidence = below
        elif key == "exitcode" and not self.crashed and _CRASHED.match(self.entry[key]):
            self.crashed, self.crashed_at = self.entry, below

    def first_failure(self) -> tuple[dict[str, str], int]:
        """Return the entry of the first failure, and its line's number.

        The line tells how the worker ended. torchrun polls its workers. If several ended between two polls, their times
        are equal, and torchrun names any of them as root cause. A worker that loses a peer exits with an exit code and
        no traceback. So if the root did that, a worker killed by a signal at the same time ended first.
        """
        exited = not self.root.get("exitcode", "-").startswith("-")
        untraced = exited and "To enable traceback see" in self.root.get("traceback", "")
        if untraced and self.crashed and self.crashed.get("time") == self.root.get("time"):
            return self.crashed, self.crashed_at
        return self.root or self.entry, self.evidence

    def add_line(self, text: str) -> None:
        value = self.entry.get(self.key, "")
        if len(value) < MAX_TRACEBACK:
            self.entry[self.key] = f"{value}\n{text.rstrip()}"


def read_summary(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the summary from its line ``NAME FAILED`` or ``Root Cause``. Return None if no entry follows."""
    summary = Summary(in_root=bool(_ROOT.match(head.text)))
    gap = 0
    for line in _without_prefix(head, below):
        if _read_line(summary, line):
            summary.taken.append(line.below)
            gap = 0
        elif _BORDER.match(line.text):
            summary.taken.append(line.below)
            if summary.root.get("exitcode") and "=" in line.text:
                break
        elif line.text.strip():
            gap += 1
            if gap > MAX_GAP:
                break
    return _summary(head, summary) if summary.root or summary.count else None


def _without_prefix(head: Message, below: Iterator[Message]) -> Iterator[Message]:
    """Yield the lines without the prefix of an unknown collector.

    The prefix is removed only if the ruler and the head both carry it.
    """
    first = next(below, None)
    if first is None:
        return
    ruler = _RULER.match(first.text)
    prefix = ruler["prefix"] if ruler else ""
    prefixed = bool(prefix.strip()) and has_prefix(head, prefix)
    for line in chain([first], below):
        yield remove_prefix(line, prefix) if prefixed and has_prefix(line, prefix) else line


def read_entry(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read an entry from its line ``rank : N (local_rank: N)``. The summary's head is cut off."""
    entry = Summary(in_root=True)
    entry.start()
    for line in (head, *below):
        key = _KEY.match(line.text)
        if key:
            entry.add(key["key"], key["value"], line.below)
        elif entry.key in ("traceback", "msg") and line.text.startswith("    "):
            entry.add_line(line.text)
        else:
            break
        if line is not head:
            entry.taken.append(line.below)
    return _summary(head, entry)


def _read_line(summary: Summary, line: Message) -> bool:
    """Take a line in. Return False if the line is no part of the summary."""
    key = _KEY.match(line.text)
    if _ROOT.match(line.text):
        summary.in_root = True
    elif _ENTRY.match(line.text):
        summary.start()
    elif key and summary.count:
        summary.add(key["key"], key["value"], line.below)
    elif summary.key in ("traceback", "msg") and line.text.startswith("  "):
        summary.add_line(line.text)
    else:
        return "<NO_OTHER_FAILURES>" in line.text or bool(_OTHER_FAILURES.match(line.text))
    return True


def _summary(head: Message, summary: Summary) -> Multiline:
    root, evidence = summary.first_failure()
    lines = [head.text.strip(), *(f"{key}: {value}" for key, value in root.items())]
    fields = root_fields(root) | {"count": summary.count}
    others = tuple(rank for rank in summary.ranks if rank != fields.get("rank"))
    if others and summary.root:
        fields["other_ranks"] = others
    alike = [entry for entry in summary.entries if _exit_code(entry) == fields.get("exit_code", "")]
    if len(alike) > 1:
        matches = (_RANK.match(entry.get("rank", "")) for entry in alike)
        ranks = (number(match[1]) for match in matches if match)
        fields["alike_ranks"] = tuple(sorted(rank for rank in ranks if rank is not None and rank >= 0))
    return Multiline("\n".join(lines), fields, tuple(summary.taken), evidence)


def root_fields(root: Mapping[str, str]) -> dict[str, Value]:
    """Return an entry's values under their standard names.

    ``exitcode: -9 (pid: 71)`` gives ``signal: 9``, ``exit_code: -9`` and ``pid: 71``.
    """
    fields: dict[str, Value] = {}
    rank_match, exit_match = _RANK.match(root.get("rank", "")), _EXIT.match(root.get("exitcode", ""))
    if rank_match:
        fields |= number_fields({"rank": rank_match[1], "local_rank": rank_match[2]})
    if exit_match:
        fields |= number_fields({"pid": exit_match[2]})
    trace = root.get("traceback") or root.get("msg") or ""
    signal_match = _SIGNAL.search(trace)
    code = _exit_code(root)
    if code is not None:
        fields["exit_code"] = code
    if signal_match:
        fields |= number_fields({"signal": signal_match[1]})
    elif code is not None and code < 0:
        fields["signal"] = -code
    fields |= {name: root[key] for key, name in (("host", "host"), ("time", "when")) if root.get(key)}
    if trace and "To enable traceback see" not in trace:
        fields["root_traceback"] = trace
        fields |= _exception(trace)
    return fields


def _exit_code(entry: Mapping[str, str]) -> int | None:
    match = _EXIT.match(entry.get("exitcode", ""))
    code = number(match[1] if match else None)
    return None if code is None else posix_exit_code(code)


def _exception(trace: str) -> dict[str, Value]:
    for text in reversed(trace.splitlines()):
        match = _EXCEPTION.match(text.strip())
        if match:
            return {k: match[k] for k in ("exception", "message") if match[k]}
    return {}


def read_result(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the ``key=value`` lines under ``Rendezvous complete`` or the launch configuration."""
    results, fields = [*matching(below, _RESULT)], dict[str, Value]()
    for _, match in results:
        fields |= _result(match["key"], match["value"])
    return Multiline(head.text, fields, numbers_of(line for line, _ in results)) if results else None


def _result(key: str, value: str) -> dict[str, Value]:
    numbers = numbers_in(value)
    if key == "global_ranks":
        return {"ranks": tuple(numbers)}
    if key in ("global_world_sizes", "role_world_sizes"):
        return {"world_size": numbers[0]} if numbers and key.startswith("global") else {}
    names = {"group_rank": "node_rank", "group_world_size": "nodes"}
    number_keys = ("restart_count", "master_port", "min_nodes", "max_nodes", "nproc_per_node", "max_restarts", *names)
    if key in number_keys:
        return {**number_fields({names.get(key, key): value})}
    return {key: value} if key in ("master_addr", "rdzv_endpoint", "rdzv_backend", "run_id", "entrypoint") else {}
