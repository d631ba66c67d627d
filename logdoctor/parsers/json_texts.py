"""JSON as programs write it into logs: cut anywhere, packed into more JSON, with characters escaped in halves."""

from __future__ import annotations

from typing import Any


def from_json(text: str, *, strict: bool = True) -> Any:
    r"""What ``text`` says; halves of a character (``\ud800``) are joined, and one that stands alone is U+FFFD.

    Raises `ValueError` for what is no JSON, `RecursionError` for what is too deep.
    """
    import json

    found = json.loads(text, strict=strict)
    if "\\ud" not in text and "\\uD" not in text:
        return found
    whole = json.dumps(found, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return json.loads(whole)
