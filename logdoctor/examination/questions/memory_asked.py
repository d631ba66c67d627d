"""Memory that was asked for: how much was wanted and free, and on which device, from the lines beside an allocation.

Many programs print the numbers in a warning and then raise an error that holds none. The numbers are of the failure if
the line is of the same process and the lines that tell them are of one component.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from msgspec import Struct

from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.examination.units import AMOUNT, SIZE_UNIT, to_bytes
from logdoctor.model import Fact, Said, Value
from logdoctor.model.numbers import format_size
from logdoctor.pack.regexes import later

OUT_OF_MEMORY = ("gpu memory out", "memory out")
ABOVE, BELOW = 8, 4
"""Lines of the process that are read."""
SHARE = 0.1
"""Part of a device that other processes hold, or that lies unused, at least, where it is to blame."""
CONTEXT = 2 << 30
"""Bytes of a device that a process's own context, a desktop and libraries may hold beside what PyTorch counts."""
MOST_OWN = 6 << 30
"""Bytes that its own context and libraries never hold."""
_MEMORY = later(r"(?i)mem|alloc|\b(?:GPU|HBM|VRAM|RMM|BFC|cache|device|pool|arena)\b")
_GPU = later(r"(?i)\b(?:GPU|cuda|HBM|VRAM|NPU|RMM|HIP|XPU|device)(?=\b|[_\d]|Id)")
_HOST = later(r"(?i)\b(?:host|CPU|system|RAM|disk|swap|file ?system)\b")
_DEVICE = later(
    r"(?i)\b(?:GPU|gpuId|NPU|cuda|device)(?:[ :=#]{1,2}|[_ ]id[ :=]{1,2})?(?P<number>\d{1,3})\b(?! ?[KMG]i?B|\.\d)"
)
_OTHER = later(r"\bProcess \d{1,10} has $")
_HELD_BY_TORCH = later(
    rf"(?P<amount>{AMOUNT}) ?(?P<unit>{SIZE_UNIT}) "
    r"(?:(?P<beside>cached\b|(?:is )?reserved by PyTorch but unallocated)|reserved in total)"
)
"""Memory that PyTorch holds beside what is allocated (torch 1.3 and before: ``cached``), or in all (``reserved``)."""
_OF_PROCESS = "this process has"


class Asked(Struct):
    """The memory that lines of one component tell."""

    sizes: dict[str, Fact]
    lines: list[Said]
    devices: set[int]


@asks
def memory_asked(scene: Scene) -> Iterator[Answer]:
    """Yield what a process wanted and what was free, and what the sizes say about the rest.

    Kind ``memory`` (wanted, free, capacity, device, crowded, others, beside, huge, refused, unused).
    """
    if scene.rule is None or scene.rule.failure_class not in OUT_OF_MEMORY:
        return
    own = _read(scene, _message(scene))
    is_own = {"wanted", "free"} <= own.sizes.keys()
    asked = own if is_own else _nearest(scene)
    if asked is None:
        return
    wanted, free = asked.sizes["wanted"], asked.sizes["free"]
    if not isinstance(wanted.value, int) or not isinstance(free.value, int):
        return
    meaning = _meaning(asked)
    if wanted.value <= free.value and not (is_own and meaning):
        return
    form = "crowded" if "crowded" in meaning and not is_own else ""
    fields: dict[str, Value] = {"wanted": wanted.said, "free": free.said, **meaning}
    if (total := asked.sizes.get("total")) is not None:
        fields["capacity"] = total.said
    if len(asked.devices) == 1:
        fields["device"] = min(asked.devices)
    yield Answer(
        "memory",
        asked.lines[0],
        fields,
        tuple(said.line for said in asked.lines),
        tuple(asked.sizes.values()),
        form,
        shared=True,
        silent=is_own,
    )


def _message(scene: Scene) -> tuple[Said, ...]:
    """Return the block, with the next line if it tells the sizes that the block leaves out: a wrapped message."""
    roles = {fact.role for fact in scene.own("size")}
    following = next(scene.below(), None)
    if following is None or "wanted" not in roles or "free" in roles:
        return scene.block
    more = {fact.role for fact in scene.facts(following, "size")}
    return (*scene.block, following) if {"free", "total"} <= more and "wanted" not in more else scene.block


