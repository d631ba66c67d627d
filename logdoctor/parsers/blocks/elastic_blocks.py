"""Reads torchrun's records of several lines: the summary of failures and the result of a rendezvous.

Sources: `torch/distributed/elastic/multiprocessing/errors/__init__.py` (1.9: stars, ``msg``; 1.10 to 2.15:
``traceback``), `torch/distributed/elastic/agent/server/api.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from msgspec import Struct, field

from logdoctor.model import Value
from logdoctor.parsers.blocks.python_exceptions import EXCEPTION
from logdoctor.parsers.blocks.unknown_prefixes import bears, behind
from logdoctor.parsers.record import Bare, Block
from logdoctor.parsers.windows_codes import exit_code_elsewhere
from logdoctor.regexes import compiled, later

MAX_TRACEBACK = 2_000
"""So many characters of the root's traceback are kept."""

_BORDER = later(r"^\s*[=*-]{10,}\s*$")
_ENTRY = later(r"^\s*\[(\d+)\]:\s*$")
_KEY = later(r"^\s*(?P<key>time|host|rank|exitcode|error_file|traceback|msg)\s*: ?(?P<value>.*)")
_ROOT = later(r"^\s*Root Cause(?: \(first observed failure\))?:")
_OTHERS = later(r"^\s*(?:Other )?Failures:")
_RANK = later(r"(-?\d{1,9}) \(local_rank: (-?\d{1,9})\)")
_EXIT = later(r"(-?\d{1,10})\s+\(pid: (\d{1,9})\)")
_SIGNAL = later(r"Signal (\d{1,3}) \(\w+\) received by PID")
_EXCEPTION = later(EXCEPTION)
_RESULT = later(r"^\s+(?P<key>\w+)=(?P<value>.*\S)")
_CRASHED = later(r"-(?:4|7|8|9|11)\s")
"""Ended by a signal that torchrun does not begin with when it ends its workers."""
MAX_GAP = 3
_RULED = later(r"^(?P<prefix>.{0,200}?)[=*-]{10,}\s*$")


class Summary(Struct):
    """The entries read so far; ``root`` is the first observed failure."""

    root: dict[str, str] = field(default_factory=dict)
    ranks: list[int] = field(default_factory=list)
    entry: dict[str, str] = field(default_factory=dict)
    in_root: bool = False
    key: str = ""
    evidence: int = 0
    crashed: dict[str, str] = field(default_factory=dict)
    """The first other one that a signal ended, not torchrun's own."""
    crashed_at: int = 0
    count: int = 0
    taken: list[int] = field(default_factory=list)

    def start(self) -> None:
        """Begin an entry."""
        self.entry, self.key = {}, ""
        self.count += 1
        if self.in_root and not self.root:
            self.root = self.entry

    def add(self, key: str, value: str, below: int) -> None:
        """Note one ``key : value`` line of the entry."""
        self.entry[key] = value.strip()
        self.key = key
        found = _RANK.match(value) if key == "rank" else None
        if found:
            self.ranks.append(int(found[1]))
        if key == "exitcode" and self.entry is self.root:
            self.evidence = below
        elif key == "exitcode" and not self.crashed and _CRASHED.match(self.entry[key]):
            self.crashed, self.crashed_at = self.entry, below

    def first(self) -> tuple[dict[str, str], int]:
        """Who ended first, and which line tells how.

        torchrun finds the workers that ended between two looks and calls any of them the root where their times are
        alike.  One that was killed does not follow from one that left with a mere exit code; the other way round it
        does, for who loses a peer leaves so.
        """
        left = not self.root.get("exitcode", "-").startswith("-")
        silent = left and "To enable traceback see" in self.root.get("traceback", "")
        if silent and self.crashed and self.crashed.get("time") == self.root.get("time"):
            return self.crashed, self.crashed_at
        return self.root or self.entry, self.evidence

    def go_on(self, text: str) -> None:
        """Add a further line of a traceback."""
        kept = self.entry.get(self.key, "")
        if len(kept) < MAX_TRACEBACK:
            self.entry[self.key] = f"{kept}\n{text.rstrip()}"


