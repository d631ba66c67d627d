"""Stacks of all threads from faulthandler, py-spy and pystack.

They come from fatal errors, time-outs, signals, ``py-spy dump`` and ``pystack``. faulthandler and py-spy print the
innermost frame first. The field ``frames`` is reversed, so that it reads like a traceback. Dumps of several processes
one after the other are several records.

Sources: CPython `Python/traceback.c` and `Modules/faulthandler.c` (3.6 to 3.14), py-spy `src/dump.rs` (0.3, 0.4),
pystack `traceback_formatter.py` (1.0 to 1.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

import regex
from msgspec import Struct, field

from logdoctor.frames import DUMP, SPY, is_library, is_shortened_library, short_path
from logdoctor.logs.multiline.python.reading import MAX_FRAMES
from logdoctor.logs.multiline.stack_headlines import headline_fields, is_headline
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.logs.signals import signal_number
from logdoctor.model import Value
from logdoctor.model.numbers import number, number_fields
from logdoctor.pack.regexes import later

_THREAD = later(
    r"^\s*(?P<current>Current thread|Thread) (?P<id>0x[0-9a-f]+|\d+(?:/0x[0-9A-F]+)?)(?: "
    r"\[(?P<name>[^\]]*)\])?(?P<rest>.*(?:most recent call first|\((?:idle|active)).*)"
)
_PYSTACK = later(r"^\s*Traceback for thread (?P<id>\d+) .{0,200}\(most recent call last\)")
_PROCESS = later(r"^\s*Process (?P<pid>\d{1,10}): ?(?P<command>.*)")
_PYSTACK_FRAME = later(r'^\s+(?:\(\w+\) )?File "(?P<path>[^"]*)", line (?P<line>\d+), in (?P<function>\S+)')
_IGNORED = later(
    r"^\s*(?:Extension modules:|<no Python frame>|\.\.\.$|Python v\d|Garbage-collecting|<freed|(?:Arguments|Locals):$)"
    r"|^ {8,}\S"
)
_NEXT = later(r"^\s*(?:Timeout \(\d|Fatal Python error: |Windows fatal exception: |Attaching to process )")
"""The first line of the dump of another process, or of the same process later."""
_LOCAL_RANK = later(r"--local[-_]rank[= ](?P<local_rank>\d{1,4})\b")
_STATES = {"idle": "(idle", "gil": "+gil)"}
"""Fields, and how py-spy says that a thread sleeps in the kernel, or holds the lock of the interpreter."""
MAX_GAP = 4
MAX_STACK = 32
"""Frames of a living process that are kept. The innermost ones may be native."""
MAX_PID = 11
"""A number with this many digits is no pid."""
MAX_HEAD = 3
"""Most lines between a section's headline and its stacks."""


class Stacks(Struct):
    """The threads read so far. The object keeps their number, and the frames of the current or main thread."""

    threads: int = 0
    chosen: list[tuple[str, str, bool]] = field(default_factory=list)
    """Frames, the innermost first: file and function, place, and whether they are of the user's own code."""
    latest: list[tuple[str, str, bool]] = field(default_factory=list)
    wanted: bool = False
    taken: list[int] = field(default_factory=list)
    process_fields: dict[str, Value] = field(default_factory=dict)
    """Fields of the process, from the lines above the stacks."""
    thread: str = ""
    """The number of the chosen thread."""
    main: tuple[list[tuple[str, str, bool]], str] | None = None
    """Frames and number of the thread that runs the script."""
    started: str = ""
    """The number of the thread begun last."""
    states: dict[str, dict[str, Value]] = field(default_factory=dict)
    """Fields that py-spy alone tells of a thread, by its number."""

    def start(self, thread: str, *, wanted: bool, state: str = "") -> None:
        """Begin a thread. ``wanted``: it is the current or main thread, whose frames are reported."""
        self.threads += 1
        self.latest, self.started = [], thread
        self.states[thread] = {name: "yes" for name, mark in _STATES.items() if mark in state}
        if wanted or not self.wanted:
            self.chosen, self.wanted, self.thread = self.latest, self.wanted or wanted, thread

    def add(self, path: str, line: str, function: str) -> None:
        """Add a frame to the thread begun last."""
        short = short_path(path)
        place = f"{short.rpartition('/')[2]}:{line} in {function}"
        self.latest.append((f"{short}:{function}", place, not (is_library(path) or is_shortened_library(path))))
        if function == "<module>":
            self.main = self.latest, self.started

    def prefer_main(self) -> None:
        """Choose the thread that runs the script. The current one may be that of a timer, which printed the stacks."""
        if self.main and self.chosen and not self.chosen[-1][0].endswith(":<module>"):
            self.chosen, self.thread = self.main

    def fields(self, max_frames: int = MAX_FRAMES) -> dict[str, Value]:
        """Return threads, where, frames, own_frame, thread_id, pid, and those of `_STATES`, as far as printed."""
        if not self.chosen:  # a crashed native thread has no Python frames; the main thread is printed last
            self.chosen = self.latest
        own = next((place for _, place, is_own in self.chosen if is_own), "")
        names = " > ".join(name for name, *_ in reversed(self.chosen[:max_frames]))
        values: dict[str, Value] = {"threads": self.threads, **self.process_fields}
        if self.thread:
            values |= {"thread_id": self.thread, **self.states.get(self.thread, {})}
            pid = number(self.thread)
            if pid is not None and self.wanted and len(self.thread) < MAX_PID:
                values.setdefault("pid", pid)  # on Linux the main thread has the number of the process
        if not self.chosen:
            return values
        return values | {"where": self.chosen[0][1], "frames": names} | ({"own_frame": own} if own else {})


