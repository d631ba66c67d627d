"""Horovod's stall warnings: waiting tensors and missing ranks.

Source: `common/stall_inspector.cc`.
Before 0.13: ``Stalled ops: NAME [ready ranks: 2, 0], NAME …`` names the ready ranks.
0.13 to 0.18: ``Stalled ops:NAME [missing ranks: 1, 3]``, or ``NAME [missing ranks: 1]`` on lines of their own.
From 0.19: ``Missing ranks:`` (or ``Stalled ranks:``) and then ``3: [NAME, NAME ...]``, a line for each rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.model.numbers import number_fields, numbers_in
from logdoctor.pack.regexes import later

MAX_OPS = 20
MAX_RANKS = 4_096
MAX_GAP = 2
_OP = later(r"(?P<op>[^\s\[\]:]{1,200}) \[(?P<said>missing|ready)\s+ranks: ?(?P<ranks>[\d, ]{0,4000})")
_RANK = later(r"^\s*(?P<rank>\d{1,7}): \[(?P<ops>[^\]]{0,4000})")
_WORDS = later(r"(?i:missing ranks|stalled ranks|stalled ops)")
_SECONDS = later(r"for more than (\d{1,7}) seconds")


def read_stall(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the warning and the lines below that name tensors and ranks."""
    ranks: set[int] = set()
    ops: dict[str, None] = {}
    sides: set[str] = set()
    taken, gap, evidence = [], 0, 0
    _add_line(head.text, ranks, ops, sides)
    for line in below:
        if _add_line(line.text, ranks, ops, sides):
            evidence = evidence or line.below
        elif not _WORDS.search(line.text):
            gap += 1
            if gap > MAX_GAP:
                break
            continue
        taken.append(line.below)
    fields: dict[str, Value] = {"missing": tuple(sorted(ranks)), "stalled_ops": ", ".join(list(ops)[:MAX_OPS])}
    fields["sides"] = len(sides)
    seconds = _SECONDS.search(head.text)
    if seconds:
        fields |= number_fields({"seconds": seconds[1]})
    text = f"{head.text}\nmissing ranks: {', '.join(map(str, sorted(ranks)[:64]))}; stalled: {fields['stalled_ops']}"
    return Multiline(text[:4_000], {k: v for k, v in fields.items() if v not in ((), "")}, tuple(taken), evidence)


def _add_line(text: str, ranks: set[int], ops: dict[str, None], sides: set[str]) -> bool:
    """Add the ranks and tensors in a line. Return False if the line names none.

    ``sides`` collects the different lists as printed: ranks before 0.19, tensors from 0.19 on.
    """
    is_part = False
    for match in _OP.finditer(text):
        is_part = True
        ops.setdefault(match["op"].rpartition("ops:")[2] or match["op"])
        numbers = set(numbers_in(match["ranks"])[:MAX_RANKS])
        ranks.update(numbers if match["said"] == "missing" else _missing_ranks(numbers))
        sides.add(",".join(map(str, sorted(numbers))))  # before 0.13 the ranks stand in the order of their arrival
    rank_line = _RANK.match(text)
    if rank_line:
        is_part = True
        ranks.update(numbers_in(rank_line["rank"]))
        sides.add(rank_line["ops"])
        for op in rank_line["ops"].split(",")[:MAX_OPS]:
            ops.setdefault(op.strip(" .]"))
    return is_part


def _missing_ranks(ready: set[int]) -> set[int]:
    """Return the ranks below the highest ready rank that are not ready. Higher ranks are unknown."""
    return set(range(min(max(ready, default=0), MAX_RANKS))) - ready
