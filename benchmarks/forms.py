"""The expressions that the scan searches for, with their kinds or symptoms.

``python forms.py`` prints them one a line, ``python forms.py --texts`` the plain texts among them, for ``grep -F -f``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase

from logdoctor.logs import record_patterns
from logdoctor.matcher import make_pattern
from logdoctor.ruleset import shipped_rules
from logdoctor.ruleset.loading import load


def named_forms() -> dict[str, str]:
    """Return expression -> kind or symptom. If several share an expression, the first counts."""
    forms: dict[str, str] = {}
    for name, pattern, often in _patterns():
        with suppress(ValueError):  # too weak for the scan: the symptom is found by its kind
            for atom in make_pattern(pattern, often=often).atoms:
                forms.setdefault(atom, name)
    return forms


PLAIN = re.compile(r"(?:\(\?i\))?((?:[^\\.^$*+?{}\[\]|()]|\\\W)+)")


def plain_texts(forms: Iterable[str]) -> list[str]:
    """Return the text of each form that matches one text only, in upper or lower case."""
    return [re.sub(r"\\(.)", r"\1", plain[1]) for form in forms if (plain := PLAIN.fullmatch(form))]


def main() -> None:
    forms = named_forms()
    print("\n".join(plain_texts(forms) if sys.argv[1:] == ["--texts"] else forms))


def _patterns() -> Iterator[tuple[str, str, bool]]:
    for record in record_patterns():
        yield record.kind, record.searched, record.often
    for rule in load([shipped_rules()]).rules:
        for symptom in rule.symptoms:
            if symptom.text and (symptom.kind is None or fnmatchcase("text.line", symptom.kind)):
                yield f"{rule.id} ({symptom.name})", symptom.text, False


if __name__ == "__main__":
    main()
