"""Reads Horovod's stall warnings: which tensors wait, which ranks have not joined (`common/stall_inspector.cc`).

Before 0.13: ``Stalled ops: NAME [ready ranks: 2, 0], NAME …``, who is there in place of who is not; 0.13 to 0.18:
``Stalled ops:NAME [missing ranks: 1, 3]`` or ``NAME [missing ranks: 1]`` on lines of their own; from 0.19: ``Missing
ranks:`` (or ``Stalled ranks:``) and then ``3: [NAME, NAME ...]``, one line a rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.model import Value
from logdoctor.parsers.record import Bare, Block
from logdoctor.regexes import compiled, later

MAX_OPS = 20
MAX_RANKS = 4_096
MAX_GAP = 2
_OP = later(r"(?P<op>[^\s\[\]:]{1,200}) \[(?P<said>missing|ready)\s+ranks: ?(?P<ranks>[\d, ]{0,4000})")
_RANK = later(r"^\s*(?P<rank>\d{1,7}): \[(?P<ops>[^\]]{0,4000})")
_WORDS = later(r"(?i:missing ranks|stalled ranks|stalled ops)")
_SECONDS = later(r"for more than (\d{1,7}) seconds")


def read_stall(head: Bare, _fields: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """Read the warning and the lines below that name tensors and ranks."""
    ranks: set[int] = set()
    ops: dict[str, None] = {}
    sides: set[str] = set()
    taken, gap, evidence = [], 0, 0
    _note(head.text, ranks, ops, sides)
    for bare in below:
        if _note(bare.text, ranks, ops, sides):
            evidence = evidence or bare.below
        elif not _WORDS.search(bare.text):
            gap += 1
            if gap > MAX_GAP:
                break
            continue
        taken.append(bare.below)
    fields: dict[str, Value] = {"missing": tuple(sorted(ranks)), "stalled_ops": ", ".join(list(ops)[:MAX_OPS])}
    fields["sides"] = len(sides)
    seconds = _SECONDS.search(head.text)
    if seconds:
        fields["seconds"] = int(seconds[1])
    text = f"{head.text}\nmissing ranks: {', '.join(map(str, sorted(ranks)[:64]))}; stalled: {fields['stalled_ops']}"
    return Block(text[:4_000], {k: v for k, v in fields.items() if v not in ((), "")}, tuple(taken), evidence)


def _note(text: str, ranks: set[int], ops: dict[str, None], sides: set[str]) -> bool:
    """Add what one line tells (``sides``: who lacks what, as printed); False if it tells nothing."""
    seen = False
    for found in _OP.finditer(text):
        seen = True
        ops.setdefault(found["op"].rpartition("ops:")[2] or found["op"])
        named = {int(n) for n in compiled(r"\d{1,7}").findall(found["ranks"])[:MAX_RANKS]}
        ranks.update(named if found["said"] == "missing" else _absent(named))
        sides.add(",".join(map(str, sorted(named))))  # before 0.13 in the order in which they came
    line = _RANK.match(text)
    if line:
        seen = True
        ranks.add(int(line["rank"]))
        sides.add(line["ops"])
        for op in line["ops"].split(",")[:MAX_OPS]:
            ops.setdefault(op.strip(" .]"))
    return seen


def _absent(ready: set[int]) -> set[int]:
    """The ranks below the highest that is ready which are not ready themselves; those above it nobody tells."""
    return set(range(min(max(ready, default=0), MAX_RANKS))) - ready
