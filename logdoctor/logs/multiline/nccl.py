"""NCCL's warnings that do no harm, failed starts, and reports of RAS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from logdoctor.logs.multiline.lines_below import matching, numbers_of
from logdoctor.logs.multiline.nccl_lines import format_bus_id, read_message
from logdoctor.logs.record_pattern import Message, Multiline, MultilineReader
from logdoctor.model import Value
from logdoctor.model.numbers import number, number_fields, numbers_in
from logdoctor.pack.regexes import later

_RAS_RANK = later(r"\s+Rank (?P<rank>\d{1,7})\b.{0,200}? on node (?P<host>\S{1,255})")
_RAS_COUNT = later(
    r"\s+(?:\d{1,7} ranks have|Rank \d{1,7} has) "
    r"(?:launched up to operation (?P<done>\d{1,18})|not launched any operations)"
)
_RAS_OP = later(r"\s+Communicator ranks have different (?P<op>\w+) operation counts")
_RAS_PROCESS = later(
    r"\s*Process (?P<pid>\d{1,10}) on node (?P<host>\S{1,255}) managing GPUs? (?P<gpu>\d{1,3}(?:[,-]\d{1,3}){0,15})"
)
_RAS_MISSING = later(r"\s+The missing ranks?: (?P<ranks>\d{1,7}(?:[, ]{1,2}\d{1,7}){0,255})")
_RAS_PID = later(r" managed by process (?P<pid>\d{1,10}) on node ")
_INDENTED = later(r"  .*\S")
_UNCAUGHT = ("group.cc", "group.cpp", "group.cu", "p2p.cc", "p2p.cpp", "p2p.cu")
"""Sources that pass an error up only to those who give up over it; others try a second way (CollNet, a plugin)."""
_FAILURES = range(1, 7)
_MAX_SEARCHED = 400
"""Characters of a message that are searched for advice."""


def harmless(words: str) -> MultilineReader:
    """Return a reader of a warning after which NCCL goes on: the start of its message holds one of ``words``.

    The reader returns None for all other warnings, which the record ``nccl.warn`` reads.
    """
    pattern = later(words)

    def read(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
        start = str(fields.get("text", ""))[:_MAX_SEARCHED]
        return read_message(head, fields, below) if pattern.search(start) else None

    return read


def failed_start(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Set level error if nothing caught the error.

    Nothing caught it if the thread that makes a communicator, or the group of the caller, ends with it.
    """
    text, logger = str(fields.get("text", head.text)), str(fields.get("file", "")).rsplit("/", 1)[-1]
    uncaught = fields.get("thread") == "Async thread" or (logger in _UNCAUGHT and fields.get("result") in _FAILURES)
    return Multiline(text, level="error" if uncaught else None)


def sharing_ranks(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Join the two ranks that share a GPU."""
    ranks = tuple(number_fields({name: str(fields.get(name, "")) for name in ("first", "second")}).values())
    return Multiline(head.text, {"group_ranks": ranks, "bus_id": format_bus_id(fields.get("bus_id", ""))})


def ras_group(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the indented lines below, and the ranks that differ from the most.

    A rank differs if it did fewer operations than the others. Without counts all listed ranks differ. RAS lists the
    fewer ranks, so those behind may not be listed, but those ahead. A MISMATCH is a kind of its own, because RAS says
    it of a job that runs too.
    """
    more, counts, lines = dict[str, Value](), list[int](), [line for line, _ in matching(below, _INDENTED)]
    count, listed, pids = -1, list[tuple[int, int, str]](), list[int]()
    for message in lines:
        if hit := _RAS_OP.match(message.text):
            more["op"] = hit["op"]
        if hit := _RAS_COUNT.match(message.text):
            count = number(hit["done"]) or 0
            counts.append(count)
        if hit := _RAS_RANK.match(message.text):
            listed += [(count, rank, hit["host"]) for rank in numbers_in(hit["rank"])]
            pids += numbers_in(pid["pid"]) if (pid := _RAS_PID.search(message.text)) else []
        if hit := _RAS_MISSING.match(message.text):
            more["missing"] = tuple(numbers_in(hit["ranks"]))
    most = max(counts, default=-1)
    behind = [(rank, host) for done, rank, host in listed if done < most or most < 0]
    ahead = [(rank, host) for done, rank, host in listed if done == most >= 0]
    if len({*counts}) > 1:
        more |= {"fewest": min(counts), "most": most}
    for name, members in (("odd", behind), ("ahead", ahead)):
        if members:
            more[name] = tuple(rank for rank, _ in members)
            more[f"{name}_hosts"] = tuple(dict.fromkeys(host for _, host in members))
    if len(pids) == len(behind):
        more["odd_pids"] = tuple(pids)
    if fields.get("problem") == "MISMATCH":
        return Multiline(_text(head, lines), more, numbers_of(lines), level="info", kind="nccl.ras_spread")
    return Multiline(_text(head, lines), more, numbers_of(lines))


def ras_dead(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read processes that do not answer, from the lines below: odd_hosts, pids, gpus."""
    processes = [*matching(below, _RAS_PROCESS)]
    lines, hits = [line for line, _ in processes], [hit for _, hit in processes]
    more: dict[str, Value] = {
        "odd_hosts": tuple(dict.fromkeys(hit["host"] for hit in hits)),
        "pids": tuple(numbers_in(" ".join(hit["pid"] for hit in hits))),
        "gpus": tuple(hit["gpu"] for hit in hits),
    }
    return Multiline(_text(head, lines), more if hits else {}, numbers_of(lines))


def _text(head: Message, lines: Iterable[Message]) -> str:
    return "\n".join([head.text, *(line.text.strip() for line in lines)])
