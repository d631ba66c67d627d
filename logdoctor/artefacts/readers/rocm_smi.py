"""Reports of ``rocm-smi --json``: an object for each card, with the words of the tool as keys.

The tool leaves its tables of memory errors and retired pages out of JSON, so the report names GPUs, and seldom a fault.

Source: ROCm 5 to 6, rocm_smi_lib, python_smi_tools/rocm_smi.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from logdoctor.artefacts.document import Document, Fact
from logdoctor.artefacts.gpu_state import Gpu, States
from logdoctor.artefacts.json_pieces import members

KIND = "rocm-smi"
PER_HOST = ("rocm", "smi")
# Strings, compiled at first use, because the readers are imported for each log.
_START = rb"\s*\{\s*\"(?:card\d{1,3}|system)\"\s*:\s*\{"
_CARD = r"card(\d{1,3})"


def sniff(head: bytes) -> bool:
    return re.match(_START, head) is not None and re.search(rb"\"card\d", head) is not None


def read(document: Document) -> Iterator[Fact]:
    states = States()
    for where, values, line in members(document):
        if (card := re.fullmatch(_CARD, where)) and isinstance(values, Mapping):
            gpu = Gpu(str(values.get("PCI Bus", "")), card[1], str(values.get("Unique ID", "")))
            yield from states.see_all(gpu, values, line, where)
