"""The texts and expressions for which the scan picks lines, with the kinds and symptoms that own them.

``python forms.py`` prints them one a line, ``python forms.py --texts`` the plain texts among them, for ``grep -F -f``.
"""

from __future__ import annotations

import sys

from logdoctor.logs import record_patterns
from logdoctor.matcher import Atom
from logdoctor.pipeline.knowledge import compile_rules
from logdoctor.ruleset import shipped_rules


def owners_by_atom() -> dict[Atom, list[str]]:
    """Return atom -> kinds and symptoms that own it, without the atoms that pick no line."""
    compiled = compile_rules([shipped_rules()])
    symptoms = [f"{rule.id} ({symptom.name})" for rule in compiled.rules for symptom in rule.symptoms]
    names = [*(record.kind for record in record_patterns()), *symptoms]
    plan = compiled.plan
    inner = plan.inner
    owned = enumerate(zip(plan.atoms, plan.owners, strict=True))
    return {atom: [names[i] for i in owners] for number, (atom, owners) in owned if number not in inner}


def main() -> None:
    atoms = owners_by_atom()
    if sys.argv[1:] == ["--texts"]:
        print("\n".join(atom.text for atom in atoms if not atom.is_expression))
    else:
        print("\n".join(atom.expression.decode() for atom in atoms))


if __name__ == "__main__":
    main()
