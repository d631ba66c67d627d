"""The same device again: several different errors of the job name one device, and no other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from logdoctor.model import Line, Record
from logdoctor.pack.regexes import later

FEWEST, MOST = 3, 64
"""Errors that name the device at least, and errors that are looked at."""
_DEVICE = later(
    r"(?i)(?<![\w-])(?:(?P<gpu>GPU|NPU|device)(?:[ _]?id)?(?: ?[:=#] ?| #?)(?P<number>\d{1,3})(?![\w.]|:\d)"
    r"|(?P<name>mlx\d_\d{1,3}|rdmap\w{2,12}|bnxt_re\d{1,3}|nvme\d{1,2}n\d{1,2}|(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[01][0-9a-f]\.[0-7]))\b"
)
_NUMBER = later(r"0x[0-9a-f]+|\d+")


class SameDevice(Struct, frozen=True):
    """The device, how many errors name it, and of how many."""

    thing: str
    host: str
    count: int
    of: int
    line: Line


def same_device(failures: Sequence[Record]) -> SameDevice | None:
    """Return the device that three errors name at least, two of them in other words, if none names another one."""
    found: dict[tuple[str, str], list[Record]] = {}
    shown = failures[:MOST]
    for record in shown:
        for thing in dict.fromkeys(_devices(record)):
            found.setdefault((thing, record.host or ""), []).append(record)
    if len(found) != 1:
        return None
    ((thing, host), records) = next(iter(found.items()))
    words = {_NUMBER.sub("#", record.text) for record in records}
    if len(records) < FEWEST or len(words) < 2:
        return None
    return SameDevice(thing, host, len(records), len(shown), records[0].line)


def _devices(record: Record) -> Iterator[str]:
    for match in _DEVICE.finditer(record.text, 0, 1000):
        label = "device" if match["gpu"] and match["gpu"].islower() else (match["gpu"] or "").upper()
        yield f"{label} {match['number']}" if match["gpu"] else match["name"]
