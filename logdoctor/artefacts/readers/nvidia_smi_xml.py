"""Reports of ``nvidia-smi -q -x``. No document type and no entity is read.

Source: nvidia-smi 470 to 580, nvsmi_device_v12.dtd.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.parsers import expat

from logdoctor.artefacts.document import Damaged, Document, Fact
from logdoctor.artefacts.gpu_state import Gpu, States, path_part

KIND = "nvidia-smi-xml"
PER_HOST = ("nvidia", "smi", "query", "q")
CHUNK_BYTES = 1 << 16
MAX_DEPTH = 32
MAX_TEXT = 4096


def sniff(head: bytes) -> bool:
    return re.match(rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE nvidia_smi_log[^>]*>\s*)?<nvidia_smi_log", head) is not None


def read(document: Document) -> Iterator[Fact]:
    report = _Report()
    try:
        while data := document.read(CHUNK_BYTES):
            report.parser.Parse(data)
            yield from report.take()
        report.parser.Parse(b"", True)  # noqa: FBT003
    except expat.ExpatError as error:
        raise Damaged(f"it is no XML on line {error.lineno}") from None
    yield from report.take()


class _Report:
    """The elements that are open, and the facts that are found."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._add
        self.parser.EntityDeclHandler = self._refuse
        self._states, self._gpu = States(), Gpu("")
        self._path, self._text, self._found = list[str](), "", list[Fact]()

    def take(self) -> list[Fact]:
        found, self._found = self._found, []
        return found

    def _refuse(self, *_declaration: object) -> None:
        raise Damaged("it declares an entity")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._path) > MAX_DEPTH:
            raise Damaged("it is nested too deep")
        self._path.append(name)
        self._text = ""
        if name == "gpu" and len(self._path) == 2:
            self._gpu = Gpu(attributes.get("id", ""))
            self._found += self._states.see(self._gpu, self.parser.CurrentLineNumber, "gpu")

    def _add(self, text: str) -> None:
        self._text += text[: MAX_TEXT - len(self._text)]

    def _end(self, name: str) -> None:
        value = self._text.strip()
        if value and len(self._path) > 2:
            path = "/".join(path_part(part) for part in self._path[2:])
            told, where = f"{name}: {value}", "/".join(self._path[1:])
            line = self.parser.CurrentLineNumber
            self._found += self._states.tell(self._gpu, path, value, line, where, told)
        self._text = ""
        self._path.pop()
