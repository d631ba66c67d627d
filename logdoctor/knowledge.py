"""All that logdoctor knows, ready to use: the rules, and one compiled pattern database for parsers and rules together.

Reading YAML and deriving scan forms takes seconds, so the result is cached under a key that is made of the
sizes and times of the rules' and parsers' files, and what was derived for the expressions that stayed is used again; a
broken, foreign or unwritable cache is silently made anew in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from logdoctor import cached_files, parsers
from logdoctor.cached_files import Stamp
from logdoctor.digests import blake2b
from logdoctor.kinds import fits
from logdoctor.model import MadeBy, Problem, Rule, RuleError, Symptom
from logdoctor.parsers import records
from logdoctor.prefilter import Pattern, Plan, Prefilter, plan_of
from logdoctor.rulebook import shipped_rules
from logdoctor.rulebook.packages import installed_rules
from logdoctor.version import __version__

if TYPE_CHECKING:
    from logdoctor.prefilter.kept_patterns import KeptPatterns

FORMAT = 31
"""Raise it when the shape of what is cached changes, or what is derived from an expression."""


class _Compiled(Struct, frozen=True):
    """What is cached: all but the databases."""

    plan: Plan
    owners: tuple[tuple[int, ...], ...]
    rules: tuple[Rule, ...]
    digest: str
    faults: tuple[Problem, ...]


class Knowledge(Struct, frozen=True):
    """The rules (without their examples), who owns which pattern of the scan, and the scan itself.

    The scan's first ``len(records())`` patterns are those of the parsers' records; ``owners[p]`` are the symptoms,
    numbered over all rules, of the pattern ``p`` after them.  ``faults``: what is wrong with rules that were left out.
    """

    rules: tuple[Rule, ...]
    owners: tuple[tuple[int, ...], ...]
    prefilter: Prefilter
    faults: tuple[Problem, ...] = ()
    digest: str = ""
    """Changes with what the rules say, not with where they lie."""

    @property
    def made_by(self) -> MadeBy:
        """What a diagnosis with this knowledge was made by."""
        return MadeBy(__version__, len(self.rules), self.digest)


def rule_folders(own: Iterable[str | os.PathLike[str]] = ()) -> list[Path]:
    """Where rules are looked for: ours, those of installed packages, and ``own``; a later one overrides by its ids."""
    return [shipped_rules(), *installed_rules(cached_files.folder()), *map(Path, own)]


def gather(folders: Sequence[Path], *, engine: str | None = None) -> Knowledge:
    """The knowledge of the rules below ``folders`` and of all parsers.

    A faulty rule is left out and told in `Knowledge.faults`.
    ``engine`` forces one of the scan's engines (tests, benchmarks); None takes the best that is installed.
    """
    folder = cached_files.folder()
    stamp = _stamp(folders)
    file = folder / f"rules-{stamp.digest}.msgpack" if folder else None
    made = _read(file) if file else None
    if made is None:
        made = _compile(folders, folder and folder / f"patterns-{__version__}-{FORMAT}.json")
        if file and stamp.settled:
            cached_files.write(file, msgspec.msgpack.encode(made))
    prefilter = Prefilter.load(made.plan, folder, engine)
    return Knowledge(made.rules, made.owners, prefilter, made.faults, made.digest)


def _stamp(folders: Sequence[Path]) -> Stamp:
    """The stamp of all that knowledge is made of."""
    stamps = [parsers.stamp(), *map(cached_files.stamp, folders)]
    told = f"{__version__} {FORMAT} {[stamp.digest for stamp in stamps]}"
    digest = blake2b(told.encode(), digest_size=16).hexdigest()
    return Stamp(digest, max(stamp.newest for stamp in stamps))


def _compile(folders: Sequence[Path], file: Path | None) -> _Compiled:
    """All of it; ``file`` keeps what was derived for the next time."""
    from logdoctor.prefilter.kept_patterns import KeptPatterns
    from logdoctor.rulebook.loading import read

    kept = KeptPatterns(file)
    book = read(folders)
    faults = list(book.faults)
    rules: list[Rule] = []
    owners: dict[Pattern, list[int]] = {}
    number = 0
    for rule in book.rules:
        weak: list[RuleError] = []
        patterns = [_pattern(rule, symptom, kept, weak) for symptom in rule.symptoms]
        faults += weak
        if weak:
            continue
        rules.append(replace(rule, examples=(), near_misses=()))
        for n, pattern in enumerate(patterns, number):
            if pattern:
                owners.setdefault(pattern, []).append(n)
        number += len(patterns)
    forms = [kept.of(r.scan or r.pattern, often=r.often) for r in records()]
    kept.keep()
    shipped = _numbers_of_shipped(rules)
    ordered = sorted(owners.items(), key=lambda owned: shipped.isdisjoint(owned[1]))
    common = len(forms) + sum(not shipped.isdisjoint(own) for own in owners.values())
    return _Compiled(
        plan=plan_of([*forms, *(pattern for pattern, _ in ordered)], common),
        owners=tuple(tuple(own) for _, own in ordered),
        rules=tuple(rules),
        digest=_digest(rules),
        faults=tuple(fault.as_problem() for fault in faults),
    )


def _digest(rules: Iterable[Rule]) -> str:
    said = sorted(msgspec.json.encode(replace(rule, path=""), order="sorted") for rule in rules)
    return blake2b(b"\n".join(said), digest_size=6).hexdigest()


def _numbers_of_shipped(rules: Iterable[Rule]) -> set[int]:
    """The numbers of the symptoms that everyone has: their database need not be made anew for somebody's own rules."""
    folder = f"{shipped_rules()}{os.sep}"
    ours = [rule.path.startswith(folder) for rule in rules for _ in rule.symptoms]
    return {number for number, is_ours in enumerate(ours) if is_ours}


def _pattern(rule: Rule, symptom: Symptom, kept: KeptPatterns, errors: list[RuleError]) -> Pattern | None:
    """What the scan looks for to find a symptom's text; None where only its kind finds it.

    Events of a kind (other than ``text.line``) are found by the records of that kind: such a symptom needs no scan.
    """
    if symptom.text is None:
        return None
    of_record = not _wants(symptom.kind, "text.line") or not _wants(symptom.dialect, "text")
    try:
        return kept.of(symptom.text, within=of_record)
    except ValueError as error:
        if not of_record:
            what = f"the text of the symptom '{symptom.name}' is too weak for the scan"
            errors.append(RuleError(what, rule.path, str(error), "add literal words to it, or a kind to the symptom"))
        return None


def _wants(glob: str | None, name: str) -> bool:
    return glob is None or fits(name, glob)


def _read(file: Path) -> _Compiled | None:
    try:
        return msgspec.msgpack.decode(cached_files.read(file) or b"", type=_Compiled)
    except ValueError:
        return None
