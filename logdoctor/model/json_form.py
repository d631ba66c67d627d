"""JSON form of the model: one walk over its structs.

A struct becomes an object with a key for each of its fields.  ``LAYOUTS`` lists the structs that have other keys,
``ADAPTERS`` the keys that have other values.  `logdoctor.model.json_schema` makes the schema from the same two tables.
The tables name the structs instead of importing them because `Diagnosis.to_dict` uses this module.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from msgspec import Struct

from logdoctor.model.escape import escape_all
from logdoctor.model.times import printed_time

Adapter = Callable[[Any], Any]

LAYOUTS: Mapping[str, str] = {
    "Cause": "signature rule rule_origin? title summary confidence by culprit place owner values checked action steps "
    "references evidence facts explains victims defects",
    "Comparison": "schema differences only_bad only_good good bad",
    "Defect": "package version file=line.file line=line.number first last mended defect way_round source",
    "Culprit": "scope ranks local_ranks hosts gpus pids peers first reporters why probably",
    "Diagnosis": "schema verdict verdict_known_by decision causes suspects symptoms harmless unexplained novel "
    "job.name=name job.*=job job.runs=runs coverage.*=coverage coverage.not_read=problems redaction problems made_by",
    "Evidence": "file=line.file line=line.number text=line.text rank host time why document=line.document? "
    "field=line.field? around?",
    "NotJudged": "file lines=first_line,last_line records what why",
    "Fact": "type role value unit? of? said? file=line.file line=line.number",
    "Line": "file line=number text",
    "Location": "ranks local_ranks hosts gpus pids peers",
    "Progress": "unit value epoch time=evidence.time evidence",
    "Refutation": "file=line.file line=line.number text=line.text why",
    "Run": "kind verdict signature title told file lines=first_line,last_line evidence culprit last_progress",
}
"""Keys of an object, in order.

- ``file=line.file``: the field ``file`` of the field ``line``.
- ``lines=first_line,last_line``: an array of two fields.
- ``around?``: the key is left out if the value is empty.
- ``job.name=job``: the key ``name`` of an inner object with the key ``job``.
- ``job.*=job_summary``: all keys of ``job_summary`` in that inner object.
"""


def text_or_null(text: str) -> str | None:
    """Return None for an empty text."""
    return text or None


def round_to_4(number: float) -> float:
    return round(number, 4)


def round_or_null(number: float | None) -> float | None:
    return None if number is None else round(number, 3)


def measured_values(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return dict(pairs)


def numbered_lines(lines: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the lines without their file: ``{"line": 7, "text": "..."}``."""
    return [{"line": line.number, "text": line.text} for line in lines]


def named_values(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs]


def product_versions(rows: Iterable[tuple[str, str, Sequence[int]]]) -> list[dict[str, Any]]:
    return [{"product": product, "version": version, "ranks": [*ranks]} for product, version, ranks in rows]


def not_read(problems: Iterable[Any]) -> list[dict[str, str]]:
    """Return place and reason of each problem. If ``why`` is empty, the reason is what happened."""
    return [{"where": problem.where, "why": problem.why or problem.what} for problem in problems]


def messages(templates: Iterable[Any]) -> list[dict[str, Any]]:
    """Return each template with its first line.  An unknown line number is null."""
    firsts = ((novel, novel.evidence.line) for novel in templates)
    return [
        {"template": n.template, "count": n.count, "file": line.file, "line": line.number or None, "text": line.text}
        for n, line in firsts
    ]


_TIMES = "Evidence.time JobSummary.ended JobSummary.started Moment.time Progress.time"
_MAY_BE_EMPTY = (
    "Cause.rule Difference.bad Difference.good Progress.epoch RankRow.busy_with RankRow.failure RankRow.last_progress "
    "RankRow.never_started RankRow.waits_for Run.title CollectiveState.op"
)
ADAPTERS: Mapping[str, Adapter] = {
    **dict.fromkeys(_TIMES.split(), printed_time),
    **dict.fromkeys(_MAY_BE_EMPTY.split(), text_or_null),
    "Cause.confidence": round_to_4,
    "Cause.values": measured_values,
    "Comparison.only_bad": messages,
    "Comparison.only_good": messages,
    "Diagnosis.coverage.not_read": not_read,
    "Evidence.around": numbered_lines,
    "HostClock.ahead_s": round_or_null,
    "FirstMover.lead_s": round_or_null,
    "JobSummary.environment": named_values,
    "JobSummary.step_seconds": round_or_null,
    "JobSummary.versions": dict,
    "JobSummary.versions_apart": product_versions,
}
"""Functions that turn a value into its JSON, by struct and key."""


class Key(Struct, frozen=True):
    """A key of the JSON object of a struct."""

    name: str
    groups: tuple[str, ...]
    """Keys of the objects around: ``("job",)`` for ``job.name``."""
    fields: str
    """Path of the field, for example ``line.file``, or several fields with commas."""
    get: Callable[[Any], Any]
    adapter: Adapter | None
    optional: bool


@functools.cache
def keys_of(kind: type[Struct]) -> tuple[Key, ...]:
    """Return the keys of the JSON objects that show structs of the class ``kind``."""
    own = (f"{key}={name}" for name, key in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    layout = LAYOUTS[kind.__name__].split() if kind.__name__ in LAYOUTS else own
    return tuple(_key(kind.__name__, entry) for entry in layout)


def _key(kind: str, entry: str) -> Key:
    path, _, fields = entry.removesuffix("?").partition("=")
    *groups, name = path.split(".")
    fields = fields or path
    adapter = ADAPTERS.get(f"{kind}.{path}")
    return Key(name, tuple(groups), fields, attrgetter(*fields.split(",")), adapter, entry.endswith("?"))


def to_dict(noun: Struct) -> dict[str, Any]:
    """Return a diagnosis or a comparison as JSON-ready data with every text escaped."""
    return _object(escape_all(noun))


def _object(struct: Struct) -> dict[str, Any]:
    top: dict[str, Any] = {}
    for key in keys_of(type(struct)):
        target = top
        for group in key.groups:
            target = target.setdefault(group, {})
        value = key.get(struct)
        if key.name == "*":
            target.update(_object(value))
        elif value or not key.optional:
            target[key.name] = key.adapter(value) if key.adapter else _value(value)
    return top


def _value(value: Any) -> Any:
    if isinstance(value, Struct):
        return _object(value)
    return [_value(item) for item in value] if isinstance(value, tuple) else value
