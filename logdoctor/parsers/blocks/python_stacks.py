"""Reads stacks of all threads: faulthandler (fatal errors, time-outs, signals), ``py-spy dump`` and ``pystack``.

Sources: CPython `Python/traceback.c` and `Modules/faulthandler.c` (3.6 to 3.14), py-spy `src/dump.rs` (0.3, 0.4),
pystack `traceback_formatter.py` (1.0 to 1.4).  Innermost frames come first in the first two; the field ``frames`` is
turned round, so that it reads like a traceback's.  Dumps of several processes one after the other are several records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

import regex
from msgspec import Struct, field

from logdoctor.model import Value
from logdoctor.parsers.blocks.python_paths import short_path
from logdoctor.parsers.blocks.python_reading import MAX_FRAMES
from logdoctor.parsers.blocks.stack_headlines import begins_section, named_in
from logdoctor.parsers.record import Bare, Block
from logdoctor.parsers.signals import signal_number
from logdoctor.regexes import later

_THREAD = later(
    r"^\s*(?P<current>Current thread|Thread) (?P<id>0x[0-9a-f]+|\d+(?:/0x[0-9A-F]+)?)(?: "
    r"\[(?P<name>[^\]]*)\])?(?P<rest>.*(?:most recent call first|\((?:idle|active)).*)"
)
_PYSTACK = later(r"^\s*Traceback for thread (?P<id>\d+) .{0,200}\(most recent call last\)")
_PROCESS = later(r"^\s*Process (?P<pid>\d{1,10}): ?(?P<command>.*)")
_FRAME = later(r'^\s*File "(?P<path>[^"]*)", line (?P<line>\d+) in (?P<function>.*)')
_PYSTACK_FRAME = later(r'^\s+(?:\(\w+\) )?File "(?P<path>[^"]*)", line (?P<line>\d+), in (?P<function>\S+)')
_SPY_FRAME = later(r"^\s+(?P<function>\S.{0,300}?) \((?P<path>[^\s():][^():]{0,300})(?::(?P<line>\d+))?\)$")
_OTHER = later(
    r"^\s*(?:Extension modules:|<no Python frame>|\.\.\.$|Python v\d|Garbage-collecting|<freed|(?:Arguments|Locals):$)"
    r"|^ {8,}\S"
)
_NEXT = later(r"^\s*(?:Timeout \(\d|Fatal Python error: |Windows fatal exception: |Attaching to process )")
"""What begins the dump of another process (or of the same one, later)."""
_LOCAL_RANK = later(r"--local[-_]rank[= ](?P<local_rank>\d{1,4})\b")
MAX_GAP = 4
MAX_STACK = 32
"""Frames of a living process that are kept: the innermost ones may be native."""
MAX_PID = 11
"""Digits; what is longer is no process's number."""
MAX_HEAD = 3
"""Between a section's headline and its stacks stand at most so many lines."""


class Stacks(Struct):
    """The threads read so far: the frames of the one that matters, and how many there were."""

    threads: int = 0
    chosen: list[tuple[str, str]] = field(default_factory=list)
    latest: list[tuple[str, str]] = field(default_factory=list)
    wanted: bool = False
    taken: list[int] = field(default_factory=list)
    known: dict[str, Value] = field(default_factory=dict)
    """What the lines above the stacks tell of the process."""
    thread: str = ""
    """The number of the chosen thread."""

    def start(self, thread: str, *, wanted: bool) -> None:
        """Begin a thread; ``wanted`` says that its frames are those to report (the current or main thread)."""
        self.threads += 1
        self.latest = []
        if wanted or not self.wanted:
            self.chosen, self.wanted, self.thread = self.latest, self.wanted or wanted, thread

    def add(self, path: str, line: str, function: str) -> None:
        """Note one frame of the thread begun last."""
        short = short_path(path)
        self.latest.append((f"{short}:{function}", f"{short.rpartition('/')[2]}:{line} in {function}"))

    def fields(self, deepest: int = MAX_FRAMES) -> dict[str, Value]:
        """The fields ``threads``, ``where``, ``frames``, ``thread_id``, ``pid``; those unknown are left out."""
        if not self.chosen:  # a native thread that was hit has no Python frames; the main thread is printed last
            self.chosen = self.latest
        names = " > ".join(name for name, _ in reversed(self.chosen[:deepest]))
        out: dict[str, Value] = {"threads": self.threads, **self.known}
        if self.thread:
            out["thread_id"] = self.thread
            if self.thread.isdecimal() and self.wanted and len(self.thread) < MAX_PID:
                out.setdefault("pid", int(self.thread))  # Linux: the main thread has the process's number
        return out | ({"where": self.chosen[0][1], "frames": names} if self.chosen else {})


