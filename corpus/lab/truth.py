"""The truth of a case, compared with a diagnosis of its logs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logdoctor.model import Diagnosis
    from logdoctor.pipeline.knowledge import Knowledge


def faults(about: Mapping[str, Any], diagnosis: Diagnosis) -> list[str]:
    """Return where a diagnosis contradicts case.yaml: signature, culprit or evidence."""
    from logdoctor.authoring.rule_check import first_signature  # here, so that the lab can be listed without logdoctor

    signature, right = first_signature(diagnosis), {about["label"], *about.get("also", ())}
    wrong = [] if signature in right else [f"it is {about['label']}, said {signature}"]
    if not diagnosis.causes:
        return wrong
    cause, culprit = diagnosis.causes[0], about.get("culprit") or {}
    for name, values in (("rank", cause.culprit.ranks), ("host", cause.culprit.hosts)):
        if name in culprit and culprit[name] not in values:
            wrong.append(f"it is {name} {culprit[name]}, said {', '.join(map(str, values)) or 'none'}")
    evidence = "\n".join(e.line.text for e in cause.evidence)
    if not any(text in evidence for text in about["evidence"]):
        wrong.append(f"no proof holds any of {about['evidence']}")
    return wrong


def diagnose_case(folder: Path, about: Mapping[str, Any], lang: str = "en") -> Diagnosis:
    """Diagnose the logs of a case by the shipped rules alone. File names begin with ``folder``."""
    from logdoctor import diagnose

    logs = sorted(folder.rglob("*.log"))
    return diagnose(logs, name=folder.name, hung=bool(about.get("hung")), lang=lang, knowledge=_knowledge())


@functools.cache
def _knowledge() -> Knowledge:
    from logdoctor.pipeline.knowledge import gather
    from logdoctor.ruleset import shipped_rules

    return gather([shipped_rules()])