def read_threads(head: Message, head_fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the threads below ``Timeout (0:05:00)!``.

    The head may also be the first thread's own line, or py-spy's line about the process.
    """
    stacks = Stacks()
    first = _THREAD.match(head.text)
    if first:
        stacks.start(first["id"], wanted=_is_wanted(first), state=first["rest"])
    elif process := _PROCESS.match(head.text):
        stacks.process_fields.update(_process_fields(process))
    _read_dumps(stacks, below)
    return _block(head, stacks, head_fields)


def read_section(head: Message, head_fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the stacks below ``=== rank 3 on node7 ===``. Return None if none follow at once."""
    lines = list(below)
    near = [b for b in lines if b.text.strip()][:MAX_HEAD]
    start = next((b for b in near if _THREAD.match(b.text) or _PYSTACK.match(b.text) or _PROCESS.match(b.text)), None)
    if start is None:
        return None
    stacks = Stacks()
    stacks.process_fields.update(headline_fields(head.text))
    rest = iter(lines[lines.index(start) :])
    if _PYSTACK.match(start.text):
        _read_pystack(stacks, rest)
    else:
        _read_dumps(stacks, rest)
    return _block(head, stacks, head_fields)


def read_pystack(head: Message, head_fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read ``pystack remote`` of one process, which prints the outermost call first."""
    stacks = Stacks()
    _read_pystack(stacks, chain([head], below))
    return _block(head, stacks, head_fields)


def _block(head: Message, stacks: Stacks, head_fields: Mapping[str, Value]) -> Multiline | None:
    if not stacks.threads:
        return None
    stacks.prefer_main()
    fields = {
        **stacks.fields(MAX_STACK),
        **{name: value for name, value in head_fields.items() if name in ("rank", "host", "pid")},
    }
    taken = tuple(number for number in stacks.taken if number)
    return Multiline(f"{head.text.strip()}\n{fields.get('where', '')}".strip(), fields, taken)


def read_fatal(head: Message, head_fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read a ``Fatal Python error``: its reason, and the stacks if any."""
    stacks = Stacks()
    _read_dumps(stacks, below)
    fields = stacks.fields()
    reason = str(head_fields.get("message", ""))
    number = signal_number(reason)
    if number:
        fields["signal"] = number
    return Multiline(f"{head.text.strip()}\n{fields.get('where', '')}".strip(), fields, tuple(stacks.taken))


def _is_wanted(match: regex.Match[str]) -> bool:
    return match["current"] == "Current thread" or '"MainThread"' in match["rest"] or match["name"] == "MainThread"


def _process_fields(match: regex.Match[str]) -> dict[str, Value]:
    """Return pid and local rank in py-spy's line about the process."""
    local = _LOCAL_RANK.search(match["command"])
    return {**number_fields({"pid": match["pid"], "local_rank": local["local_rank"] if local else None})}


def _read_dumps(stacks: Stacks, below: Iterator[Message]) -> None:
    gap = 0
    for line in below:
        thread = _THREAD.match(line.text)
        process = None if thread else _PROCESS.match(line.text)
        frame = None if thread else DUMP.match(line.text) or SPY.match(line.text)
        if not frame and _begins_dump(stacks, line, thread, process):
            return
        if thread:
            stacks.start(thread["id"], wanted=_is_wanted(thread), state=thread["rest"])
        elif process:
            stacks.process_fields.update(_process_fields(process))
        elif frame:
            stacks.add(frame["path"], frame["line"] or "?", frame["function"])
        elif not line.text.strip() or _IGNORED.match(line.text):
            continue
        else:
            gap += 1
            if gap > MAX_GAP:
                return
            continue
        gap = 0
        stacks.taken.append(line.below)


def _begins_dump(
    stacks: Stacks, line: Message, thread: regex.Match[str] | None, process: regex.Match[str] | None
) -> bool:
    """Return True if another dump begins here. It is a dump of the next process, or of the same process later."""
    if thread:
        return stacks.wanted and _is_wanted(thread)
    if process:
        return stacks.threads > 0 or "pid" in stacks.process_fields
    return is_headline(line.text) or _NEXT.match(line.text) is not None


def _read_pystack(stacks: Stacks, below: Iterator[Message]) -> None:
    """Read the threads of one process.

    The thread with the lowest number is the main thread. A number that occurred before begins another dump.
    """
    threads: dict[int, list[tuple[str, str, str]]] = {}
    frames: list[tuple[str, str, str]] = []
    for line in below:
        if head := _PYSTACK.match(line.text):
            started = number(head["id"])
            if started is None or started in threads:
                break
            frames = threads.setdefault(started, [])
        elif frame := _PYSTACK_FRAME.match(line.text):
            frames.append((frame["path"], frame["line"], frame["function"]))
        elif line.text.strip() and not line.text.startswith("  "):
            break
        else:
            continue
        stacks.taken.append(line.below)
    for thread in sorted(threads, reverse=True):
        stacks.start(str(thread), wanted=False)
        for path, source_line, function in reversed(threads[thread]):
            stacks.add(path, source_line, function)
    if threads:
        stacks.process_fields["pid"] = min(threads)
