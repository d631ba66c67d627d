"""The words of a rule file: title, cause and remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

from logdoctor.codes import column_names
from logdoctor.model import ABSENCES, CLAIMS, FACT_TYPES, Confirmed, NoHelp, StepWords, Words
from logdoctor.model.tools import TOOLS
from logdoctor.pack.version_ranges import is_requirement
from logdoctor.pack.yaml_lines import Faults, Path

STEP_KEYS = ("do", "run", "when", "first_if", "silences", "confirmed")
WHEN_KEYS = (*TOOLS, "knows", "lacks", "is", "says", "version")
CONFIRMED_KEYS = ("threads", "see", "last")
COLUMN = re.compile(r"\{(\w+\.\w+)[?}]")
MOST_BARS = 8
"""Bars of a sentence. Each may double its forms."""
_INSERTION = re.compile(r"\{[\w.]+\?")


def read_words(data: dict[str, Any], path: Path, faults: Faults) -> Words:
    remedy = data.get("remedy")
    steps = [remedy] if isinstance(remedy, str | dict) else remedy if isinstance(remedy, list) else []
    if remedy is not None and not steps:
        faults.add((*path, "remedy"), "'remedy' must be a list of steps", "", "[one, {do: two, run: command}]")
    words = Words(
        _sentence(data.get("title"), (*path, "title"), faults),
        _sentence(data.get("cause"), (*path, "cause"), faults),
        tuple(read_step(step, (*path, "remedy", number), faults) for number, step in enumerate(steps)),
    )
    for text in (*(form for forms in words.texts for form in forms), *(c for s in words.remedy for c in s.run)):
        for name in COLUMN.findall(text):
            check_column(name, path, faults)
    return words


def _forms(value: Any, path: Path, faults: Faults) -> tuple[str, ...]:
    """Return the forms of a sentence, at least one."""
    forms = [value] if isinstance(value, str) else value
    if isinstance(forms, list) and forms and all(isinstance(form, str) and form.strip() for form in forms):
        return tuple(form.strip() for form in forms)
    if value is not None:
        faults.add(path, f"'{path[-1]}' must be a text or a list of texts", "", "[the fullest form, a shorter form]")
    return ("",)


def _sentence(value: Any, path: Path, faults: Faults) -> tuple[str, ...]:
    """Return the forms of a sentence with its alternatives spelled out."""
    forms = _forms(value, path, faults)
    if crowded := [form for form in forms if form.count("|") > MOST_BARS]:
        faults.add(path, f"a sentence has more than {MOST_BARS} alternatives", crowded[0], "several forms")
        return forms
    return tuple(told for form in forms for told in spell_out(form))


def spell_out(sentence: str) -> Iterator[str]:
    """Yield the forms for which a sentence stands.

    ``{Rank {rank}|A process} ended`` stands for ``Rank {rank} ended`` and ``A process ended``.
    """
    if "|" not in sentence:  # as most are
        return iter((sentence,))
    return map("".join, product(*map(_alternatives, _split_at_braces(sentence))))


def _alternatives(part: str) -> list[str]:
    """Return the texts between the bars of a part in braces. Return any other part as it is."""
    if not part.startswith("{") or not part.endswith("}") or _INSERTION.match(part):
        return [part]
    choices = _split_at_bars(part[1:-1])
    return [form for choice in choices for form in spell_out(choice)] if len(choices) > 1 else [part]


def _split_at_braces(text: str) -> list[str]:
    """Split the text before and after each outer pair of braces."""
    depths = [*_depths(text)]
    cuts = (i + (depth == 0) for i, depth in enumerate(depths) if (text[i], depth) in (("{", 1), ("}", 0)))
    return [text[start:end] for start, end in pairwise((0, *cuts, len(text)))]


def _split_at_bars(text: str) -> list[str]:
    """Split the text at the bars outside of braces."""
    bars = (i for i, depth in enumerate(_depths(text)) if text[i] == "|" and depth == 0)
    return [text[start + 1 : end] for start, end in pairwise((-1, *bars, len(text)))]


def _depths(text: str) -> Iterator[int]:
    """Yield for each character the number of braces that are open after it."""
    depth = 0
    for char in text:
        depth = max(0, depth + {"{": 1, "}": -1}.get(char, 0))
        yield depth


def read_step(value: Any, path: Path, faults: Faults) -> StepWords:
    if not isinstance(value, dict):
        return StepWords(_sentence(value, path, faults))
    if not value.get("do") or set(value) - {*STEP_KEYS}:
        faults.add(path, "this step is not understood", "", f"a text, or a mapping with {', '.join(STEP_KEYS)}")
    commands = _forms(value["run"], (*path, "run"), faults) if "run" in value else ()
    when, first = (_conditions(value.get(key) or {}, (*path, key), faults) for key in ("when", "first_if"))
    confirmed = _confirmed(value.get("confirmed") or {}, (*path, "confirmed"), faults)
    if (silences := value.get("silences", False)) not in (True, False):
        faults.add((*path, "silences"), "'silences' is true or false", "", "silences: true")
    do = _sentence(value.get("do"), (*path, "do"), faults)
    return StepWords(do, commands, when, first, confirmed, silences is True)


def _confirmed(value: Any, path: Path, faults: Faults) -> Confirmed:
    if value == {}:
        return Confirmed()
    if isinstance(value, dict) and value.get("see") and not set(value) - {*CONFIRMED_KEYS}:
        threads, last, see = value.get("threads", 0), value.get("last", 0), _forms(value["see"], (*path, "see"), faults)
        if isinstance(threads, int) and isinstance(last, int) and threads >= 0:
            return Confirmed(threads, see, last)
    faults.add(
        path, "'confirmed' is not understood", "", "{threads: 3, see: [owner/repo#12, NCCL user guide], last: 2026}"
    )
    return Confirmed()


def read_no_help(value: Any, path: Path, faults: Faults) -> tuple[NoHelp, ...]:
    """Return the advice that does not help."""
    if value is None:
        return ()
    rows = value if isinstance(value, list) else [None]
    read = []
    for number, row in enumerate(rows):
        is_read = isinstance(row, dict) and {"text", "because"} <= {*row} <= {"text", "because", "see"}
        if is_read and isinstance(row["text"], str) and isinstance(row["because"], str):
            see = _forms(row["see"], (*path, number, "see"), faults) if "see" in row else ()
            read.append(NoHelp(row["text"], row["because"].strip(), see))
        else:
            cure = "[{text: regular expression, because: reason, see: [owner/repo#12]}]"
            faults.add((*path, number), "'not' is not understood", "", cure)
    return tuple(read)


def _conditions(value: Any, path: Path, faults: Faults) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict) or set(value) - {*WHEN_KEYS}:
        faults.add(path, f"'{path[-1]}' of a step is not understood", "", f"some of {', '.join(WHEN_KEYS)}")
        return ()
    conditions = tuple((key, _forms(wanted, (*path, key), faults)) for key, wanted in value.items())
    for key, wanted in conditions:
        unknown = sorted({*wanted} - {*TOOLS[key].values()}) if key in TOOLS else ()
        if unknown:
            known = f"one of {', '.join(sorted({*TOOLS[key].values()}))}"
            faults.add((*path, key), f"no {key} is called {', '.join(unknown)}", "", known)
        if key == "is" and not all("=" in term for term in wanted):
            faults.add((*path, key), "'is' compares a value", "", "NAME=VALUE,...")
        if key == "version" and not all(map(is_requirement, wanted)):
            faults.add((*path, key), "'version' names a package and its versions", "", "nccl>=2.27,<2.28")
    return conditions


def check_column(name: str, path: Path, faults: Faults) -> None:
    """Check that ``xid.meaning`` names a field with codes, and a column of their table.

    ``claim.first``, ``denies.frames`` and facts of the examination (``size.wanted``) have columns of their own.
    """
    field, dot, column = name.partition(".")
    of_words = {"claim": frozenset(CLAIMS), "denies": ABSENCES}
    columns = of_words.get(field) or (column_names(field) if dot else frozenset({column}))
    if column not in columns and not (dot and field in FACT_TYPES):
        why = f"its columns are {', '.join(sorted(columns))}" if columns else f"no catalogue explains '{field}'"
        faults.add(path, f"nothing is known of '{name}'", why, "logdoctor explain lists what is known")
