"""SARIF 2.1.0 (OASIS, errata 01). Code hosts and CI systems show it beside the files.

Each cause is a result at the line of its proof. The remedy of a rule is the help of its signature.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from logdoctor.model import Cause, Diagnosis, Evidence, Problem
from logdoctor.model.escape import escape_all
from logdoctor.render.catalogue import Catalogue
from logdoctor.render.document import RenderOptions
from logdoctor.render.entity_names import location_name, place_name
from logdoctor.render.phrases import is_link

SHARED = True
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
UNKNOWN = "unknown"
"""Rule id of the result for a failure without a known cause."""


def render(diagnosis: Diagnosis, options: RenderOptions) -> str:
    """Return ``diagnosis`` as a SARIF log with one run."""
    diagnosis = escape_all(diagnosis, tab=" ")
    signatures = [*dict.fromkeys(cause.signature for cause in diagnosis.causes)]
    rules = [_rule(next(c for c in diagnosis.causes if c.signature == name), diagnosis.verdict) for name in signatures]
    results = [
        _result(cause, signatures.index(cause.signature), diagnosis, options.words) for cause in diagnosis.causes
    ]
    if diagnosis.verdict == "unknown" and not results:
        rules, results = [_unknown_rule(options.words)], [_unknown(diagnosis, options.words)]
    run = {
        "tool": {"driver": {"name": "logdoctor", "version": diagnosis.made_by.version or "0", "rules": rules}},
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [_notice(problem) for problem in diagnosis.problems],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {"job": diagnosis.name, "verdict": diagnosis.verdict, "decision": diagnosis.decision.do},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=True, indent=1) + "\n"


def _rule(cause: Cause, verdict: str) -> dict[str, Any]:
    links = [reference for reference in cause.references if is_link(reference)]
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate((step.text for step in cause.steps), 1))
    return {
        "id": cause.signature,
        "shortDescription": {"text": cause.title or cause.signature or "?"},
        **({"help": {"text": steps}} if steps else {}),
        **({"helpUri": links[0]} if links else {}),
        "defaultConfiguration": {"level": _level(verdict)},
        "properties": {"tags": [cause.signature.partition(".")[0]]},
    }


def _result(cause: Cause, index: int, diagnosis: Diagnosis, words: Catalogue) -> dict[str, Any]:
    who = location_name(cause.culprit, words) or place_name(cause.place, words)
    title = words("named", title=cause.title, who=who) if who else cause.title
    file = cause.evidence[0].line.file if cause.evidence else ""
    identity = f"{cause.signature}\0{file}\0{','.join(map(str, cause.culprit.ranks))}"
    return {
        "ruleId": cause.signature,
        "ruleIndex": index,
        "level": _level(diagnosis.verdict),
        "message": {"text": "\n".join(part for part in (title, cause.summary) if part) or cause.signature or "?"},
        "locations": [_location(line) for line in cause.evidence[:1]],
        "relatedLocations": _related(cause.evidence[1:]),
        "rank": round(min(max(cause.confidence, 0.0), 1.0) * 100, 1),
        "partialFingerprints": {"logdoctorCause/v1": sha256(identity.encode()).hexdigest()[:32]},
        "properties": {
            "confidence": round(cause.confidence, 4),
            "by": cause.by,
            "action": cause.action,
            "ranks": list(cause.culprit.ranks),
            "hosts": list(cause.culprit.hosts),
            "place": {"ranks": list(cause.place.ranks), "hosts": list(cause.place.hosts)},
        },
    }


def _unknown_rule(words: Catalogue) -> dict[str, Any]:
    return {"id": UNKNOWN, "shortDescription": {"text": words("unknown")}, "defaultConfiguration": {"level": "warning"}}


def _unknown(diagnosis: Diagnosis, words: Catalogue) -> dict[str, Any]:
    return {
        "ruleId": UNKNOWN,
        "ruleIndex": 0,
        "level": _level(diagnosis.verdict),
        "message": {"text": "\n".join((words("unknown"), *diagnosis.decision.collect))},
        "locations": [_location(line) for line in diagnosis.unexplained[:1]],
        "relatedLocations": _related(diagnosis.unexplained[1:]),
    }


def _level(verdict: str) -> str:
    return {"failed": "error", "stopped": "warning", "unknown": "warning"}.get(verdict, "note")


def _related(evidence: Sequence[Evidence]) -> list[dict[str, Any]]:
    found = [{"id": number, **_location(line)} for number, line in enumerate(evidence, 1)]
    return [new for n, new in enumerate(found) if all({**new, "id": 0} != {**old, "id": 0} for old in found[:n])]


def _location(evidence: Evidence) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": _uri(evidence.line.file)}}
    if evidence.line.number > 0:
        location["region"] = {"startLine": evidence.line.number, "snippet": {"text": evidence.line.text}}
    return {"physicalLocation": location, **({"message": {"text": evidence.why}} if evidence.why else {})}


def _uri(file: str) -> str:
    """Return a path as a URI reference: ``logs/rank 3.log`` becomes ``logs/rank%203.log``.

    A relative path stays relative, because its base is the checkout or folder of the reader.
    """
    quoted = quote(file.encode("utf-8", "surrogatepass"), safe="/")
    return f"file://{quoted}" if quoted.startswith("/") else quoted


def _notice(problem: Problem) -> dict[str, Any]:
    text = ": ".join(part for part in (problem.where, problem.what, problem.why) if part)
    return {"level": "warning", "message": {"text": text or "?"}}
