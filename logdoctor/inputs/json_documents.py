"""JSON documents, told apart from logs of which each line is JSON.

A document such as a saved state, a configuration or a report may quote failures of another day. So it is no log.
"""

from __future__ import annotations

import re

from logdoctor.inputs.file_type import FileType

DOCUMENT_BYTES = 64 << 10
"""Bytes of a file that decide."""

# Strings, compiled at first use, because compiling at import would delay every start.
_START = rb"(?:\xef\xbb\xbf)?\s*(?:\{\s*[\"}]|\[\s*(?:[{\[\"]|\]\s*$))"
_MESSAGE_KEYS = ("message", "msg", "log", "text", "event", "MESSAGE")
_READ_AS_TEXT = rb"\"(?:py_callstack|extraInfo|apiVersion)\""
"""Keys of documents that are read like a log: torchrun's error file, objects of Kubernetes."""
_EVIDENCE = ((rb"\"CRC FLIT Error\"", "a report of DCGM"),)
"""Keys of documents that a failing job leaves behind. They are not read."""


def may_be_document(head: bytes) -> bool:
    return re.match(_START, head) is not None


def detect_document(text: bytes) -> FileType | None:
    """Return the type of a file that is one JSON document. Return None for a log.

    ``text`` is the start of the file, up to `DOCUMENT_BYTES`, or all of it.
    """
    if not may_be_document(text) or not _is_one_value(text.decode("utf-8-sig", "replace").strip()):
        return None
    if re.search(_READ_AS_TEXT, text):
        return None
    known = next((name for keys, name in _EVIDENCE if re.search(keys, text)), "")
    return FileType("data", known or "a JSON document", is_evidence=bool(known))


def _is_one_value(text: str) -> bool:
    """Report whether ``text`` is a single JSON value, or the start of one, and not one record of a log."""
    import json

    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except json.JSONDecodeError as error:  # a value that is cut is complete up to its end or up to its last text
        return error.pos >= len(text) - 1 or error.msg.startswith("Unterminated string")
    except RecursionError:
        return True
    is_record = isinstance(value, dict) and any(isinstance(value.get(key), str) for key in _MESSAGE_KEYS)
    return end == len(text) and not ("\n" not in text and is_record)
