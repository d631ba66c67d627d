"""Nearest name: a name that was not found, beside the names that exist.

The names that exist stand in the same line, in a list near it, or are those of the known launchers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import chain, islice

from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.model import Fact, Line, Said, Value
from logdoctor.pack.regexes import later

ABOVE, BELOW = 16, 10
"""Lines of the process that are read."""
SIMILAR = 0.75
SHORTEST = 3
"""Letters of a name of which a similar one is looked for."""
MOST = 8
"""Existing names that are told."""
LAUNCHERS = (
    "torchrun mpirun mpiexec mpiexec.hydra srun sbatch accelerate deepspeed horovodrun jsrun aprun prun prterun ray"
    " python python3 singularity apptainer enroot"
    " docker podman composer colossalai msrun paddle flux charmrun conda mamba module"
    " numactl nsys ncu ibrun torchx"
).split()
_NO_INTERFACE = later(
    r"(?i)\b(?:interfaces? found matching|find address for:|find interface) ?['\"`]?(?P<name>[\w.-]{2,40})"
)
_CHOOSES = later(r"(?i)IFNAME$|_if_include$|INTERFACE$")
_SORTS = {"command": "command", "executable": "command", "program": "command"}
_HEADING = later(
    r"(?i)\b(?:available|existing|valid|supported|known|possible|detected|visible|found)\b[^:\n]{0,60}:\s*$"
)
_ITEM = later(
    r"^\s*(?:[-*•]\s*|\d{1,3}[.:)]\s+)?['\"`]?(?P<name>[A-Za-z_][\w.@/-]{0,60})['\"`]?"
    r"(?:\s*[:(,;].{0,120}|\s{2,}.{0,120})?$"
)
_INTERFACE = later(
    r"^\s*\d{1,3}: (?P<name>[\w.-]{1,15})(?:@[\w.-]+)?: <|^(?P<name>[a-z][\w.-]{1,14}):? +(?:flags=|Link encap)"
    r"|\bUsing (?:\[\d+\])?(?P<name>[a-z][\w.-]{1,14}):(?=[\d\[a-f])"
)
_ROW_OF_IP = later(r"\d{1,3}: (?P<name>[\w.-]{1,15})(?:@[\w.-]+)?: <[A-Z_,]+> mtu ")
"""A row of ``ip link``. Its number looks like the label of a task."""


@asks
def nearest_name(scene: Scene) -> Iterator[Answer]:
    """Yield a wanted name that is not among the existing ones, and the nearest of these.

    Kind ``nearest`` (unknown, existing, nearest, sort).
    """
    wanted, sort = _wanted(scene)
    if not wanted:
        return
    names, lines = _existing(scene, sort)
    if _SORTS.get(sort) == "command":
        names, lines = LAUNCHERS, ()
    if not names or wanted in names:
        return
    near = _nearest(wanted, names)
    if names is LAUNCHERS and not near:
        return
    proof = scene.quoted
    existing = () if names is LAUNCHERS else tuple(names)[:MOST]
    fields: dict[str, Value] = {
        "unknown": wanted,
        "nearest": near,
        "existing": existing,
        "sort": _SORTS.get(sort, sort),
    }
    facts = tuple(Fact("name", "existing", tuple(names)[:MOST], line) for line in lines[:1])
    form = "" if near else "only"
    yield Answer("nearest", proof, fields, tuple(lines), facts, form, silent=names is LAUNCHERS)


def _wanted(scene: Scene) -> tuple[str, str]:
    """Return the name that was not found, and the sort of thing that it names: for Hydra's ``db/mysql`` the group."""
    fields = scene.record.fields
    for name in ("command", "interface"):
        if isinstance(value := fields.get(name), str) and value and scene.record.failing:
            return value.rpartition("/")[2], name
    found = next((f for f in scene.own("name") if f.role == "wanted" and isinstance(f.value, str)), None)
    if found is not None:
        group, _, name = str(found.value).rpartition("/")
        is_option = bool(group) and not found.of
        return (name, group) if is_option else (str(found.value), found.of.removesuffix("s"))
    if scene.rule is not None and scene.rule.signature == "net.no-interface":
        told = next((m["name"] for said in scene.block for m in (_NO_INTERFACE.search(said.text),) if m), "")
        near = (f for said in chain(scene.above(), scene.below()) for f in scene.facts(said, "setting"))
        return told or next((str(f.value).lstrip("=^") for f in near if _CHOOSES.search(f.of)), ""), "interface"
    return "", ""


def _existing(scene: Scene, sort: str) -> tuple[Sequence[str], Sequence[Line]]:
    """Return the names that exist, and the lines that tell them."""
    near = [*scene.block, *islice(scene.below(), BELOW), *islice(scene.above(), ABOVE)]
    for said in near:
        told = next((f for f in scene.facts(said, "name") if f.role == "existing"), None)
        if told is not None and isinstance(told.value, tuple) and _fits(sort, said):
            return tuple(map(str, told.value)), (said.line,)
    for heading in near:
        is_heading = _HEADING.search(heading.text) and _fits(sort, heading)
        if is_heading and (items := _list_below(heading, scene)):
            return [*items], (heading.line, *islice(items.values(), 2))
    if sort.endswith("interface"):
        found = {m["name"]: said.line for said in near for m in (_INTERFACE.search(said.text),) if m}
        found |= {m["name"]: said.line for said in scene.around() for m in (_ROW_OF_IP.match(said.line.text),) if m}
        return [*found], [*dict.fromkeys(found.values())]
    return (), ()


def _fits(sort: str, said: Said) -> bool:
    """Return whether the list is of the sort that is wanted: it is in the block, or its line names the sort."""
    return said.is_of_proof or (bool(sort) and sort.rpartition(" ")[2] in said.text.lower())


def _list_below(heading: Said, scene: Scene) -> dict[str, Line]:
    """Return the names in the lines right below a heading."""
    lines = sorted(chain(scene.block, scene.above(), scene.below()), key=lambda said: said.line.number)
    items: dict[str, Line] = {}
    for said in (said for said in lines if said.line.number > heading.line.number):
        item = _ITEM.match(said.text)
        if item is None or said.line.number > heading.line.number + len(items) + 1 or len(items) > MOST:
            break
        items[item["name"]] = said.line
    return items


def _nearest(wanted: str, names: Sequence[str]) -> str:
    """Return the name that differs by few letters, else the only one that begins alike."""
    if len(wanted) < SHORTEST:
        return ""
    by_lower = {name.lower(): name for name in reversed(names)}
    close = get_close_matches(wanted.lower(), [*by_lower], 1, SIMILAR)
    begin = [name for name in names if name.lower().startswith(wanted.lower())]
    return by_lower[close[0]] if close else begin[0] if len(begin) == 1 else ""
