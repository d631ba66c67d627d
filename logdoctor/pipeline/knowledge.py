"""The pack: all rules, and a compiled database of all patterns.

The patterns are those of formats and rules. Reading YAML and deriving scan patterns takes seconds, so the result is
cached. The key is made of the sizes and times of the files of rules and formats. Patterns of unchanged expressions are
reused. A broken, foreign or unwritable cache is silently replaced by a new pack in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from logdoctor import logs
from logdoctor.logs import record_patterns
from logdoctor.matcher import Matcher, Pattern, Plan, make_pattern, make_plan
from logdoctor.model import MadeBy, Problem, Rule, RuleError, Symptom
from logdoctor.model.digests import blake2b
from logdoctor.model.kinds import fits
from logdoctor.model.version import __version__
from logdoctor.pack import cached_files
from logdoctor.pack.cached_files import Stamp
from logdoctor.ruleset import shipped_rules
from logdoctor.ruleset.packages import installed_rules

FORMAT = 33
"""Increase it if the cached data or the derivation of scan patterns changes."""


class _Compiled(Struct, frozen=True):
    """The cached part of the pack: all but the databases."""

    plan: Plan
    rules: tuple[Rule, ...]
    scanned: frozenset[int]
    digest: str
    faults: tuple[Problem, ...]


class Knowledge(Struct, frozen=True):
    """The pack: rules without examples, and the scan.

    The scan's first ``len(record_patterns())`` patterns are those of the formats. The symptoms of all rules follow in
    their order. ``scanned`` are the numbers of the symptoms that the scan finds; the others are found by the kind of
    their records. ``faults``: problems of rules that were left out.
    """

    rules: tuple[Rule, ...]
    scanned: frozenset[int]
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
        compiled = _compile(folders)
        if file and stamp.settled:
            cached_files.write(file, msgspec.msgpack.encode(compiled))
    matcher = Matcher.load(compiled.plan, folder, engine)
    return Knowledge(compiled.rules, compiled.scanned, matcher, compiled.faults, compiled.digest)


def _stamp(folders: Sequence[Path]) -> Stamp:
    """Return a stamp that changes with program, formats and rules."""
    stamps = [logs.stamp(), *map(cached_files.stamp, folders)]
    key = f"{__version__} {FORMAT} {[stamp.digest for stamp in stamps]}"
    digest = blake2b(key.encode(), digest_size=16).hexdigest()
    return Stamp(digest, max(stamp.newest for stamp in stamps))


def _compile(folders: Sequence[Path]) -> _Compiled:
    """Read and compile all rules."""
    from logdoctor.ruleset.loading import read

    ruleset = read(folders)
    faults = list(ruleset.faults)
    rules: list[Rule] = []
    patterns = [make_pattern(r.scan or r.pattern, often=r.often) for r in record_patterns()]
    count = len(patterns)
    for rule in ruleset.rules:
        errors: list[RuleError] = []
        found = [_symptom_pattern(rule, symptom, errors) for symptom in rule.symptoms]
        faults += errors
        if not errors:
            rules.append(replace(rule, examples=(), near_misses=()))
            patterns += found
    return _Compiled(
        plan=make_plan(patterns),
        rules=tuple(rules),
        scanned=frozenset(n for n, pattern in enumerate(patterns[count:]) if pattern.atoms),
        digest=_digest(rules),
        faults=tuple(fault.as_problem() for fault in faults),
    )


def _digest(rules: Iterable[Rule]) -> str:
    contents = sorted(msgspec.json.encode(replace(rule, path=""), order="sorted") for rule in rules)
    return blake2b(b"\n".join(contents), digest_size=6).hexdigest()


def _symptom_pattern(rule: Rule, symptom: Symptom, errors: list[RuleError]) -> Pattern:
    """Return the pattern to scan for.

    It has no atoms without a text. The text of a record of a format picks no line, because the pattern of the format
    does. If that text is too weak to scan for, the pattern has no atoms. Any other weak text adds an error.
    """
    of_record = not _is_wanted(symptom.kind, "text.line") or not _is_wanted(symptom.format, "text")
    if symptom.text is None:
        return Pattern(())
    try:
        return make_pattern(symptom.text, picks=not of_record)
    except ValueError as error:
        if of_record:
            return Pattern(())
        what = f"the text of the symptom '{symptom.name}' is too weak for the scan"
        errors.append(RuleError(what, rule.path, str(error), "add literal words to it, or a kind to the symptom"))
        return Pattern(())


def _is_wanted(glob: str | None, name: str) -> bool:
    return glob is None or fits(name, glob)


def _read_cache(file: Path) -> _Compiled | None:
    try:
        return msgspec.msgpack.decode(cached_files.read(file) or b"", type=_Compiled)
    except ValueError:
        return None
