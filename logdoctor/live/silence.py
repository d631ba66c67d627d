"""Files that grow no more, though they used to: which of them, since when, and which one first."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from logdoctor.live.tails import Tail
from logdoctor.logs.source_from_filename import source_from_filename

SILENT_FOR, SILENT_TIMES, SILENT_LONGEST = 60.0, 8, 1.5
"""A file is silent if it did not grow for so many seconds, so many times its usual gap, and its longest one."""
BUSY_FOR, BUSY_TIMES = 240.0, 2
"""The same for a file whose last lines announce long work."""
MINORITY = 0.25
"""A larger share of the files does not stand apart."""
LAST_LINE = 300
_BUSY = re.compile(
    r"(?i)sav(e|ing)|checkpoint|eval|valid(at|ation)|compil|load|warm|tokeniz|map:|index|download|prepar"
)
_AGAIN = re.compile(
    r"(?i)\bretrying\b|\bretries remaining|\bwill (be )?(restart|retr(y|ied))|\b[1-9][\d/]* attempts left|"
    r"rendezvous'ing worker"
)


class Silence(Struct, frozen=True):
    """The job is silent, or a few of its files are while the others go on."""

    kind: Literal["all", "some"]
    seconds: float
    """Seconds since the last line."""
    times: float
    """The same in usual gaps."""
    apart: tuple[Tail, ...] = ()
    """The files that stand apart: silent alone or first, or busy with long work."""
    busy: bool = False


def find_silence(files: Sequence[Tail], now: float, shows_progress: Callable[[Tail], bool]) -> Silence | None:
    """Return who is silent, None if nobody is who was not expected to be.

    A file that shows no progress may be silent for ever: most ranks print nothing after the start.
    """
    paced = [tail for tail in files if tail.usual_gap]
    silent = [tail for tail in paced if now - tail.grown > _patience(tail)]
    if not silent:
        return None
    going = [tail for tail in files if now - tail.grown <= max(SILENT_FOR, _patience(tail))]
    if not going:
        apart, busy = _apart(paced)
        return _silence("all", paced, now, apart, busy=busy)
    if any(is_busy(tail) and now - tail.grown > SILENT_FOR / 4 for tail in going):
        return None  # the others wait for it
    working = [tail for tail in going if shows_progress(tail)]
    stuck = [tail for tail in silent if shows_progress(tail)]
    if stuck and not working:
        apart, busy = _apart(stuck)
        return _silence("all", stuck, now, apart, busy=busy)
    if stuck and len(working) > 1 and len(stuck) <= MINORITY * len(working):
        return _silence("some", stuck, now, stuck)
    return None


def describe(silence: Silence) -> str:
    """Return the silence as a sentence."""
    since = f"for {silence.seconds:.0f} s, {silence.times:.0f} times the usual time"
    names = ", ".join(map(_name, silence.apart[:3])) + (" and more" if len(silence.apart) > 3 else "")
    if silence.kind == "some":
        return f"{names} printed no line {since}; the others go on"
    if not names:
        return f"no line comes {since}"
    if silence.busy:
        return f"no line comes {since}; {names} said last: {_last_line(silence.apart[0])}"
    return f"no line comes {since}; {names} fell silent first"


def _name(tail: Tail) -> str:
    source = source_from_filename(tail.path)
    named = f"rank {source.rank}" if source.rank is not None else source.host or source.tag
    return f"{named} ({tail.path})" if named else tail.path


def _silence(
    kind: Literal["all", "some"], silent: Sequence[Tail], now: float, apart: Sequence[Tail], *, busy: bool = False
) -> Silence:
    last = max(apart if kind == "some" else silent, key=lambda tail: tail.grown)
    idle = now - last.grown
    return Silence(kind, idle, idle / max(last.usual_gap, 0.1), tuple(apart), busy)


def _apart(silent: Sequence[Tail]) -> tuple[Sequence[Tail], bool]:
    """Return the few files that fell silent before the others, or else those that announced long work."""
    most = MINORITY * len(silent)
    usual = sorted(tail.grown for tail in silent)[len(silent) // 2]
    first = [tail for tail in silent if usual - tail.grown > max(1.0, tail.usual_gap / 2)]
    if 0 < len(first) <= most:
        return first, False
    busy = [tail for tail in silent if is_busy(tail)]
    return (busy, True) if 0 < len(busy) <= max(1, most) else ((), False)


def _patience(tail: Tail) -> float:
    patience = max(SILENT_FOR, SILENT_TIMES * tail.usual_gap, SILENT_LONGEST * tail.longest_gap)
    return max(BUSY_FOR, BUSY_TIMES * patience) if is_busy(tail) else patience


def is_busy(tail: Tail) -> bool:
    """Return whether the last line announces long work."""
    return _BUSY.search(_last_line(tail)) is not None


def announces_more(tail: Tail) -> bool:
    """Return whether the file ends in the middle of a line, or in one that says that something is tried again."""
    return not tail.end.endswith((b"\n", b"\r")) or _AGAIN.search(_last_line(tail)) is not None


def _last_line(tail: Tail) -> str:
    return tail.end[-LAST_LINE:].rstrip().rpartition(b"\n")[2].decode("utf-8", "replace")
