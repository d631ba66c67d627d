"""Packages that do not fit: two that write one file, two versions of one library, one compiled against another version.

The versions stand in the block, and in the lists of packages and the start-up lines near it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, combinations

from msgspec import Struct

from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.model import Fact, Said
from logdoctor.pack.regexes import later

MOST_LINES = 60
SHORTEST = 4
"""Letters of the part of a package's name by which the block speaks of it."""
_OF_LIBRARIES = later(
    r"(?i)undefined (?:symbol|reference)|symbol lookup|shared object|\bABI\b|incompatib|mismatch|compiled|cannot import"
    r"|no module named|version|has no attribute|unexpected keyword|positional argument|DLL load failed"
    r"|built (?:with|for|against)"
)
_ROW = later(
    r"^\s*(?:\[(?:pip3?|conda)\] )?(?P<name>[A-Za-z][\w.-]{2,60})(?:==| {1,60})"
    r"(?P<version>\d+\.\d[\w.+-]{0,30})(?:\s+\S{1,60}){0,2}\s*$"
)
_VARIANT = later(r"[-_](?:cu(?:da)?-?(?P<cuda>\d{2,3})x?|rocm[\d.-]*|cpu|gpu|headless|binary|nightly)$")
_BUILD = later(r"\+cu(?P<cuda>\d{2})")
_PARTS = later(r"[a-z]{4,}")
_NO_PARTS = frozenset(
    {"nvidia", "python", "torch", "lib", "library", "core", "base", "version", "runtime", "driver", "intel", "file"}
)
_NUMBERS = later(r"\d+")
_OPERATOR = later(r"^\s*(?P<sign>[<>=!~]=?)")


class Package(Struct, frozen=True):
    """A package in a list."""

    name: str
    version: str
    said: Said


@asks
def packages(scene: Scene) -> Iterator[Answer]:
    """Yield two packages or versions near the proof that do not fit each other, if the block speaks of the library.

    Kind ``packages`` (first, first_version, second, second_version; remove, keep, keep_version).
    """
    if not any(_OF_LIBRARIES.search(said.text) for said in scene.block):
        return
    block = " ".join(said.text.lower() for said in scene.block)
    listed = _listed(scene)
    if (answer := _one_file(listed, block) or _compiled(scene, listed)) is not None:
        yield answer


def _listed(scene: Scene) -> Mapping[str, Package]:
    """Return the packages by name that lists near the proof name once."""
    found: dict[str, Package] = {}
    for said in _around(scene):
        if row := _ROW.match(said.text, 0, 200):
            found.setdefault(row["name"].lower(), Package(row["name"], row["version"], said))
    return found


def _around(scene: Scene) -> Iterator[Said]:
    for number, said in enumerate(chain(scene.above(), scene.below())):
        if number >= 2 * MOST_LINES:
            return
        yield said


def _one_file(listed: Mapping[str, Package], block: str) -> Answer | None:
    """Return two packages of one family. Each writes its files into the same folder, so one overwrites the other."""
    families: dict[str, list[Package]] = {}
    for package in listed.values():
        families.setdefault(_VARIANT.sub("", package.name.lower()).replace("_", "-"), []).append(package)
    for family, members in families.items():
        if not _speaks_of(block, family):
            continue
        for one, other in combinations(members, 2):
            if one.version == other.version:
                continue
            keep, remove = _fitting(one, other, listed)
            fields = {
                "first": one.name,
                "first_version": one.version,
                "second": other.name,
                "second_version": other.version,
                "remove": remove.name,
                "keep": keep.name,
                "keep_version": keep.version,
            }
            facts = tuple(
                Fact("version", "found", p.version, p.said.line, of=p.name, said=p.said.text) for p in (one, other)
            )
            return Answer(
                "packages", one.said, fields, (one.said.line, other.said.line), facts, "one-file", shared=True
            )
    return None


def _fitting(one: Package, other: Package, listed: Mapping[str, Package]) -> tuple[Package, Package]:
    """Return first the package to keep: that of the CUDA of most packages, else that of the newer one."""
    built = [
        cuda
        for p in listed.values()
        for cuda in (_cuda(p.name), *(m["cuda"] for m in _BUILD.finditer(p.version)))
        if cuda
    ]
    votes = {package: built.count(_cuda(package.name)[:2]) for package in (one, other)}
    newest = max(one, other, key=lambda p: (votes[p], _cuda(p.name), _numbers(p.version)))
    return newest, other if newest is one else one


def _cuda(name: str) -> str:
    found = _VARIANT.search(name.lower())
    return (found["cuda"] or "")[:2] if found else ""


def _compiled(scene: Scene, listed: Mapping[str, Package]) -> Answer | None:
    """Return the version that the block was compiled against or needs, and another one that is there."""
    own = scene.own("version")
    if any(fact.role in ("found", "loaded", "driver") for fact in own):
        return None
    for needed in (
        fact for fact in own if fact.role in ("compiled", "required") and fact.of and _NUMBERS.search(str(fact.value))
    ):
        there = _there(scene, needed.of, listed)
        if there is not None and not _satisfies(there.version, str(needed.value), exact=needed.role == "compiled"):
            fields = {
                "first": needed.of,
                "first_version": str(needed.value),
                "second": there.name,
                "second_version": there.version,
            }
            fact = Fact("version", "found", there.version, there.said.line, of=there.name, said=there.said.text)
            return Answer("packages", there.said, fields, (there.said.line,), (fact,), needed.role, shared=True)
    return None


def _there(scene: Scene, name: str, listed: Mapping[str, Package]) -> Package | None:
    """Return the version of a library that a list or a start-up line near the proof tells."""
    if name.lower() in listed:
        return listed[name.lower()]
    for said in _around(scene):
        for fact in scene.facts(said, "version"):
            if fact.role in ("found", "loaded") and fact.of.lower() == name.lower():
                return Package(fact.of, str(fact.value), said)
    return None


def _speaks_of(block: str, family: str) -> bool:
    return any(part in block for part in _PARTS.findall(family) if part not in _NO_PARTS)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in _NUMBERS.findall(version.partition("+")[0])[:4])


def _satisfies(version: str, needed: str, *, exact: bool) -> bool:
    """Return whether the version is one that is needed. Compiled against means the same major and minor version."""
    have, want = _numbers(version), _numbers(needed)
    operator = _OPERATOR.match(needed)
    sign = operator["sign"] if operator else ">="
    if exact:
        return have[: min(2, len(want))] == want[:2]
    tests = {">": have > want, ">=": have >= want, "<": have < want, "<=": have <= want, "!=": have != want}
    return tests.get(sign, have[: len(want)] == want)
