"""Reports of ``nvidia-smi -q``: indented keys and values, a block for each GPU.

Source: nvidia-smi 470 to 580.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from logdoctor.artefacts.document import Document, Fact
from logdoctor.artefacts.gpu_state import Gpu, States, path_part
from logdoctor.artefacts.lines import lines

KIND = "nvidia-smi"
PER_HOST = ("nvidia", "smi", "query", "q")
HAS_NO_END = True
MAX_DEPTH = 12
# A string, compiled at first use, because the readers are imported for each log.
_START = (
    rb"\s*(?:=+NVSMI LOG=+\s+)?(?:Timestamp +: [^\n]+\n\s*)?"
    rb"(?:Driver Version +: \d|GPU [0-9A-F]{8}:[0-9A-F:.]+\s*\n +\w[^\n:]+:? )"
)


def sniff(head: bytes) -> bool:
    return re.match(_START, head) is not None


def read(document: Document) -> Iterator[Fact]:
    states, gpu = States(), Gpu("")
    above: list[tuple[int, str]] = []
    for number, line in lines(document):
        if match := re.match(r"GPU (?P<bus>[0-9A-Fa-f]{4,8}:\S+)\s*$", line):
            gpu, above = Gpu(match["bus"]), []
            yield from states.see(gpu, number, "")
            continue
        key, colon, value = line.partition(" : ")
        name, indent = key.strip(), len(line) - len(line.lstrip())
        while above and above[-1][0] >= indent:
            above.pop()
        if colon:
            path = "/".join(path_part(part) for part in (*(part for _, part in above), name))
            text = ", ".join([*(part for _, part in above[-2:]), f"{name}: {value.strip()}"])
            yield from states.tell(gpu, path, value.strip(), number, "", text)
        elif name and len(above) < MAX_DEPTH:
            above.append((indent, name))
