"""The law over a case: what logdoctor says of its logs is what its label says happened."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logdoctor.knowledge import Knowledge
    from logdoctor.model import Diagnosis


def faults(about: Mapping[str, Any], found: Diagnosis) -> list[str]:
    """Where a diagnosis differs from the truth that a case.yaml tells: in its signature, its culprit, its proof."""
    from logdoctor.authoring.rule_check import first_signature  # here, so that the lab can be listed without logdoctor

    right = {about["label"], *about.get("also", ())}
    wrong = [] if first_signature(found) in right else [f"it is {about['label']}, said {first_signature(found)}"]
    if not found.causes:
        return wrong
    cause, culprit = found.causes[0], about.get("culprit") or {}
    for name, named in (("rank", cause.culprit.ranks), ("host", cause.culprit.hosts)):
        if name in culprit and culprit[name] not in named:
            wrong.append(f"it is {name} {culprit[name]}, said {', '.join(map(str, named)) or 'none'}")
    shown = "\n".join(e.line.text for e in cause.evidence)
    if not any(proof in shown for proof in about["evidence"]):
        wrong.append(f"no proof holds any of {about['evidence']}")
    return wrong


def said(found: Diagnosis) -> str:
    """A diagnosis in a line: signature and culprit."""
    from logdoctor.authoring.rule_check import first_signature

    if not found.causes:
        return first_signature(found)
    who = found.causes[0].culprit
    ranks = f" rank {', '.join(map(str, sorted(who.ranks)))}" if who.ranks else ""
    return first_signature(found) + ranks + (f" on {', '.join(sorted(who.hosts))}" if who.hosts else "")


def diagnosed(folder: Path, about: Mapping[str, Any]) -> Diagnosis:
    """The diagnosis of the logs of a case, by the shipped rules alone; its report names them as they are given."""
    from logdoctor import diagnose

    return diagnose(sorted(folder.rglob("*.log")), name=folder.name, hung=bool(about.get("hung")), knowledge=_known())


@functools.cache
def _known() -> Knowledge:
    from logdoctor.knowledge import gather
    from logdoctor.rulebook import shipped_rules

    return gather([shipped_rules()])
