"""JSON schemas of a diagnosis and a comparison, made from their structs.

The keys come from `logdoctor.model.json_form`, the types from the fields, and the descriptions from the docstrings of
classes and fields.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, cast, get_type_hints

import msgspec
from msgspec import Struct

from logdoctor import model
from logdoctor.model import json_form
from logdoctor.model.json_form import Adapter, Key, keys_of
from logdoctor.model.times import printed_time

Schema = dict[str, Any]

KINDS: Mapping[str, type[Struct]] = {"diagnosis": model.Diagnosis, "comparison": model.Comparison}
"""Documents that have a schema, by name."""
PROMISE = "Fields may be added; those named here keep their name and meaning."

_NUMBER = {"type": "integer", "minimum": 1}
_STRING = {"type": "string"}
_TEXT = {"$ref": "#/$defs/text"}
_DEFINITIONS: Mapping[str, Schema] = {
    "text": {
        "type": "string",
        "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
        "description": "text with control characters written out",
    },
    "time": {
        "type": ["string", "null"],
        "pattern": "^(([0-9]{4}-)?[0-9]{2}-[0-9]{2}T)?[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{3})?$",
        "description": "ISO-8601 by the clock that printed the line, without a zone, and without a year or "
        "date that the line does not print; null where none was printed",
    },
}


def json_schema(kind: str) -> Schema:
    """Return the JSON schema of ``kind``, a name in `KINDS`."""
    document = _escaped(_object(KINDS[kind]))
    definitions: dict[str, Schema] = {}
    open_names = _references(document)
    while open_names:
        name = open_names.pop()
        if name not in definitions and name not in _DEFINITIONS:
            definitions[name] = _escaped(_object(getattr(model, name)))
            open_names |= _references(definitions[name])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": document["properties"]["schema"]["const"],
        **document,
        "description": f"{document['description']} {PROMISE}",
        "$defs": {**_DEFINITIONS, **dict(sorted(definitions.items()))},
    }


def _object(kind: type[Struct]) -> Schema:
    top = _empty_object(_plain((kind.__doc__ or "").partition("\n\n")[0]))
    for key in keys_of(kind):
        target = top
        for group in key.groups:
            target = _add(target, group, target["properties"].get(group, _empty_object()))
        if key.name == "*":
            inner = _object(get_type_hints(kind)[key.fields])
            target["description"] = inner["description"]
            for name, schema in inner["properties"].items():
                _add(target, name, schema, optional=name not in inner["required"])
        else:
            _add(target, key.name, _property(kind, key), optional=key.optional)
    return top


def _empty_object(description: str = "") -> Schema:
    return {"description": description, "type": "object", "required": [], "properties": {}}


def _add(target: Schema, name: str, schema: Schema, *, optional: bool = False) -> Schema:
    target["properties"][name] = schema
    if not optional and name not in target["required"]:
        target["required"].append(name)
    return schema


def _property(kind: type[Struct], key: Key) -> Schema:
    if key.fields not in kind.__struct_fields__ and hasattr(kind, key.fields):  # a constant of the class
        return {"const": getattr(kind, key.fields), "description": "The name and version of this form."}
    owners = [_owner(kind, path) for path in key.fields.split(",")]
    hints = [get_type_hints(owner, include_extras=True)[name] for owner, name in owners]
    hint = hints[0] if len(hints) == 1 else tuple[tuple(hints)]  # type: ignore[misc]
    (schema,), _ = msgspec.json.schema_components([hint], ref_template="#/$defs/{name}")
    adapt = _ADAPTERS.get(key.adapter) if key.adapter else None
    description = " ".join(filter(None, (_field_docs(owner).get(name) for owner, name in owners)))
    return {**(adapt(schema) if adapt else schema), **({"description": description} if description else {})}


def _owner(kind: type[Struct], path: str) -> tuple[type[Struct], str]:
    """Return the class and the name of the last field of ``path``.

    For `Evidence` and ``line.file`` that is `Line` and ``file``.
    """
    *parents, name = path.split(".")
    for parent in parents:
        kind = get_type_hints(kind)[parent]
    return kind, name


@functools.cache
def _field_docs(kind: type[Struct]) -> Mapping[str, str]:
    """Return the docstrings below the fields of a class. There are none if the source of the class is not installed."""
    try:
        source = textwrap.dedent(inspect.getsource(kind))
    except OSError:
        return {}
    body = cast("ast.ClassDef", ast.parse(source).body[0]).body
    own = {
        field.target.id: _plain(below.value.value)
        for field, below in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
    }
    base = kind.__bases__[0]
    return {**(_field_docs(base) if base is not Struct else {}), **own}


def _plain(docstring: Any) -> str:
    return " ".join(str(docstring).replace("`", "").split())


def _escaped(schema: Any) -> Any:
    """Forbid control characters in strings, because every text of the JSON is escaped."""
    if isinstance(schema, dict):
        parts = {name: _escaped(part) for name, part in schema.items()}
        return {**_TEXT, **{k: v for k, v in parts.items() if k != "type"}} if schema.get("type") == "string" else parts
    return [_escaped(part) for part in schema] if isinstance(schema, list) else schema


def _references(schema: Any) -> set[str]:
    if isinstance(schema, dict):
        own = {schema["$ref"].rpartition("/")[2]} if "$ref" in schema else set()
        return own.union(*map(_references, schema.values()))
    return set().union(*map(_references, schema)) if isinstance(schema, list) else set()


def _rows(**properties: Schema) -> Schema:
    row = {"type": "object", "required": [*properties], "properties": properties}
    return {"type": "array", "items": row}


def _described(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


def _product_versions(table: Schema) -> Schema:
    product, version, ranks = table["items"]["prefixItems"]
    return _rows(
        product=_described(product, "The product."),
        version=_described(version, "The version."),
        ranks=_described(ranks, "The ranks that run this version."),
    )


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


_ADAPTERS: Mapping[Adapter, Callable[[Schema], Schema]] = {
    dict: lambda _: {"type": "object", "additionalProperties": _STRING},
    printed_time: lambda _: {"$ref": "#/$defs/time"},
    json_form.measured_values: lambda _: {
        "type": "object",
        "additionalProperties": {"type": ["string", "number"]},
    },
    json_form.messages: lambda _: _rows(
        template=_described(_STRING, "The line without what changes from run to run, for example <n> for a number."),
        count=_described(_NUMBER, "Number of lines."),
        file=_described(_STRING, "The file of the first of these lines."),
        line=_described(_or_null(_NUMBER), "The number of that line; null if not known."),
        text=_described(_STRING, "That line as printed."),
    ),
    json_form.named_values: lambda _: _rows(
        name=_described(_STRING, "The name."), value=_described(_STRING, "The value.")
    ),
    json_form.not_read: lambda _: _rows(
        where=_described(_STRING, "The input."), why=_described(_STRING, "The reason.")
    ),
    json_form.numbered_lines: lambda _: _rows(
        line=_described(_NUMBER, "1-based, counts newlines only."), text=_described(_STRING, "The line as printed.")
    ),
    json_form.product_versions: _product_versions,
    json_form.text_or_null: _or_null,
}
"""Schema of a value after its adapter, made from the schema before.  Rounding keeps the schema."""
