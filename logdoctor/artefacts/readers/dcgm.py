"""Reports of DCGM: ``dcgmi diag -j`` and ``dcgmi health -c -j``.

A result of a test that failed is an assertion about a GPU, except where DCGM itself calls it a matter of configuration.
What passed, was skipped or warned is counted.

Sources: DCGM 2 to 4, dcgmi/Diag.cpp, dcgmi/Health.cpp, nvvs/include/NvvsJsonStrings.h, dcgmlib/dcgm_errors.h.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from logdoctor.artefacts.document import Document, Fact
from logdoctor.artefacts.json_pieces import members, quote
from logdoctor.model import Level, Value
from logdoctor.model.numbers import number

KIND = "dcgm"
PER_HOST = ("dcgm", "dcgmi", "diag", "health")
# Strings, compiled at first use, because the readers are imported for each log.
_DIAG = rb"\s*\{[\s\S]{0,400}?\"DCGM (?:GPU )?Diagnostic\"\s*:\s*\{"
_HEALTH = rb"\s*\{\s*\"body\"\s*:\s*\{[\s\S]*\"(?:Overall Health|Health Monitor Report|\w+ system)\""
_OUTCOMES = ("Pass", "Skip", "Warn", "Fail")
_CONFIGURATION = 5
"""``DCGM_ERROR_CONFIG``, a severity of DCGM 3 and 4."""
_SETTINGS = r"(?i)persistence mode|environment variables|graphics processes|permissions and os blocks"
"""Tests of the deployment that say how the host is set up. In DCGM 4 they are messages of one test, ``software``."""


def sniff(head: bytes) -> bool:
    return head.lstrip()[:1] == b"{" and (re.match(_DIAG, head) or re.match(_HEALTH, head)) is not None


def read(document: Document) -> Iterator[Fact]:
    for where, value, line in members(document):
        if not isinstance(value, Mapping):
            continue
        if where == "body":
            yield from _health(value, line)
        elif where.startswith("DCGM"):
            for at, category in enumerate(_list(value, "test_categories")):
                yield from _category(category, f"{where}.test_categories[{at}]", line)


def _category(category: Mapping[str, Any], where: str, line: int) -> Iterator[Fact]:
    """Yield each result that failed, and how many there were of each kind."""
    name, outcomes = str(category.get("category")), Counter[str]()
    for at, test in enumerate(_list(category, "tests")):
        for place, result in enumerate(_list(test, "results")):
            outcome = str(result.get("status")).capitalize()
            outcomes[outcome] += 1
            if outcome == "Fail":
                yield _failed(str(test.get("name")), result, f"{where}.tests[{at}].results[{place}]", line)
    counts = ", ".join(f"{outcomes[outcome]} {outcome}" for outcome in _OUTCOMES if outcomes[outcome])
    yield Fact("gpu.checks", f"{name}: {counts or 'no result'}", {"checks": name}, line, f"{where}.category")


def _failed(test: str, result: Mapping[str, Any], where: str, line: int) -> Fact:
    given = result.get("warnings")
    entries = given if isinstance(given, list) else [given] if given else []
    told = [entry if isinstance(entry, Mapping) else {"warning": entry} for entry in entries]
    words = "; ".join(text for entry in told if (text := _text(entry.get("warning", entry.get("warnings")))))
    severities = {entry.get("error_severity") for entry in told}
    is_setting = severities == {_CONFIGURATION} or (not severities - {None} and re.search(_SETTINGS, words or test))
    ids = (result.get(key) for key in ("entity_id", "gpu_id", "gpu_ids"))
    gpu = next((str(value) for value in ids if value is not None and value != ""), "")
    message = f"{test} Fail" + (f": {words}" if words else "")
    path = f"{where}.warnings" if words else f"{where}.status"
    return _diagnosis(message, gpu, line, path, "warning" if is_setting else "error")


def _health(body: Mapping[str, Any], line: int) -> Iterator[Fact]:
    """Yield the systems of a GPU that fail, and the verdict on all."""
    for group, entities in body.items():
        for entity, report in _children(entities):
            for system, told in _children(_table(report, "children").get("Errors")):
                if told.get("value") == "Failure":
                    lines = told.get("overflow")
                    words = " ".join(_text(text) for text in lines) if isinstance(lines, list) else ""
                    gpu = entity if group == "GPU" else ""
                    where = f"body.{group}.{entity}.Errors.{system}"
                    yield _diagnosis(f"{group} {entity} {system} Failure: {words}", gpu, line, where, "error")
    overall = _table(body, "Overall Health")
    if overall:
        yield Fact("gpu.checks", quote({"Overall Health": overall.get("value")}, "Overall Health"), {}, line, "body")


def _diagnosis(message: str, gpu: str, line: int, where: str, level: Level) -> Fact:
    found = number(gpu)
    fields: dict[str, Value] = {"message": message[:300], **({"gpu": found} if found is not None else {})}
    return Fact("gpu.diagnosis", message, fields, line, where, level)


def _children(value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, child in _table(value, "children").items():
        if isinstance(child, Mapping):
            yield str(name), child


def _table(value: Any, name: str) -> Mapping[str, Any]:
    table = value.get(name) if isinstance(value, Mapping) else None
    return table if isinstance(table, Mapping) else {}


def _list(table: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    value = table.get(name)
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
