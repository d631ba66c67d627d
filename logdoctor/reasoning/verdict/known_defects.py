"""Known defects of the packages that a job uses."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from logdoctor.model import Defect, DefectRow, Defects, Diagnosis, Line, PackageRow, Step
from logdoctor.model.catalogue import Catalogue
from logdoctor.pack.version_ranges import is_between
from logdoctor.reasoning.verdict.conditions import row_holds
from logdoctor.reasoning.verdict.fitting_steps import settings_in

Seen = tuple[str, Line]
"""A version and the line that tells it."""


def tell_defects(
    diagnosis: Diagnosis, known: Defects, version_of: Callable[[PackageRow], Seen | None], words: Catalogue
) -> tuple[Diagnosis, tuple[str, ...]]:
    """Return the diagnosis with the known defects of its answer, and what to collect to know of others.

    A defect is told if the answer has its signature, its condition holds, and a line tells a version that has it. To
    use another version is then the second step, and the first one if it takes the place of a step of the rule.
    """
    cause = diagnosis.answer
    if cause is None or cause.by != "rule":
        return diagnosis, ()
    fitting = [row for row in known.rows if row.signature == cause.signature and row_holds(row.when, cause, diagnosis)]
    seen = {p.package: version_of(p) for p in known.packages if any(row.package == p.package for row in fitting)}
    unknown = [p.name for p in known.packages if p.package in seen and seen[p.package] is None]
    told = [
        _defect(row, found, known, words.lang)
        for row in fitting
        if (found := seen.get(row.package)) is not None and is_between(found[0], row.first, row.last)
    ]
    others = [step for step in cause.steps if not any(_says_the_same(step, defect) for defect in told)]
    is_first = len(others) < len(cause.steps)  # the way round is among the steps of the rule
    place = 0 if is_first else 1
    steps = (*others[:place], *(_step(defect, words) for defect in told), *others[place:])
    answer = replace(cause, steps=steps, defects=tuple(told))
    ask = tuple(words("collect.version", package=name) for name in unknown)
    return replace(diagnosis, causes=(answer, *diagnosis.causes[1:])), ask


def _defect(row: DefectRow, seen: Seen, known: Defects, lang: str) -> Defect:
    version, line = seen
    return Defect(
        package=known.name(row.package),
        version=version,
        line=line,
        first=row.first,
        last=row.last,
        mended=row.mended,
        defect=known.say(row.defect, lang),
        way_round=known.say(row.way_round, lang),
        source=row.source,
    )


def _step(defect: Defect, words: Catalogue) -> Step:
    """Return the step to another version, and the way to do without it."""
    name, version, told = defect.package, defect.version, defect.defect
    key = "defect.mended" if defect.mended else "defect"
    text = words(key, package=name, version=version, mended=defect.mended, defect=told)
    way = words("defect.until" if defect.mended else "defect.way", way=defect.way_round) if defect.way_round else ""
    return Step(words("space").join(filter(None, (text, way))))


def _says_the_same(step: Step, defect: Defect) -> bool:
    """Return whether the step only names the newer version, or the settings of the way round."""
    settings = settings_in(step.text)
    is_same = bool(settings) and settings <= settings_in(defect.way_round)
    return is_same or (bool(defect.mended) and defect.mended in step.text)
