"""Tables of ``nvidia-smi --query-gpu=... --format=csv``: the heading names the columns.

Source: nvidia-smi 470 to 580, ``--help-query-gpu``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from logdoctor.artefacts.document import Document, Fact
from logdoctor.artefacts.gpu_state import Gpu, States
from logdoctor.artefacts.lines import lines

KIND = "nvidia-smi-csv"
PER_HOST = ("nvidia", "smi", "query", "q")
HAS_NO_END = True
_NAMES = (
    rb"(?:index|count|name|uuid|timestamp|serial|pstate|fan\.speed|gpu_(?:name|bus_id|uuid|serial|recovery_action)"
    rb"|(?:pci|driver|vbios|memory|utilization|temperature|power|clocks|ecc|retired_pages|remapped_rows|compute|fabric)"
    rb"[._][\w.]+)"
)
_UNIT = r" \[[\w%/]+\]$"


def sniff(head: bytes) -> bool:
    heading = head.partition(b"\n")[0].rstrip(b"\r")
    column = _NAMES + rb"(?: \[[\w%/]+\])?"
    is_table = re.fullmatch(column + rb"(?:, ?" + column + rb")+", heading) is not None
    return is_table and re.search(rb"index|uuid|bus_id|gpu|ecc|remapped|retired", heading) is not None


def read(document: Document) -> Iterator[Fact]:
    states, columns = States(), list[str]()
    for number, line in lines(document):
        row = [cell.strip() for cell in line.split(",")]
        if not columns:
            columns = [re.sub(_UNIT, "", name) for name in row]
        elif len(row) == len(columns):
            cells = dict(zip(columns, row, strict=True))
            bus = cells.get("pci.bus_id") or cells.get("gpu_bus_id") or ""
            gpu = Gpu(bus, cells.get("index", ""), cells.get("uuid") or cells.get("gpu_uuid") or "")
            yield from states.see(gpu, number, "")
            for name, value in cells.items():
                told = f"GPU {gpu.device or bus}: {name}: {value}"
                yield from states.tell(gpu, name.replace(".", "/"), value, number, name, told)
