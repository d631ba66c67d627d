"""Memory that was asked for: how much was wanted and free, and on which device, from the lines beside an allocation.

Many programs print the numbers in a warning and then raise an error that holds none. The numbers are of the failure if
the line is of the same process and the lines that tell them are of one component.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from msgspec import Struct

from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.model import Fact, Said, Value
from logdoctor.pack.regexes import later

OUT_OF_MEMORY = ("gpu memory out", "memory out")
ABOVE, BELOW = 8, 4
"""Lines of the process that are read."""
SHARE = 0.1
"""Part of a device that another process holds at least, where it is to blame."""
_MEMORY = later(r"(?i)mem|alloc|\b(?:GPU|HBM|VRAM|RMM|BFC|cache|device|pool|arena)\b")
_GPU = later(r"(?i)\b(?:GPU|cuda|HBM|VRAM|NPU|RMM|HIP|XPU|device)(?=\b|[_\d]|Id)")
_HOST = later(r"(?i)\b(?:host|CPU|system|RAM|disk|swap|file ?system)\b")
_DEVICE = later(
    r"(?i)\b(?:GPU|gpuId|NPU|cuda|device)(?:[ :=#]{1,2}|[_ ]id[ :=]{1,2})?(?P<number>\d{1,3})\b(?! ?[KMG]i?B|\.\d)"
)
_OTHER = later(r"\bProcess \d{1,10} has $")


class Asked(Struct):
    """The memory that lines of one component tell."""

    sizes: dict[str, Fact]
    lines: list[Said]
    devices: set[int]


@asks
def memory_asked(scene: Scene) -> Iterator[Answer]:
    """Yield what a process wanted and what was free, and whether something else holds the rest.

    Kind ``memory`` (wanted, free, capacity, device, crowded).
    """
    if scene.rule is None or scene.rule.failure_class not in OUT_OF_MEMORY:
        return
    own = _read(scene, scene.block)
    is_own = {"wanted", "free"} <= own.sizes.keys()
    asked = own if is_own else _nearest(scene)
    if asked is None:
        return
    wanted, free = asked.sizes["wanted"], asked.sizes["free"]
    if not isinstance(wanted.value, int) or not isinstance(free.value, int) or wanted.value <= free.value:
        return
    fields: dict[str, Value] = {"wanted": wanted.said, "free": free.said}
    if (total := asked.sizes.get("total")) is not None:
        fields["capacity"] = total.said
    if len(asked.devices) == 1:
        fields["device"] = min(asked.devices)
    form = "crowded" if _is_crowded(asked) else ""
    lines = tuple(said.line for said in asked.lines)
    facts = tuple(asked.sizes.values())
    yield Answer(
        "memory",
        asked.lines[0],
        {**fields, **({form: "yes"} if form else {})},
        lines,
        facts,
        form,
        shared=True,
        silent=is_own,
    )


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


def _is_crowded(asked: Asked) -> bool:
    """Return whether something else must hold the memory: the device has what was wanted, the process has not.

    A process that says how much it holds itself leaves the rest to others. One that does not had just begun if it
    wanted most of the device at once.
    """
    sizes = {role: fact.value for role, fact in asked.sizes.items() if isinstance(fact.value, int)}
    total = sizes.get("total", sizes.get("limit", 0))
    if not sizes["free"] < sizes["wanted"] <= total:
        return False
    if "used" not in sizes:
        return sizes["wanted"] > total / 2
    others = total - sizes["free"] - sizes["used"]
    return others > SHARE * total and sizes["wanted"] <= sizes["free"] + others
