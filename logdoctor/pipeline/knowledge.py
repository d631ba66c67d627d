"""The pack: all rules, and what the scan searches for.

The patterns are those of formats and rules. Reading YAML and deriving texts takes seconds, so the result is compiled
once: when a wheel is built, and in a source tree at first use. Rules of a site are compiled on top of the shipped ones
and kept in the cache.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from logdoctor import logs
from logdoctor.logs import format_table, record_patterns
from logdoctor.logs.record_pattern import RecordPattern
from logdoctor.logs.repeats import Repeats
from logdoctor.matcher import Atom, Matcher, Pattern, Plan, make_plan
from logdoctor.model import Defects, MadeBy, Mechanism, Problem, Rule, RuleError, Symptom
from logdoctor.model.digests import blake2b
from logdoctor.model.kinds import fits
from logdoctor.pack import cached_files, shipped
from logdoctor.pack.cached_files import Stamp
from logdoctor.ruleset import shipped_rules
from logdoctor.ruleset.packages import installed_rules
from logdoctor.version import __version__

FORMAT = 39
"""Increase it if the compiled data or the derivation of texts changes."""
TABLE = "rules"
_PREFIX = f"rules-{__version__}-{FORMAT}-"


class Compiled(Struct, frozen=True):
    """The compiled part of the pack: all but the engine's databases."""

    plan: Plan
    first_symptom: int
    """Number of the patterns of formats, which come first in the plan."""
    rules: tuple[Rule, ...]
    mechanism: Mechanism
    defects: Defects
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
    mechanism: Mechanism
    scanned: frozenset[int]
    matcher: Matcher
    faults: tuple[Problem, ...] = ()
    digest: str = ""
    """Digest of the rules' content, independent of their folders."""
    defects: Defects = Defects()
    repeats: Repeats | None = field(default_factory=Repeats)
    """Forms of lines that were learned. None: all lines go the long way."""

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
    compiled = _load(folders)
    matcher = Matcher.load(compiled.plan, cached_files.folder(), engine)
    read = compiled
    return Knowledge(read.rules, read.mechanism, read.scanned, matcher, read.faults, read.digest, read.defects)


def _load(folders: Sequence[Path]) -> Compiled:
    """Return the compiled rules of ``folders``: as shipped, from the cache, or compiled now."""
    base = shipped.table(TABLE, Compiled) if [*folders[:1]] == [shipped_rules()] else None
    if base is not None and len(folders) == 1:
        return base
    stamp = _stamp(folders[1:] if base else folders)
    cache = cached_files.folder()
    path = cache / f"{_PREFIX}{stamp.digest}.msgpack" if cache and stamp.settled else None

    def make() -> tuple[Compiled, bytes]:
        compiled = compile_rules(folders, base, _last_compiled(cache))
        return compiled, msgspec.msgpack.encode(compiled)

    return cached_files.keep(path, _decode, make)


def _decode(data: bytes) -> Compiled:
    return msgspec.msgpack.decode(data, type=Compiled)


def _stamp(folders: Sequence[Path]) -> Stamp:
    """Return a stamp that changes with program, formats and rules."""
    stamps = [logs.stamp(), *map(cached_files.stamp, folders)]
    key = f"{__version__} {FORMAT} {[stamp.digest for stamp in stamps]}"
    digest = blake2b(key.encode(), digest_size=16).hexdigest()
    return Stamp(digest, max(stamp.newest for stamp in stamps))


def _last_compiled(cache: Path | None) -> Compiled | None:
    """Return the rules that were compiled last. Texts of their unchanged patterns are not derived again."""
    files = cache.glob(f"{_PREFIX}*.msgpack") if cache else ()
    newest = max(files, key=lambda file: file.stat().st_mtime_ns, default=None)
    with suppress(OSError, ValueError):
        return _decode(cached_files.read(newest) or b"") if newest else None
    return None


# ── compiling ───────────────────────────────────────────────────────────────────────────────────────────────────────


