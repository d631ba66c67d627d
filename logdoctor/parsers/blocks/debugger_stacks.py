"""Reads a living process's stacks as debuggers print them: gdb (``bt``, ``thread apply all bt``), pstack, eu-stack.

Innermost call first.  gdb counts threads from the main one, 1, and lists it last; eu-stack and pstack list it first.
Dumps of several processes one after the other are several records.  Sources: gdb `thread.c`, elfutils `stack.c`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from logdoctor.model import Value
from logdoctor.parsers.blocks.crash_stacks import FRAME, NO_FUNCTION, RUNTIME_LIBRARY, STACK_WORDS
from logdoctor.parsers.blocks.stack_headlines import begins_section, named_in
from logdoctor.parsers.record import Bare, Block
from logdoctor.regexes import later

THREAD = later(
    r"^\s*(?:Thread (?P<number>\d+) \((?:Thread 0x[0-9a-f]+ )?\(?(?:LWP|process) (?P<pid>\d{1,10})\)"
    r"|Thread (?P<number>\d+) \(Thread 0x[0-9a-f]+\b|TID (?P<pid>\d{1,10}):\s*$)"
)
_NEXT = later(r"^\s*(?:Attaching to process \d|PID \d+ - )")
_QUIET = later(r"^\s*(?:\[New LWP|\[Inferior |Using host libthread_db|Reading symbols|Attaching to )")
_IN_A_HANDLER = later(r"^\s*#\d+ +<signal handler called>")
"""Below it stand the frames that the signal interrupted."""
MAX_LINES = 40
MAX_BETWEEN = 12
MAX_HEAD = 6
"""Between a section's headline and its stacks stand at most so many lines."""


class Thread(Struct):
    """One thread: gdb's number (0: not numbered), the kernel's number, functions (innermost first) and lines."""

    number: int = 0
    pid: int | None = None
    frames: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    at: int = 0
    """The `Bare.below` of its first frame."""


def read_backtrace(head: Bare, found: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """Read on from a thread's headline, from a first frame, or from a headline that names a rank.

    Fields: threads, frames (of the main thread), pid (its number), library; the event's text is the main thread's
    lines, then the others'.
    """
    lines = [head, *below]
    if not _is_head(head):
        lines = _from_stack(lines)
    threads, taken, libraries = _read(lines)
    if not threads:
        return None
    main, complete = _main(threads)
    fields: dict[str, Value] = {"threads": len(threads), **named_in("" if _is_head(head) else head.text)}
    if complete:
        fields["frames"] = tuple(main.frames[:MAX_LINES])
        if main.pid is not None:
            fields["pid"] = main.pid
    if libraries:
        fields["library"] = libraries[0]
    fields |= {name: value for name, value in found.items() if name in ("rank", "host")}
    others = [line for t in threads if t is not main for line in t.lines]
    text = "\n".join([*([] if _is_head(head) else [head.text]), *main.lines, *others][:MAX_LINES])
    return Block(text, fields, tuple(n for n in taken if n), main.at)


def _is_head(head: Bare) -> bool:
    return bool(THREAD.match(head.text) or FRAME.match(head.text))


def _from_stack(lines: list[Bare]) -> list[Bare]:
    """The lines from the first that belongs to a stack on, if it stands just below the headline."""
    near = [i for i, bare in enumerate(lines[1 : MAX_HEAD + 1], 1) if _is_head(bare)]
    return lines[near[0] :] if near else []


def _read(lines: list[Bare]) -> tuple[list[Thread], list[int], list[str]]:
    threads: list[Thread] = []
    taken: list[int] = []
    libraries: list[str] = []
    between = 0
    for bare in lines:
        head, frame = THREAD.match(bare.text), FRAME.match(bare.text)
        if _ends(bare.text) or (head and _begins_anew(threads, int(head["number"] or 0))):
            break
        if head:
            threads.append(Thread(int(head["number"] or 0), int(head["pid"]) if head["pid"] else None))
        elif frame:
            first = bare.text.lstrip().startswith("#0 ")
            if first and threads and threads[-1].lines:
                break
            threads = threads or [Thread()]
            _add(threads[-1], bare, frame["function"], frame["library"], libraries)
        elif threads and _IN_A_HANDLER.match(bare.text):
            threads[-1].lines.append(bare.text.strip())
        else:
            between += 1
            if between > MAX_BETWEEN or not (STACK_WORDS.match(bare.text) or _QUIET.match(bare.text)):
                break
            continue
        taken.append(bare.below)
    return [t for t in threads if t.lines], taken, libraries


def _add(thread: Thread, bare: Bare, function: str | None, library: str | None, libraries: list[str]) -> None:
    thread.at = thread.at if thread.lines else bare.below
    thread.lines.append(bare.text.strip())
    if function and not function.startswith(NO_FUNCTION):
        thread.frames.append(function.strip())
    if library and not RUNTIME_LIBRARY.search(library):
        libraries.append(library)


def _ends(text: str) -> bool:
    """Whether a line belongs to the next process's dump."""
    return _NEXT.match(text) is not None or begins_section(text)


def _begins_anew(threads: list[Thread], number: int) -> bool:
    """Whether a thread of this number is another process's: seen before, or after gdb's last one."""
    seen = [t.number for t in threads if t.number]
    return number in seen or (len(seen) > 1 and seen[-1] == 1)


def _main(threads: list[Thread]) -> tuple[Thread, bool]:
    """The main thread, and whether it is surely that: of a dump that was cut, gdb's thread 1 may be missing."""
    first = next((t for t in threads if t.number == 1), None)
    if first is not None:
        return first, True
    return threads[0], len(threads) == 1 or not threads[0].number
