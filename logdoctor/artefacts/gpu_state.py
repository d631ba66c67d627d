"""State of GPUs, as nvidia-smi, rocm-smi and amd-smi tell it in their several forms.

A *state* is how a thing was when somebody asked. Faults that are there now count; counters of a GPU's whole life
(aggregate, correctable) and settings (pending modes) are history or wishes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from logdoctor.artefacts.document import Fact
from logdoctor.model import Source, Value
from logdoctor.model.numbers import number

MAX_GPUS = 4096
MAX_DEPTH = 12
_LOST = r"(?i)\bGPU is lost\b|\bGPU_IS_LOST\b"
_BUS = r"(?P<domain>[0-9a-fA-F]{4,8}):(?P<slot>[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(?:\.\d)?"
_YES = {
    "remapped_rows/pending": "remap-pending",
    "remapped_row_pending": "remap-pending",
    "remapping_failure_occurred": "remap-failed",
    "remapped_row_failure": "remap-failed",
    "remapped_rows/failure": "remap-failed",
    "pending_page_blacklist": "retirement-pending",
    "pending_page_retirement": "retirement-pending",
    "pending_retirement": "retirement-pending",
    "retired_pages/pending": "retirement-pending",
    "channel_repair_pending": "repair-pending",
    "tpc_repair_pending": "repair-pending",
}
_PAGES = {"pending/page_address": "retirement-pending", "un_res/page_address": "remap-failed"}
"""amd-smi lists pages that wait for their retirement, and those that cannot be taken out of use."""
_SINCE_LOAD = r"volatile|^ecc/total_|^ecc_blocks/"
"""Counts since the driver was loaded, not of the GPU's whole life."""


class Gpu(NamedTuple):
    """A GPU as its report names it; "" if it does not."""

    bus_id: str
    device: str = ""
    uuid: str = ""

    def fields(self) -> dict[str, Value]:
        named = {"bus_id": bus_of(self.bus_id), "device": number(self.device), "uuid": self.uuid}
        return {name: value for name, value in named.items() if value not in ("", None)}


class States:
    """The facts of one report: each GPU once, and each of its faults once."""

    def __init__(self) -> None:
        self._told = set[tuple[str, str]]()

    def see(self, gpu: Gpu, line: int, where: str) -> Iterator[Fact]:
        """Yield the GPU, the first time."""
        if self._is_new(gpu, ""):
            name = gpu.bus_id or gpu.uuid or gpu.device
            yield Fact("gpu.state", f"GPU {name}", gpu.fields(), line, where, "info", Source())

    def tell(self, gpu: Gpu, path: str, value: str, line: int, where: str, text: str) -> Iterator[Fact]:
        """Yield the fault that a value of the report shows. ``path`` is in lower case with slashes."""
        fault = fault_of(path, value)
        if fault and self._is_new(gpu, fault):
            yield Fact("gpu.state", text, {**gpu.fields(), "fault": fault}, line, where, "error", Source())

    def see_all(self, gpu: Gpu, values: Mapping[str, Any], line: int, where: str) -> Iterator[Fact]:
        """Yield the GPU and all faults that an object of JSON shows."""
        yield from self.see(gpu, line, where)
        for names, value in _leaves(values, ()):
            path, told = "/".join(map(path_part, names)), f"GPU {gpu.device}: {'.'.join(names)}: {value}"
            yield from self.tell(gpu, path, str(value), line, ".".join((where, *names)), told)

    def _is_new(self, gpu: Gpu, fault: str) -> bool:
        key = (gpu.bus_id or gpu.uuid or gpu.device, fault)
        if key in self._told or len(self._told) > MAX_GPUS:
            return False
        self._told.add(key)
        return True


def fault_of(path: str, value: str) -> str:
    """Return the word for a fault that is there now, "" for all else."""
    if re.search(_LOST, value):
        return "lost"
    last = "/".join(path.rsplit("/", 2)[-2:])
    fault = _YES.get(last) or _YES.get(path.rpartition("/")[2])
    if fault:
        return fault if value.lower() in ("yes", "1", "true") else ""
    if last in _PAGES:
        return _PAGES[last]
    if re.search(_SINCE_LOAD, path) and re.search(r"uncorrect|double_bit", path):
        return "uncorrectable" if (number(value) or 0) > 0 else ""
    if path.endswith("recovery_action") and value.lower() not in ("none", "n/a", "[n/a]", "not supported", ""):
        return "recovery-needed"
    return "unreadable" if value == "ERR!" else ""


def _leaves(value: Any, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the plain values of an object, each with the names that lead to it."""
    if isinstance(value, Mapping) and len(names) < MAX_DEPTH:
        for name, inner in value.items():
            yield from _leaves(inner, (*names, str(name)))
    elif isinstance(value, list) and len(names) < MAX_DEPTH:
        for inner in value:
            yield from _leaves(inner, names)
    elif names:
        yield names, value


def bus_of(text: str) -> str:
    """Return ``0000:9b:00`` for ``00000000:9B:00.0``, "" if it is no such address."""
    match = re.fullmatch(_BUS, text.strip())
    return f"{int(match['domain'], 16):04x}:{match['slot'].lower()}" if match else ""


def path_part(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