def read_threads(head: Bare, found: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """Read the threads that follow a line such as ``Timeout (0:05:00)!`` or the first thread's own line."""
    stacks = Stacks()
    first = _THREAD.match(head.text)
    if first:
        stacks.start(first["id"], wanted=_is_wanted(first))
    elif process := _PROCESS.match(head.text):
        stacks.known.update(_process(process))
    _read(stacks, below)
    return _block(head, stacks, found)


def read_section(head: Bare, found: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """Read the stacks below a headline such as ``=== rank 3 on node7 ===``; None where none follow at once."""
    lines = list(below)
    near = [b for b in lines if b.text.strip()][:MAX_HEAD]
    start = next((b for b in near if _THREAD.match(b.text) or _PYSTACK.match(b.text) or _PROCESS.match(b.text)), None)
    if start is None:
        return None
    stacks = Stacks()
    stacks.known.update(named_in(head.text))
    rest = iter(lines[lines.index(start) :])
    if _PYSTACK.match(start.text):
        _read_pystack(stacks, rest)
    else:
        _read(stacks, rest)
    return _block(head, stacks, found)


def read_pystack(head: Bare, found: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """Read what ``pystack remote`` prints of one process: the outermost call comes first there."""
    stacks = Stacks()
    _read_pystack(stacks, chain([head], below))
    return _block(head, stacks, found)


def _block(head: Bare, stacks: Stacks, found: Mapping[str, Value]) -> Block | None:
    if not stacks.threads:
        return None
    fields = {
        **stacks.fields(MAX_STACK),
        **{name: value for name, value in found.items() if name in ("rank", "host", "pid")},
    }
    taken = tuple(number for number in stacks.taken if number)
    return Block(f"{head.text.strip()}\n{fields.get('where', '')}".strip(), fields, taken)


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


def _process(found: regex.Match[str]) -> dict[str, Value]:
    """What py-spy's line about the process tells: its number, and what its command line says."""
    local = _LOCAL_RANK.search(found["command"])
    return {"pid": int(found["pid"]), **({"local_rank": int(local["local_rank"])} if local else {})}


def _read(stacks: Stacks, below: Iterator[Bare]) -> None:
    gap = 0
    for bare in below:
        thread = _THREAD.match(bare.text)
        process = None if thread else _PROCESS.match(bare.text)
        frame = None if thread else _FRAME.match(bare.text) or _SPY_FRAME.match(bare.text)
        if not frame and _begins_anew(stacks, bare, thread, process):
            return
        if thread:
            stacks.start(thread["id"], wanted=_is_wanted(thread))
        elif process:
            stacks.known.update(_process(process))
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


def _begins_anew(stacks: Stacks, bare: Bare, thread: regex.Match[str] | None, process: regex.Match[str] | None) -> bool:
    """Whether here another dump begins: of the next process, or of the same one later."""
    if thread:
        return stacks.wanted and _is_wanted(thread)
    if process:
        return stacks.threads > 0 or "pid" in stacks.known
    return begins_section(bare.text) or _NEXT.match(bare.text) is not None


def _read_pystack(stacks: Stacks, below: Iterator[Bare]) -> None:
    """The thread with the lowest number is the main one; a number seen before begins another dump."""
    threads: dict[int, list[tuple[str, str, str]]] = {}
    now: list[tuple[str, str, str]] = []
    for bare in below:
        if head := _PYSTACK.match(bare.text):
            if int(head["id"]) in threads:
                break
            now = threads.setdefault(int(head["id"]), [])
        elif frame := _PYSTACK_FRAME.match(bare.text):
            now.append((frame["path"], frame["line"], frame["function"]))
        elif bare.text.strip() and not bare.text.startswith("  "):
            break
        else:
            continue
        stacks.taken.append(bare.below)
    for number in sorted(threads, reverse=True):
        stacks.start(str(number), wanted=False)
        for path, line, function in reversed(threads[number]):
            stacks.add(path, line, function)
    if threads:
        stacks.known["pid"] = min(threads)