def _nearest(scene: Scene) -> Asked | None:
    """Return what the nearest component tells that says both what it wanted and what was free."""
    by_component: dict[str | None, list[Said]] = {}
    is_of_gpu = scene.rule is not None and scene.rule.failure_class == "gpu memory out"
    for said in chain(islice(scene.above(), ABOVE), islice(scene.below(), BELOW)):
        of_gpu = bool(_GPU.search(said.text))
        is_other = not of_gpu and bool(_HOST.search(said.text) or not said.source.logger) if is_of_gpu else of_gpu
        if not is_other and _MEMORY.search(said.text) and scene.facts(said, "size"):
            by_component.setdefault(said.source.logger, []).append(said)
    found = (_read(scene, lines) for lines in by_component.values())
    return next((asked for asked in found if {"wanted", "free"} <= asked.sizes.keys()), None)


def _read(scene: Scene, lines: Iterable[Said]) -> Asked:
    """Return the sizes of the lines by role. A size of an earlier line counts, so the nearest goes first."""
    asked = Asked({}, [], set())
    for said in lines:
        sizes = [fact for fact in scene.facts(said, "size") if fact.role and not _is_of_other(fact, said)]
        new = [fact for fact in sizes if fact.role not in asked.sizes]
        asked.sizes.update((fact.role, fact) for fact in reversed(new))
        if new:
            asked.lines.append(said)
            asked.devices.update(int(device["number"]) for device in _DEVICE.finditer(said.text, 0, 1000))
    asked.lines.sort(key=lambda said: said.line.number)
    return asked


def _is_of_other(fact: Fact, said: Said) -> bool:
    """Return whether the line tells the size of another process: ``Process 88 has 33.10 GiB memory in use``."""
    return fact.role == "used" and bool(_OTHER.search(said.text, 0, max(0, said.text.find(fact.said))))


def _meaning(asked: Asked) -> dict[str, Value]:
    """Return what the sizes say about the rest of the device.

    - ``huge``: the device, of which one request wanted more than there is in all
    - ``refused``: what was free, although less was wanted
    - ``unused``: what PyTorch held for no tensor, if it would have been enough
    - ``others``: what other processes hold, if there would have been enough without them
    - ``crowded``: other processes hold a part, of which the size may be unknown
    - ``beside``: what PyTorch does not count, if it may be of other processes or of CUDA in the same one
    """
    sizes = {role: fact.value for role, fact in asked.sizes.items() if isinstance(fact.value, int)}
    wanted, free, total = sizes["wanted"], sizes["free"], sizes.get("total", sizes.get("limit", 0))
    if not total:
        return {}
    if wanted > total:
        return {"huge": format_size(total)} if "total" in sizes else {}
    if "used" not in sizes:
        return {"crowded": "yes"} if free < wanted and wanted > total / 2 else {}
    held, unused = _held(asked, sizes["used"])
    if free - wanted > SHARE * total:
        return {"refused": format_size(free)}
    others = total - free - held
    if others > max(SHARE * total, CONTEXT) and wanted <= free + others:
        is_sure = _is_whole(asked) or others > min(MOST_OWN, total / 2)
        return {"crowded": "yes", "others": format_size(others)} if is_sure else {"beside": format_size(others)}
    return {"unused": format_size(unused)} if unused > max(SHARE * total, wanted) else {}


def _held(asked: Asked, used: int) -> tuple[int, int]:
    """Return what the process holds of the device, and what of that no tensor uses."""
    text = " ".join(said.text for said in asked.lines)
    found = _HELD_BY_TORCH.search(text)
    if not found:
        return used, 0
    size = to_bytes(found["amount"], found["unit"])
    if not found["beside"]:
        return max(used, size), max(0, size - used)
    return (used if _OF_PROCESS in text else used + size), size


def _is_whole(asked: Asked) -> bool:
    """Return whether what the process holds is told with all that PyTorch does not count."""
    return any(_OF_PROCESS in said.text for said in asked.lines)
