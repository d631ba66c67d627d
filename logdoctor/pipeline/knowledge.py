"""The pack: all rules, and a compiled database of all patterns.

The patterns are those of formats and rules. Reading YAML and deriving scan patterns takes seconds, so the result is
cached. The key is made of the sizes and times of the files of rules and formats. Patterns of unchanged expressions are
reused. A broken, foreign or unwritable cache is silently replaced by a new pack in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from logdoctor import logs
from logdoctor.logs import record_patterns
from logdoctor.matcher import Matcher, Pattern, Plan, make_plan
from logdoctor.model import MadeBy, Problem, Rule, RuleError, Symptom
from logdoctor.model.digests import blake2b
from logdoctor.model.kinds import fits
from logdoctor.model.version import __version__
from logdoctor.pack import cached_files
from logdoctor.pack.cached_files import Stamp
from logdoctor.ruleset import shipped_rules
from logdoctor.ruleset.packages import installed_rules

if TYPE_CHECKING:
    from logdoctor.matcher.kept_patterns import PatternCache

FORMAT = 31
"""Increase it if the cached data or the derivation of scan patterns changes."""


class _Compiled(Struct, frozen=True):
    """The cached part of the pack: all but the databases."""

    plan: Plan
    owners: tuple[tuple[int, ...], ...]
    rules: tuple[Rule, ...]
    digest: str
    faults: tuple[Problem, ...]


class Knowledge(Struct, frozen=True):
    """The pack: rules without examples, the scan, symptoms by pattern.

    The scan's first ``len(records())`` patterns are those of the formats. ``owners[p]`` are the symptoms of pattern
    ``p`` after them. Symptoms are numbered over all rules. ``faults``: problems of rules that were left out.
    """

    rules: tuple[Rule, ...]
    owners: tuple[tuple[int, ...], ...]
    matcher: Matcher
    faults: tuple[Problem, ...] = ()
    digest: str = ""
    """Digest of the rules' content, independent of their folders."""

    @property
    def made_by(self) -> MadeBy:
        return MadeBy(__version__, len(self.rules), self.digest)


def rule_folders(own: Iterable[str | os.PathLike[str]] = ()) -> list[Path]:
    """Return the folders with rules: shipped, of installed packages, ``own``. Later rules override by id."""
    return [shipped_rules(), *installed_rules(cached_files.folder()), *map(Path, own)]


def gather(folders: Sequence[Path], *, engine: str | None = None) -> Knowledge:
    """Load the pack of the rules below ``folders`` and of all formats.

    A faulty rule is left out and reported in `Knowledge.faults`. ``engine`` forces one of the scan's engines (tests,
    benchmarks). None takes the best that is installed.
    """
    folder = cached_files.folder()
    stamp = _stamp(folders)
    file = folder / f"rules-{stamp.digest}.msgpack" if folder else None
    compiled = _read_cache(file) if file else None
    if compiled is None:
        compiled = _compile(folders, folder and folder / f"patterns-{__version__}-{FORMAT}.json")
        if file and stamp.settled:
            cached_files.write(file, msgspec.msgpack.encode(compiled))
    matcher = Matcher.load(compiled.plan, folder, engine)
    return Knowledge(compiled.rules, compiled.owners, matcher, compiled.faults, compiled.digest)


def _stamp(folders: Sequence[Path]) -> Stamp:
    """Return a stamp that changes with program, formats and rules."""
    stamps = [logs.stamp(), *map(cached_files.stamp, folders)]
    key = f"{__version__} {FORMAT} {[stamp.digest for stamp in stamps]}"
    digest = blake2b(key.encode(), digest_size=16).hexdigest()
    return Stamp(digest, max(stamp.newest for stamp in stamps))


def _compile(folders: Sequence[Path], file: Path | None) -> _Compiled:
    """Read and compile all rules. ``file`` keeps the derived patterns for the next time."""
    from logdoctor.matcher.kept_patterns import PatternCache
    from logdoctor.ruleset.loading import read

    derived = PatternCache(file)
    ruleset = read(folders)
    faults = list(ruleset.faults)
    rules: list[Rule] = []
    owners: dict[Pattern, list[int]] = {}
    number = 0
    for rule in ruleset.rules:
        errors: list[RuleError] = []
        patterns = [_symptom_pattern(rule, symptom, derived, errors) for symptom in rule.symptoms]
        faults += errors
        if errors:
            continue
        rules.append(replace(rule, examples=(), near_misses=()))
        for n, pattern in enumerate(patterns, number):
            if pattern:
                owners.setdefault(pattern, []).append(n)
        number += len(patterns)
    forms = [derived.derive(r.scan or r.pattern, often=r.often) for r in record_patterns()]
    derived.save()
    shipped_symptoms = _shipped_symptoms(rules)
    ordered = sorted(owners.items(), key=lambda owned: shipped_symptoms.isdisjoint(owned[1]))
    common = len(forms) + sum(not shipped_symptoms.isdisjoint(numbers) for numbers in owners.values())
    return _Compiled(
        plan=make_plan([*forms, *(pattern for pattern, _ in ordered)], common),
        owners=tuple(tuple(numbers) for _, numbers in ordered),
        rules=tuple(rules),
        digest=_digest(rules),
        faults=tuple(fault.as_problem() for fault in faults),
    )


def _digest(rules: Iterable[Rule]) -> str:
    contents = sorted(msgspec.json.encode(replace(rule, path=""), order="sorted") for rule in rules)
    return blake2b(b"\n".join(contents), digest_size=6).hexdigest()


def _shipped_symptoms(rules: Iterable[Rule]) -> set[int]:
    """Return the numbers of the symptoms of shipped rules.

    Their database stays the same if users add rules of their own.
    """
    folder = f"{shipped_rules()}{os.sep}"
    ours = [rule.path.startswith(folder) for rule in rules for _ in rule.symptoms]
    return {number for number, is_ours in enumerate(ours) if is_ours}


def _symptom_pattern(rule: Rule, symptom: Symptom, derived: PatternCache, errors: list[RuleError]) -> Pattern | None:
    """Return the pattern to scan for, if the symptom needs a scan.

    Return None without a text. A text too weak to scan for gives None if the symptom has a record kind. The pattern of
    that kind then finds its records. Without a kind a weak text adds an error.
    """
    if symptom.text is None:
        return None
    of_record = not _is_wanted(symptom.kind, "text.line") or not _is_wanted(symptom.format, "text")
    try:
        return derived.derive(symptom.text, within=of_record)
    except ValueError as error:
        if not of_record:
            what = f"the text of the symptom '{symptom.name}' is too weak for the scan"
            errors.append(RuleError(what, rule.path, str(error), "add literal words to it, or a kind to the symptom"))
        return None


def _is_wanted(glob: str | None, name: str) -> bool:
    return glob is None or fits(name, glob)


def _read_cache(file: Path) -> _Compiled | None:
    try:
        return msgspec.msgpack.decode(cached_files.read(file) or b"", type=_Compiled)
    except ValueError:
        return None