def read_summary(head: Bare, _fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """Read the summary from its line ``NAME FAILED`` or ``Root Cause``; None if no entry follows."""
    summary = Summary(in_root=bool(_ROOT.match(head.text)))
    gap = 0
    for bare in _without_prefix(head, below):
        if _read_line(summary, bare):
            summary.taken.append(bare.below)
            gap = 0
        elif _BORDER.match(bare.text):
            summary.taken.append(bare.below)
            if summary.root.get("exitcode") and "=" in bare.text:
                break
        elif bare.text.strip():
            gap += 1
            if gap > MAX_GAP:
                break
    return _summary(head, summary) if summary.root or summary.count else None


def _without_prefix(head: Bare, below: Iterator[Bare]) -> Iterator[Bare]:
    """The lines without what a collector that no wrapper knows put before the ruler and before the head alike."""
    first = next(below, None)
    if first is None:
        return
    ruled = _RULED.match(first.text)
    prefix = ruled["prefix"] if ruled else ""
    alike = bool(prefix.strip()) and bears(head, prefix)
    for bare in chain([first], below):
        yield behind(bare, prefix) if alike and bears(bare, prefix) else bare


def read_entry(head: Bare, _fields: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """Read one entry of a summary from its line ``rank : N (local_rank: N)``, where the summary's head is cut off."""
    entry = Summary(in_root=True)
    entry.start()
    for bare in (head, *below):
        key = _KEY.match(bare.text)
        if key:
            entry.add(key["key"], key["value"], bare.below)
        elif entry.key in ("traceback", "msg") and bare.text.startswith("    "):
            entry.go_on(bare.text)
        else:
            break
        if bare is not head:
            entry.taken.append(bare.below)
    return _summary(head, entry)


def _read_line(summary: Summary, bare: Bare) -> bool:
    """Take one line in; False if it is no part of the summary."""
    key = _KEY.match(bare.text)
    if _ROOT.match(bare.text):
        summary.in_root = True
    elif _ENTRY.match(bare.text):
        summary.start()
    elif key and summary.count:
        summary.add(key["key"], key["value"], bare.below)
    elif summary.key in ("traceback", "msg") and bare.text.startswith("  "):
        summary.go_on(bare.text)
    else:
        return "<NO_OTHER_FAILURES>" in bare.text or bool(_OTHERS.match(bare.text))
    return True


def _summary(head: Bare, summary: Summary) -> Block:
    root, evidence = summary.first()
    lines = [head.text.strip(), *(f"{key}: {value}" for key, value in root.items())]
    fields = root_fields(root) | {"count": summary.count}
    others = tuple(rank for rank in summary.ranks if rank != fields.get("rank"))
    if others and summary.root:
        fields["other_ranks"] = others
    return Block("\n".join(lines), fields, tuple(summary.taken), evidence)


def root_fields(root: Mapping[str, str]) -> dict[str, Value]:
    """The fields of one entry, by their standard names."""
    fields: dict[str, Value] = {}
    rank, ended = _RANK.match(root.get("rank", "")), _EXIT.match(root.get("exitcode", ""))
    if rank:
        fields |= {"rank": int(rank[1]), "local_rank": int(rank[2])}
    if ended:
        fields |= {"exit_code": exit_code_elsewhere(int(ended[1])), "pid": int(ended[2])}
    trace = root.get("traceback") or root.get("msg") or ""
    number = _SIGNAL.search(trace)
    if number or (ended and ended[1].startswith("-")):
        fields["signal"] = int(number[1]) if number else -int(ended[1]) if ended else 0
    fields |= {name: root[key] for key, name in (("host", "host"), ("time", "when")) if root.get(key)}
    if trace and "To enable traceback see" not in trace:
        fields["root_traceback"] = trace
        fields |= _exception(trace)
    return fields


def _exception(trace: str) -> dict[str, Value]:
    for line in reversed(trace.splitlines()):
        found = _EXCEPTION.match(line.strip())
        if found:
            return {k: found[k] for k in ("exception", "message") if found[k]}
    return {}


def read_result(head: Bare, _fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """Read the ``key=value`` lines under ``Rendezvous complete`` or the launch configuration."""
    fields: dict[str, Value] = {}
    taken = []
    for bare in below:
        found = _RESULT.match(bare.text) or compiled(r"^\s+(?P<key>\w+)\s+: (?P<value>.*\S)").match(bare.text)
        if found is None:
            break
        taken.append(bare.below)
        fields |= _result(found["key"], found["value"])
    return Block(head.text, fields, tuple(taken)) if taken else None


def _result(key: str, value: str) -> dict[str, Value]:
    numbers = compiled(r"\d{1,9}").findall(value)
    if key == "global_ranks":
        return {"ranks": tuple(int(n) for n in numbers)}
    if key in ("global_world_sizes", "role_world_sizes"):
        return {"world_size": int(numbers[0])} if numbers and key.startswith("global") else {}
    names = {"group_rank": "node_rank", "group_world_size": "nodes"}
    kept = ("restart_count", "master_port", "min_nodes", "max_nodes", "nproc_per_node", "max_restarts", *names)
    if key in kept and compiled(r"\d{1,9}").fullmatch(value):
        return {names.get(key, key): int(value)}
    return {key: value} if key in ("master_addr", "rdzv_endpoint", "rdzv_backend", "run_id", "entrypoint") else {}