def compile_rules(folders: Sequence[Path], base: Compiled | None = None, known: Compiled | None = None) -> Compiled:
    """Read and compile all rules.

    ``base`` are the compiled rules of the first folder. Texts of the patterns in ``known`` are not derived again.
    """
    from logdoctor.ruleset.loading import read

    ruleset = read(folders, base.rules if base else ())
    derive = _Deriver(base, known)
    faults = list(ruleset.faults)
    rules: list[Rule] = []
    patterns = [derive.for_record(record) for record in record_patterns()]
    count = len(patterns)
    for rule in ruleset.rules:
        errors: list[RuleError] = []
        found = [_symptom_pattern(rule, symptom, derive, errors) for symptom in rule.symptoms]
        faults += errors
        if not errors:
            rules.append(_without_examples(rule))
            patterns += found
    return Compiled(
        plan=make_plan(patterns),
        first_symptom=count,
        rules=tuple(rules),
        mechanism=ruleset.mechanism,
        defects=ruleset.defects,
        scanned=frozenset(n for n, pattern in enumerate(patterns[count:]) if pattern.atoms),
        digest=_digest(rules, ruleset.mechanism, ruleset.defects),
        faults=tuple(fault.as_problem() for fault in faults),
    )


class _Deriver:
    """`make_pattern`, with the results of earlier runs."""

    def __init__(self, base: Compiled | None, known: Compiled | None) -> None:
        self._patterns: dict[tuple[str, bool, bool], Pattern] = {}
        if known:
            self._learn_symptoms(known, known.plan.atoms_by_pattern())
        if base:
            atoms = base.plan.atoms_by_pattern()
            self._learn_symptoms(base, atoms)
            for number, record in enumerate(record_patterns()):
                key = record.searched, record.often, True
                if not record.literal:
                    self._patterns[key] = Pattern(atoms[number], record.often)

    def __call__(self, regex: str, *, often: bool = False, picks: bool = True) -> Pattern:
        """Return the pattern for ``regex``. Raises like `make_pattern`."""
        key = regex, often, picks
        if key not in self._patterns:
            from logdoctor.matcher.scan_pattern import make_pattern

            self._patterns[key] = make_pattern(regex, often=often, picks=picks)
        return self._patterns[key]

    def for_record(self, record: RecordPattern) -> Pattern:
        """Return the pattern by which the scan finds a record."""
        if record.literal:
            from logdoctor.matcher.scan_pattern import literal_pattern

            return literal_pattern(record.literal, often=record.often)
        return self(record.searched, often=record.often)

    def _learn_symptoms(self, compiled: Compiled, atoms: Mapping[int, tuple[Atom, ...]]) -> None:
        symptoms = (symptom for rule in compiled.rules for symptom in rule.symptoms)
        for number, symptom in enumerate(symptoms, compiled.first_symptom):
            if number in atoms:
                key = str(symptom.text), False, not _is_of_record(symptom)
                self._patterns[key] = Pattern(atoms[number], picks=key[2])


def _without_examples(rule: Rule) -> Rule:
    """Return the rule as a diagnosis needs it. Shipped rules lose their path, which differs by machine."""
    is_ours = rule.path.startswith(f"{shipped_rules()}{os.sep}")
    return replace(rule, path="" if is_ours else rule.path, examples=(), near_misses=())


def _digest(rules: Iterable[Rule], *tables: Mechanism | Defects) -> str:
    contents = sorted(msgspec.json.encode(replace(rule, path=""), order="sorted") for rule in rules)
    contents += (msgspec.json.encode(table, order="sorted") for table in tables)
    return blake2b(b"\n".join(contents), digest_size=6).hexdigest()


def _symptom_pattern(rule: Rule, symptom: Symptom, derive: _Deriver, errors: list[RuleError]) -> Pattern:
    """Return the pattern to scan for.

    It has no atoms without a text. The text of a record of a format picks no line, because the pattern of the format
    does. If that text is too weak to scan for, the pattern has no atoms. Any other weak text adds an error.
    """
    if symptom.text is None:
        return Pattern(())
    of_record = _is_of_record(symptom)
    try:
        return derive(symptom.text, picks=not of_record)
    except ValueError as error:
        if not of_record:
            what = f"the text of the symptom '{symptom.name}' is too weak for the scan"
            errors.append(RuleError(what, rule.path, str(error), "add literal words to it, or a kind to the symptom"))
        return Pattern(())


def _is_of_record(symptom: Symptom) -> bool:
    """Return True if only records of formats show the symptom."""
    return not _is_wanted(symptom.kind, "text.line") or not _is_wanted(symptom.format, "text")


def _is_wanted(glob: str | None, name: str) -> bool:
    return glob is None or fits(name, glob)


def compile_tables() -> dict[str, bytes]:
    """Return the tables of a wheel (see `logdoctor.pack.shipped`)."""
    compiled = compile_rules([shipped_rules()])
    return {TABLE: msgspec.msgpack.encode(compiled), format_table.TABLE: format_table.encode_format_table()}
