"""Reports of ``amd-smi static|metric|bad-pages|list --json``: a list with an object for each GPU.

Source: ROCm 6 to 7, amdsmi, amdsmi_cli/amdsmi_commands.py and amdsmi_logger.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from logdoctor.artefacts.document import Document, Fact
from logdoctor.artefacts.gpu_state import Gpu, States
from logdoctor.artefacts.json_pieces import members

KIND = "amd-smi"
PER_HOST = ("amd", "smi")
# A string, compiled at first use, because the readers are imported for each log.
_START = rb"\s*(?:\{\s*\"gpu_data\"\s*:\s*)?\[\s*\{\s*\"gpu\"\s*:\s*\d+\s*,"


def sniff(head: bytes) -> bool:
    return re.match(_START, head) is not None


def read(document: Document) -> Iterator[Fact]:
    states = States()
    for where, values, line in members(document):
        if isinstance(values, Mapping) and "gpu" in values:
            bus = values.get("bus")
            address = bus.get("bdf") if isinstance(bus, Mapping) else values.get("bdf")
            gpu = Gpu(str(address or ""), str(values["gpu"]), str(values.get("uuid", "")))
            yield from states.see_all(gpu, values, line, where)
