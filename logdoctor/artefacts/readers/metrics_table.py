"""Tables of a training's metrics, such as Lightning's ``metrics.csv``: steps, and the first loss that is no number.

A cell may be empty, because training and validation write rows of their own. Only a loss of the training proves that
the training broke: a metric of a validation, and the norm of the gradients, may be no number for a step.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from logdoctor.artefacts.document import Document, Fact
from logdoctor.artefacts.lines import lines
from logdoctor.model import Value

KIND = "metrics-table"
HAS_NO_END = True
MAX_COLUMNS = 1000
# Strings, compiled at first use, because the readers are imported for each log.
_HEADING = rb"[\w./ @:%-]{1,80}(?:,[\w./ @:%-]{0,80}){1,999}"
_STEP = r"(?i)(?:global_?)?(?:step|steps|iteration|iter)"
_EPOCH = r"(?i)epochs?"
_LOSS = r"(?i)(?!.*(?:val|test|eval|scale))(?:.*[_/. -])?loss(?:[_/. -](?:step|train|total))?"


def sniff(head: bytes) -> bool:
    heading = head.partition(b"\n")[0].rstrip(b"\r")
    if b"loss" not in heading.lower() or re.fullmatch(_HEADING, heading) is None:
        return False
    names = heading.decode().split(",")
    return any(re.fullmatch(_STEP, name) or re.fullmatch(_EPOCH, name) for name in names)


def read(document: Document) -> Iterator[Fact]:
    """Yield each row that counts a step, and the first loss that is no number."""
    columns, broken, finite = list[str](), False, ""
    for number, line in lines(document):
        cells = line.split(",")
        if not columns:
            columns = cells[:MAX_COLUMNS]
            continue
        if len(cells) < len(columns):
            continue
        row = dict(zip(columns, cells, strict=False))
        unit, at = _place(row)
        if not at:
            continue
        losses = {name: value for name, value in row.items() if value and re.fullmatch(_LOSS, name)}
        name, value = next(iter(losses.items()), ("", ""))
        fields: dict[str, Value] = {"unit": unit, "value": int(at), **({"loss": value.lower()} if value else {})}
        yield Fact("progress.step", f"{unit} {at}" + (f", {name} {value}" if value else ""), fields, number)
        bad = next(((n, v) for n, v in losses.items() if not _is_finite(v)), None)
        if bad and not broken:
            broken = True
            told: dict[str, Value] = {"metric": bad[0], "value": bad[1].lower(), "at": int(at)}
            if finite:
                told["last_finite"] = int(finite)
            yield Fact("metrics.not_finite", f"{unit} {at}: {bad[0]} is {bad[1]}", told, number, level="error")
        elif value and not bad and not broken:
            finite = at


def _place(row: dict[str, str]) -> tuple[str, str]:
    """Return unit and number of a row, of a step if it tells one."""
    for unit, pattern in (("step", _STEP), ("epoch", _EPOCH)):
        for name, value in row.items():
            if re.fullmatch(pattern, name) and re.fullmatch(r"\d{1,15}(?:\.0)?", value):
                return unit, value.partition(".")[0]
    return "", ""


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text)) if len(text) < 64 else True
    except ValueError:
        return True
