"""For tools that show findings beside files, as code hosts and CI systems do: SARIF 2.1.0 (OASIS, errata 01).

One result a cause, at the line that proves it; what a rule says to do is the help of its signature.
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
from logdoctor.render.report import Page, is_link
from logdoctor.render.who import who_is

SHARED = True
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
UNKNOWN = "unknown"
"""The rule id of the result that says that something failed and nothing explains it."""


def render(diagnosis: Diagnosis, page: Page) -> str:
    """Give ``diagnosis`` as a SARIF log of one run."""
    told = escape_all(diagnosis, tab=" ")
    signatures = [*dict.fromkeys(cause.signature for cause in told.causes)]
    rules = [_rule(next(c for c in told.causes if c.signature == one), told.verdict) for one in signatures]
    results = [_result(cause, signatures.index(cause.signature), told, page.words) for cause in told.causes]
    if told.verdict == "unknown" and not results:
        rules, results = [_unknown_rule(page.words)], [_unknown(told, page.words)]
    run = {
        "tool": {"driver": {"name": "logdoctor", "version": told.made_by.version or "0", "rules": rules}},
        "invocations": [
            {"executionSuccessful": True, "toolExecutionNotifications": [_notice(one) for one in told.problems]}
        ],
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {"job": told.job, "verdict": told.verdict, "action": told.decision.action},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=True, indent=1) + "\n"


def _rule(cause: Cause, verdict: str) -> dict[str, Any]:
    links = [one for one in cause.references if is_link(one)]
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(cause.remedy, 1))
    return {
        "id": cause.signature,
        "shortDescription": {"text": cause.title or cause.signature or "?"},
        **({"help": {"text": steps}} if steps else {}),
        **({"helpUri": links[0]} if links else {}),
        "defaultConfiguration": {"level": _level(verdict)},
        "properties": {"tags": [cause.signature.partition(".")[0]]},
    }


def _result(cause: Cause, index: int, told: Diagnosis, words: Catalogue) -> dict[str, Any]:
    who = who_is(cause.culprit, words)
    head = words("named", title=cause.title, who=who) if who else cause.title
    where = cause.evidence[0].line if cause.evidence else None
    print_of = f"{cause.signature}\0{where.file if where else ''}\0{','.join(map(str, cause.culprit.ranks))}"
    return {
        "ruleId": cause.signature,
        "ruleIndex": index,
        "level": _level(told.verdict),
        "message": {"text": "\n".join(part for part in (head, cause.summary) if part) or cause.signature or "?"},
        "locations": [_location(one) for one in cause.evidence[:1]],
        "relatedLocations": _related(cause.evidence[1:]),
        "rank": round(min(max(cause.confidence, 0.0), 1.0) * 100, 1),
        "partialFingerprints": {"logdoctorCause/v1": sha256(print_of.encode()).hexdigest()[:32]},
        "properties": {
            "confidence": round(cause.confidence, 4),
            "by": cause.by,
            "action": cause.action,
            "ranks": list(cause.culprit.ranks),
            "hosts": list(cause.culprit.hosts),
        },
    }


def _unknown_rule(words: Catalogue) -> dict[str, Any]:
    return {"id": UNKNOWN, "shortDescription": {"text": words("unknown")}, "defaultConfiguration": {"level": "warning"}}


def _unknown(told: Diagnosis, words: Catalogue) -> dict[str, Any]:
    return {
        "ruleId": UNKNOWN,
        "ruleIndex": 0,
        "level": _level(told.verdict),
        "message": {"text": "\n".join((words("unknown"), *told.advice))},
        "locations": [_location(one) for one in told.unexplained[:1]],
        "relatedLocations": _related(told.unexplained[1:]),
    }


def _level(verdict: str) -> str:
    return {"failure": "error", "unknown": "warning"}.get(verdict, "note")


def _related(evidence: Sequence[Evidence]) -> list[dict[str, Any]]:
    found = [{"id": number, **_location(one)} for number, one in enumerate(evidence, 1)]
    return [one for n, one in enumerate(found) if all({**one, "id": 0} != {**other, "id": 0} for other in found[:n])]


def _location(evidence: Evidence) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(evidence.line.file)}}
    if evidence.line.number > 0:
        place["region"] = {"startLine": evidence.line.number, "snippet": {"text": evidence.line.text}}
    return {"physicalLocation": place, **({"message": {"text": evidence.why}} if evidence.why else {})}


def _uri(file: str) -> str:
    """A path as a reference: relative ones stay relative, so that the reader's checkout or folder is the base."""
    quoted = quote(file.encode("utf-8", "surrogatepass"), safe="/")
    return f"file://{quoted}" if quoted.startswith("/") else quoted


def _notice(problem: Problem) -> dict[str, Any]:
    said = ": ".join(part for part in (problem.where, problem.what, problem.why) if part)
    return {"level": "warning", "message": {"text": said or "?"}}
