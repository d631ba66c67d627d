"""Steps that a site adds to the remedies of rules: ``mends.yaml`` in its folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from logdoctor.model import Rule, RuleError, StepWords, pack_words
from logdoctor.model.own_files import read_source
from logdoctor.pack.yaml_lines import Document, Faults, parse
from logdoctor.ruleset import MENDS_FILE
from logdoctor.ruleset.words_reader import read_step

Mends = dict[str, tuple[StepWords, ...]]
"""Steps by the id of a rule or signature."""
ALWAYS = (("lacks", ()),)
"""A condition that holds for all jobs. Without it confirmed steps would stand before those of the site."""


def read_mends(folder: Path, errors: list[RuleError]) -> tuple[Mends, Faults]:
    """Return the steps of a folder, and a place for faults of their use. A missing file adds none."""
    path = folder / MENDS_FILE
    try:
        text = read_source(path, "the file of mends could not be read") if path.exists() else "[]"
        document = parse(text, str(path))
    except RuleError as error:
        errors.append(error)
        document = Document([], file=str(path))
    faults, mends = Faults(document, str(path)), Mends()
    rows: list[Any] = document.data if isinstance(document.data, list) else [document.data]
    for number, row in enumerate(rows):
        if isinstance(row, dict) and isinstance(row.get("of"), str):
            step = read_step({key: value for key, value in row.items() if key != "of"}, (number,), faults)
            mends[row["of"]] = (*mends.get(row["of"], ()), step)
        else:
            faults.add((number,), "this mend is not understood", "", "{of: RULE, do: TEXT}, as a step of a remedy")
    return mends, faults


def with_mends(rules: Sequence[Rule], mends: Mends, faults: Faults) -> Iterator[Rule]:
    """Yield the rules that get steps. The added ones stand first."""
    names = {name for rule in rules for name in (rule.id, rule.signature)}
    for name in sorted(mends.keys() - names):
        faults.add((), f"a mend is of '{name}', which nothing has", "", "see: logdoctor rules list")
    for rule in rules:
        if steps := tuple(step for name in dict.fromkeys((rule.id, rule.signature)) for step in mends.get(name, ())):
            added = tuple(replace(step, first=step.first or ALWAYS) for step in steps)
            words = tuple((lang, replace(w, remedy=(*added, *w.remedy))) for lang, w in rule.words)
            yield replace(rule, packed_words=pack_words(words))
