"""Stacks of a living process as debuggers print them: gdb, pstack, eu-stack.

gdb prints them for ``bt`` and ``thread apply all bt``. The innermost call comes first. gdb gives the main thread number
1 and prints it last. eu-stack and pstack print it first. Dumps of several processes one after the other are several
records.

Sources: gdb `thread.c`, elfutils `stack.c`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from logdoctor.frames import NATIVE, NO_FUNCTION, RUNTIME_LIBRARY, STACK_WORDS
from logdoctor.logs.multiline.stack_headlines import headline_fields, is_headline
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.model.numbers import number
from logdoctor.pack.regexes import later

THREAD = later(
    r"^\s*(?:Thread (?P<number>\d+) \((?:Thread 0x[0-9a-f]+ )?\(?(?:LWP|process) (?P<pid>\d{1,10})\)"
    r"|Thread (?P<number>\d+) \(Thread 0x[0-9a-f]+\b|TID (?P<pid>\d{1,10}):\s*$)"
)
_NEXT = later(r"^\s*(?:Attaching to process \d|PID \d+ - )")
_DETACHED = later(r"^\s*\[Inferior \d+ \(process (?P<pid>\d{1,10})\) detached\]")
"""The last line of a dump. gdb names the process here if it was attached with ``-p``."""
_QUIET = later(r"^\s*(?:\[New LWP|\[Inferior |Using host libthread_db|Reading symbols|Attaching to )")
_SIGNAL_HANDLER = later(r"^\s*#\d+ +<signal handler called>")
"""The frames that the signal interrupted stand below this line."""
_RANK = later(r"[(, ](?:my_?|mpi_?|world_?|global_?)?rank=(?P<rank>\d{1,7})[,)]")
"""An argument of the program's own function. Ranks of the library's inner functions stand in frames further in."""
MAX_LINES = 40
MAX_BETWEEN = 12
MAX_HEAD = 6
"""Most lines between a section's headline and its stacks."""


class Thread(Struct):
    """One thread of a dump.

    ``number`` is gdb's number (0 if not numbered), ``pid`` the kernel's. ``frames`` are functions, innermost first.
    """

    number: int = 0
    pid: int | None = None
    frames: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    at: int = 0
    """The `Message.below` of its first frame."""


def read_backtrace(head: Message, head_fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the stacks of a living process.

    The head is a thread's headline, a first frame, or a headline that names a rank. Fields: threads, frames (of the
    main thread), pid (its number), library. The text holds the main thread's lines, then those of the other threads.
    """
    lines = [head, *below]
    if not _is_head(head):
        lines = _from_stack(lines)
    threads, taken, libraries = _read_threads(lines)
    if not threads:
        return None
    main, complete = _main_thread(threads)
    fields: dict[str, Value] = {"threads": len(threads), **headline_fields("" if _is_head(head) else head.text)}
    if complete:
        fields["frames"] = tuple(main.frames[:MAX_LINES])
        if main.pid is not None:
            fields["pid"] = main.pid
    if libraries:
        fields["library"] = libraries[0]
    if complete and (rank := _rank_of(main)) is not None:
        fields["rank"] = rank
    fields |= {name: value for name, value in head_fields.items() if name in ("rank", "host")}
    others = [line for t in threads if t is not main for line in t.lines]
    text = "\n".join([*([] if _is_head(head) else [head.text]), *main.lines, *others][:MAX_LINES])
    return Multiline(text, fields, tuple(n for n in taken if n), main.at)


def _rank_of(thread: Thread) -> int | None:
    """Return the rank that the outermost frame with such an argument was called with (``rank=3``)."""
    told = (_RANK.search(line) for line in reversed(thread.lines))
    return next((number(rank["rank"]) for rank in told if rank), None)


def _is_head(head: Message) -> bool:
    return bool(THREAD.match(head.text) or NATIVE.match(head.text))


def _from_stack(lines: list[Message]) -> list[Message]:
    """Return the lines from the first stack line on.

    Return no lines if the stack does not stand just below the headline.
    """
    near = [i for i, line in enumerate(lines[1 : MAX_HEAD + 1], 1) if _is_head(line)]
    return lines[near[0] :] if near else []


def _read_threads(lines: list[Message]) -> tuple[list[Thread], list[int], list[str]]:
    threads: list[Thread] = []
    taken: list[int] = []
    libraries: list[str] = []
    between = 0
    for line in lines:
        head, frame = THREAD.match(line.text), NATIVE.match(line.text)
        if _is_next_dump(line.text) or (head and _is_next_process(threads, number(head["number"]) or 0)):
            break
        if threads and (detached := _DETACHED.match(line.text)):
            taken.append(line.below)
            _add_pid(threads, number(detached["pid"]))
            break
        if head:
            threads.append(Thread(number(head["number"]) or 0, number(head["pid"])))
        elif frame:
            first = line.text.lstrip().startswith("#0 ")
            if first and threads and threads[-1].lines:
                break
            threads = threads or [Thread()]
            _add(threads[-1], line, frame["function"], frame["library"], libraries)
        elif threads and _SIGNAL_HANDLER.match(line.text):
            threads[-1].lines.append(line.text.strip())
        else:
            between += 1
            if between > MAX_BETWEEN or not (STACK_WORDS.match(line.text) or _QUIET.match(line.text)):
                break
            continue
        taken.append(line.below)
    return [t for t in threads if t.lines], taken, libraries


def _add_pid(threads: list[Thread], pid: int | None) -> None:
    """Set the process id of the main thread, if no headline tells it."""
    main, _ = _main_thread(threads)
    main.pid = main.pid or pid


def _add(thread: Thread, line: Message, function: str | None, library: str | None, libraries: list[str]) -> None:
    thread.at = thread.at if thread.lines else line.below
    thread.lines.append(line.text.strip())
    if function and not function.startswith(NO_FUNCTION):
        thread.frames.append(function.strip())
    if library and not RUNTIME_LIBRARY.search(library):
        libraries.append(library)


def _is_next_dump(text: str) -> bool:
    """Return True for a line of the next process's dump."""
    return _NEXT.match(text) is not None or is_headline(text)


def _is_next_process(threads: list[Thread], number: int) -> bool:
    """Return True if a thread number belongs to the next process.

    The number occurred before, or it follows gdb's last thread, which has number 1.
    """
    numbers = [t.number for t in threads if t.number]
    return number in numbers or (len(numbers) > 1 and numbers[-1] == 1)


def _main_thread(threads: list[Thread]) -> tuple[Thread, bool]:
    """Return the main thread, and whether it is surely that thread.

    gdb's thread 1 may be missing if the dump was cut.
    """
    first = next((t for t in threads if t.number == 1), None)
    if first is not None:
        return first, True
    return threads[0], len(threads) == 1 or not threads[0].number
