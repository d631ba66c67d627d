"""The standard sentence of each sort of fact."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from logdoctor.model import Fact, FactType, say_fact
from logdoctor.model.catalogue import Catalogue

ORDER: Sequence[FactType] = ("size", "count", "members", "version", "name", "address", "path")
"""Sorts of facts that have a sentence, the strongest first."""
FORMS: dict[FactType, Sequence[tuple[str, ...]]] = {
    "size": (
        ("wanted", "free", "total"),
        ("wanted", "free"),
        ("wanted", "limit"),
        ("used", "limit"),
        ("got", "expected"),
    ),
    "count": (("wanted", "free"), ("got", "expected"), ("wanted", "existing")),
    "members": (("missing",),),
    "version": (("compiled", "loaded"), ("required", "found"), ("loaded", "required"), ("driver", "required")),
    "name": (("wanted", "nearest"), ("wanted", "existing"), ("wanted",), ("component",)),
    "address": (("asked", "own"), ("asked",), ("listens",), ("refused",)),
    "path": (("missing",), ("denied",)),
}
"""Roles that one sentence tells together, the fullest first. The key of the sentence is ``fact.TYPE.ROLE-ROLE``."""
_FUNCTION = re.compile(r"[a-z][A-Z]|_")
"""A name that can only be that of a function. Others are words as well."""


def standard_sentences(facts: Sequence[Fact], words: Catalogue) -> Iterator[str]:
    """Yield the standard sentences of facts, that of the strongest sort first."""
    for sort in ORDER:
        by_role: dict[str, Fact] = {}
        for fact in facts:
            if fact.type == sort and not (fact.role == "component" and not _FUNCTION.search(str(fact.value))):
                by_role.setdefault(fact.role, fact)
        for roles in FORMS[sort]:
            if all(role in by_role for role in roles):
                places = {role: say_fact(by_role[role], words.lang) for role in roles}
                of = next((fact.of for role in roles if (fact := by_role[role]).of), "")
                key = f"fact.{sort}.{'-'.join(roles)}"
                yield words(f"{key}.of", of=of, **places) if of else words(key, **places)
                break


def tells_together(facts: Sequence[Fact], tells: Callable[[Fact], bool]) -> bool:
    """Return whether a text tells two facts that one sentence would tell together, such as what was wanted and free."""
    told = {(fact.type, fact.role) for fact in facts if tells(fact)}
    return any(
        len(roles) > 1 and all((sort, role) in told for role in roles)
        for sort, forms in FORMS.items()
        for roles in forms
    )
