"""What the scan looks for, with a name each: the plain texts and forms of parsers' records and of rules' symptoms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase

from logdoctor.parsers import records
from logdoctor.prefilter import make_pattern
from logdoctor.rulebook import shipped_rules
from logdoctor.rulebook.loading import load


def named_forms() -> dict[str, str]:
    """Plain text or form, as an expression -> who wants it (the first one where several do)."""
    forms: dict[str, str] = {}
    for name, pattern, often in _patterns():
        with suppress(ValueError):  # of a symptom that its kind alone finds
            for atom in make_pattern(pattern, often=often).atoms:
                forms.setdefault(atom, name)
    return forms


def main() -> None:
    """Print the forms, one a line."""
    print("\n".join(named_forms()))


def _patterns() -> Iterator[tuple[str, str, bool]]:
    for record in records():
        yield record.kind, record.scan or record.pattern, record.often
    for rule in load([shipped_rules()]).rules:
        for symptom in rule.symptoms:
            if symptom.text and (symptom.kind is None or fnmatchcase("text.line", symptom.kind)):
                yield f"{rule.id} ({symptom.name})", symptom.text, False


if __name__ == "__main__":
    main()
