"""JSON in logs, in which characters may be escaped in halves."""

from __future__ import annotations

from typing import Any


def parse_json(text: str, *, strict: bool = True) -> Any:
    r"""Decode JSON and join surrogate halves: ``"\ud83d\ude00"`` is one character.

    A half that stands alone becomes U+FFFD.  Raise `ValueError` if ``text`` is no JSON, `RecursionError` if its nesting
    is too deep.
    """
    import json

    value = json.loads(text, strict=strict)
    if "\\ud" not in text and "\\uD" not in text:
        return value
    joined = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return json.loads(joined)
