"""Reads stacks of all threads: faulthandler (fatal errors, time-outs, signals) and ``py-spy dump``.

Sources: CPython `Python/traceback.c` and `Modules/faulthandler.c` (3.6 to 3.14), py-spy `src/dump.rs` (0.3, 0.4).
Innermost frames come first there; the field ``frames`` is turned round, so that it reads like a traceback's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import regex

from logdoctor.model import Value
from logdoctor.parsers.python_tracebacks import MAX_FRAMES, short_path
from logdoctor.parsers.record import Bare, Block
from logdoctor.parsers.signals import signal_number
from logdoctor.regexes import later

_THREAD = later(
    r"^\s*(?P<current>Current thread|Thread) (?P<id>0x[0-9a-f]+|\d+(?:/0x[0-9A-F]+)?)(?: "
    r"\[(?P<name>[^\]]*)\])?(?P<rest>.*(?:most recent call first|\((?:idle|active)).*)"
)
_FRAME = later(r'^\s*File "(?P<path>[^"]*)", line (?P<line>\d+) in (?P<function>.*)')
_SPY_FRAME = later(r"^\s+(?P<function>\S+) \((?P<path>[^():]+)(?::(?P<line>\d+))?\)$")
_OTHER = later(r"^\s*(?:Extension modules:|<no Python frame>|\.\.\.$|Python v\d|Garbage-collecting|<freed)")
MAX_GAP = 4


@dataclass(slots=True)
class Stacks:
    """The threads read so far: the frames of the one that matters, and how many there were."""

    threads: int = 0
    chosen: list[tuple[str, str]] = field(default_factory=list)
    latest: list[tuple[str, str]] = field(default_factory=list)
    wanted: bool = False
    taken: list[int] = field(default_factory=list)

    def start(self, *, wanted: bool) -> None:
        """Begin a thread; ``wanted`` says that its frames are those to report (the current or main thread)."""
        self.threads += 1
        self.latest = []
        if wanted and not self.wanted:
            self.chosen, self.wanted = self.latest, True
        elif not self.wanted:
            self.chosen = self.latest

    def add(self, path: str, line: str, function: str) -> None:
        """Note one frame of the thread begun last."""
        short = short_path(path)
        self.latest.append((f"{short}:{function}", f"{short.rpartition('/')[2]}:{line} in {function}"))

    def fields(self) -> dict[str, Value]:
        """The fields ``threads``, ``where``, ``frames``; those unknown are left out."""
        names = " > ".join(name for name, _ in reversed(self.chosen[:MAX_FRAMES]))
        out: dict[str, Value] = {"threads": self.threads}
        return out | ({"where": self.chosen[0][1], "frames": names} if self.chosen else {})


def read_threads(head: Bare, _: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """Read the threads that follow a line such as ``Timeout (0:05:00)!`` or the first thread's own line."""
    stacks = Stacks()
    found = _THREAD.match(head.text)
    if found:
        stacks.start(wanted=_is_wanted(found))
    _read(stacks, below)
    if not stacks.threads:
        return None
    fields = stacks.fields()
    return Block(f"{head.text.strip()}\n{fields.get('where', '')}".strip(), fields, tuple(stacks.taken))


def read_fatal(head: Bare, found: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """Read a ``Fatal Python error``: its reason, and the stacks if there are any."""
    stacks = Stacks()
    _read(stacks, below)
    fields = stacks.fields()
    reason = str(found.get("message", ""))
    number = signal_number(reason)
    if number:
        fields["signal"] = number
    return Block(f"{head.text.strip()}\n{fields.get('where', '')}".strip(), fields, tuple(stacks.taken))


def _is_wanted(found: regex.Match[str]) -> bool:
    return found["current"] == "Current thread" or '"MainThread"' in found["rest"] or found["name"] == "MainThread"


def _read(stacks: Stacks, below: Iterator[Bare]) -> None:
    gap = 0
    for bare in below:
        frame = _FRAME.match(bare.text) or _SPY_FRAME.match(bare.text)
        thread = _THREAD.match(bare.text)
        if thread:
            stacks.start(wanted=_is_wanted(thread))
        elif frame:
            stacks.add(frame["path"], frame["line"] or "?", frame["function"])
        elif not bare.text.strip() or _OTHER.match(bare.text):
            continue
        else:
            gap += 1
            if gap > MAX_GAP:
                return
            continue
        gap = 0
        stacks.taken.append(bare.below)
