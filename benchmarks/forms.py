"""The scan forms of everything logdoctor knows, with a name each: those of parsers' records and of rules' symptoms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from logdoctor.parsers import records
from logdoctor.prefilter import scan_form
from logdoctor.rulebook import shipped_rules
from logdoctor.rulebook.loading import load


def named_forms() -> dict[str, str]:
    """Form -> who wants it (the first one where several do)."""
    forms: dict[str, str] = {}
    for name, pattern in _patterns():
        with suppress(ValueError):  # of a symptom that its kind alone finds
            forms.setdefault(scan_form(pattern), name)
    return forms


def main() -> None:
    """Print the forms, one a line."""
    print("\n".join(named_forms()))


def _patterns() -> Iterator[tuple[str, str]]:
    for record in records():
        yield record.kind, record.scan or record.pattern
    for rule in load([shipped_rules()]).rules:
        for symptom in rule.symptoms:
            if symptom.text:
                yield f"{rule.id} ({symptom.name})", symptom.text


if __name__ == "__main__":
    main()
