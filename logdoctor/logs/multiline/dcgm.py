"""Failed tests of ``dcgmi diag``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.model.numbers import number_fields
from logdoctor.pack.regexes import later

MAX_ROWS = 60
_CELL = later(r"^ ?\| (?P<test>[^|]{26})\| (?P<cell>[^|]{45})[^|]{0,8}\|")
"""A row of the table: what it says is broken at 45 characters, within words too."""
_VERDICT = later(r"\w{1,12}\d{1,4}: (?:Pass|Fail|Skip|Warn) *$")
"""DCGM 4 gives each GPU a row of its own between the verdict on all and the warning."""
_JSON_WARNING = later(r'^\s*(?:"warnings?"\s*:\s*)?"(?P<said>[^"]{8,1000})"?,?\s*$')
_JSON_NEXT = later(r'^\s*"(?:status|name|category|tests|gpu_ids?|entity_id)"\s*:')
_GPU = later(r"\bGPU:? ?(\d{1,3})\b")


def read_rows(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the warning of a failed test from the rows below."""
    warning, evidence = "", 0
    for stripped_line in islice(below, MAX_ROWS):
        row = _CELL.search(stripped_line.text)
        if row is None or row["test"].strip().partition(":")[0] not in {"", "Warning", "Error"}:
            break
        if not _VERDICT.match(row["cell"]):
            warning += row["cell"]
            evidence = evidence or stripped_line.below
    words = " ".join(head.text.replace("|", " ").split())
    return _diagnosis(f"{words}: {' '.join(warning.split())}" if warning.strip() else words, fields, evidence)


def read_status(_: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the warning of a failed result from the lines below.

    Return None without a warning, because the line is then not of DCGM.
    """
    for stripped_line in islice(below, MAX_ROWS):
        if _JSON_NEXT.match(stripped_line.text):
            return None
        if match := _JSON_WARNING.match(stripped_line.text):
            return _diagnosis(match["said"], fields, stripped_line.below)
    return None


def _diagnosis(message: str, fields: Mapping[str, Value], evidence: int) -> Multiline:
    gpu = _GPU.search(message)
    more: dict[str, Value] = {**number_fields({"gpu": gpu[1] if gpu else None})}
    return Multiline(message, {**fields, **more, "message": message[:300]}, evidence=evidence)
