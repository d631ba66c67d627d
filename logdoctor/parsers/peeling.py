"""Takes wrappers off a line, from the outside in, in any order and nesting."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any, cast

import regex
from msgspec import Struct, field

from logdoctor.model import Speaker
from logdoctor.parsers.record import Wrapper
from logdoctor.parsers.shapes import level_of
from logdoctor.parsers.times import NO_YEAR, seconds
from logdoctor.regexes import compiled, later

MAX_LAYERS = 12
MAX_MORE = 1000
"""So many further lines of a decoded message are told apart."""
STAGES = 3
"""So many of the innermost prefixes may turn out to be part of the message (see `Peeled.stages`)."""

IDENTITY = ("rank", "local_rank", "task", "host", "pid", "tag")
_OUTERMOST = ("host", "time")
"""Here the outermost prefix is believed, else the innermost: a collector's clock is the same for all lines."""
_REPEATED = later(r" ?\[repeated \d+x across (?:cluster|all nodes)\](?: \(Ray deduplicates logs.*)?$")

_QUOTED = "(most recent call last):\\"
"""Here a service quotes a traceback within a string, or a list of strings: its newlines are written out."""
_WRITTEN_OUT = later(r"\\{1,4}(?:(?P<newline>n)(?:[\"'],? ?[\"'\]])?|(?P<quote>[\"']))")

_LINKED = "](http"
"""Here an editor made links of what looks like a file or an address: ``[net.cc:7](http://net.cc:7/)``."""
_LINK = later(r"\[([^\[\]\n]{1,300})\]\(https?://[^()\s]{1,600}\)")

Who = dict[str, Any]
"""What the prefixes say: the names of `Speaker` and ``task``, values still as printed."""


class Peeled(Struct):
    """A line without its wrappers.

    ``printed`` is the line as it was, ``text`` what is left, ``who`` what the prefixes say, ``steady`` who printed it
    as far as prefixes say that stand on every line.  ``before`` are the line and who printed it before each of the
    last prefixes was taken off.  ``more`` are further lines of a message that one line held (JSON, a quoted
    traceback).
    """

    printed: str
    text: str
    who: Who
    steady: Who
    before: list[tuple[str, Who]] = field(default_factory=list)
    more: list[Peeled] = field(default_factory=list)
    decoded: bool = False

    def stages(self) -> list[tuple[str, Who]]:
        """The bare line, then the same with one, two ... of the innermost prefixes left on."""
        return [(self.text, self.who), *reversed(self.before[-STAGES:])]


def peel(line: str, outer: Peeled | None = None) -> Peeled:
    """Take the wrappers off ``line`` (no escapes, no newline); ``outer`` is a piece of the same line in front of it."""
    who: Who = dict(outer.steady) if outer else {}
    peeled = Peeled(line, line, who, dict(who))
    for _ in range(MAX_LAYERS):
        if _is_code(peeled.text):
            break
        wrapper = _peel_one(peeled)
        if wrapper is None or wrapper.last:
            break
    if peeled.text.endswith((")", "]")) and "x across " in peeled.text:
        peeled.text = _REPEATED.sub("", peeled.text)
    if _LINKED in peeled.text:
        _set_rest(peeled, _LINK.sub(r"\1", peeled.text), decoded=True)
    if _QUOTED in peeled.text:
        _set_rest(peeled, _WRITTEN_OUT.sub(lambda m: m["quote"] or "\n", peeled.text), decoded=True)
    return peeled


def _is_code(text: str) -> bool:
    """A frame of a traceback or its source line: most lines of a crash are, and no prefix looks like that."""
    return text.startswith('  File "') or (text.startswith("    ") and text[4:5].isalpha())


def _peel_one(peeled: Peeled) -> Wrapper | None:
    """Take one prefix off; None if there is none."""
    text = peeled.text
    candidates = _beginning_with(_SORTS.get(text[:1], text[:1]))
    if candidates is None:
        return None
    for wrapper, end, groups, level_at in candidates.hits(text):
        if any(name in peeled.who for name in wrapper.unless):
            continue
        rest = text[end:]
        if wrapper.decode is not None:
            decoded = wrapper.decode(groups, rest)
            if decoded is None:
                continue
            rest = decoded[0]
            groups = {**groups, **_known(decoded[1])}
        elif rest == text:
            continue
        peeled.before.append((text, peeled.who))
        _note(peeled, groups, steady=not wrapper.once)
        if level_at > 0 and len(groups.get("level", "")) > 1 and (word := _from_level(text, level_at)) != text:
            peeled.before.append((word, peeled.who))
        _set_rest(peeled, rest, decoded=not text.endswith(rest))
        return wrapper
    return None


def _from_level(text: str, at: int) -> str:
    """The line from its level on: without the stamp, but the word may be the program's (``FATAL: kernel too old``)."""
    return text[len(text[:at].rstrip("[( ")) :].lstrip()


def _note(peeled: Peeled, groups: Mapping[str, Any], *, steady: bool) -> None:
    who = dict(peeled.who)
    for name, value in groups.items():
        if name not in who or name not in _OUTERMOST:
            who[name] = value
    peeled.who = who
    if steady:
        peeled.steady.update({name: who[name] for name in IDENTITY if name in groups})


def _set_rest(peeled: Peeled, rest: str, *, decoded: bool) -> None:
    """What is left; a message of several lines becomes a line and `Peeled.more`."""
    if decoded:
        peeled.decoded, peeled.before = True, []
    if "\n" not in rest:
        peeled.text = rest
        return
    peeled.text, *further = rest.split("\n", MAX_MORE)
    outer = Peeled("", "", peeled.who, {k: peeled.who[k] for k in IDENTITY if k in peeled.who})
    peeled.more = [*(below(line, outer, peeled.who) for line in further), *peeled.more]


def below(line: str, outer: Peeled, who: Who) -> Peeled:
    """A further line of a decoded message: who said it when is known from the first."""
    peeled = peel(line, outer)
    peeled.who = {**who, **peeled.who}
    peeled.decoded = True
    return peeled


def _known(speaker: Speaker) -> Who:
    return {name: value for name in _NAMES if (value := getattr(speaker, name)) is not None}


_NAMES = ("rank", "local_rank", "host", "pid", "time", "level", "source", "tag")
Match = Callable[[str], "regex.Match[str] | None"]


@cache
def wrappers() -> tuple[Wrapper, ...]:
    """All wrappers, in the order of their files' names: the first that matches is taken off."""
    from logdoctor.parsers import wrappers as folder

    modules = sorted(m.name for m in pkgutil.iter_modules(folder.__path__))
    return tuple(w for name in modules for w in importlib.import_module(f"{folder.__name__}.{name}").WRAPPERS)


class _Candidates(Struct, frozen=True):
    """The wrappers that may begin with one sort of character, and a search that tells the first of them to match.

    The group that it closes last is ``_N``, N the wrapper's place; ``groups[N]`` are the names of the wrapper's groups
    and their numbers in ``first`` (``tag2`` is ``tag`` in another alternative).
    """

    wrappers: tuple[Wrapper, ...]
    first: Match
    groups: tuple[tuple[tuple[str, int], ...], ...]

    def hits(self, text: str) -> Iterator[tuple[Wrapper, int, dict[str, str], int]]:
        """The wrappers that match, in order: the end of its prefix, what its groups tell, where it names the level."""
        hit = self.first(text)
        if hit is None:
            return
        place = int(cast("str", hit.lastgroup)[1:])
        told = {name: value for name, group in self.groups[place] if (value := hit[group])}
        level_at = max((hit.start(group) for name, group in self.groups[place] if name == "level"), default=-1)
        yield self.wrappers[place], hit.end(), told, level_at
        for wrapper in self.wrappers[place + 1 :]:
            other = compiled(wrapper.pattern).match(text)
            if other is not None:
                told = {name.rstrip("23"): value for name, value in other.groupdict().items() if value}
                yield wrapper, other.end(), told, other.start("level") if "level" in told else -1


_SORTS = {first: sort for sort in (digits, ascii_lowercase, ascii_uppercase) for first in sort}
"""Characters that share a search: compiling one takes as long as a hundred lines, and most wrappers begin with many."""


@cache
def _beginning_with(sort: str) -> _Candidates | None:
    """The wrappers that may begin with one of these characters; compiled when one is first seen."""
    if not sort or not sort.isascii():
        return None
    found = [w for w in wrappers() if not w.starts or not {*sort}.isdisjoint(w.starts)]
    if not found:
        return None
    together = compiled("|".join(f"(?:{_nameless(w.pattern, n)})(?P<_{n}>)" for n, w in enumerate(found)))
    groups: list[list[tuple[str, int]]] = [[] for _ in found]
    for name, number in together.groupindex.items():
        told, _, place = name.rpartition("_")
        if told:
            groups[int(place)].append((told.rstrip("23"), number))
    return _Candidates(tuple(found), cast("Match", together.match), tuple(map(tuple, groups)))


def _nameless(pattern: str, number: int) -> str:
    """The pattern with its groups' names made its own."""
    return str(compiled(r"\(\?P([<=])(\w+)").sub(rf"(?P\g<1>\g<2>_{number}", pattern))


def speaker(who: Who, default: Speaker, *, year: int = NO_YEAR, tasks_are_ranks: bool = True) -> Speaker:
    """The speaker that prefixes name; ``default`` fills in what they do not say (from the file's name)."""
    rank, tag, task = _number(who.get("rank")), who.get("tag"), _number(who.get("task"))
    if rank is None and task is not None:
        if tasks_are_ranks:
            rank = task
        else:
            tag = tag or f"task {task}"
    time, level = who.get("time"), who.get("level")
    local_rank, pid = _number(who.get("local_rank")), _number(who.get("pid"))
    return Speaker(
        default.rank if rank is None else rank,
        default.local_rank if local_rank is None else local_rank,
        who.get("host") or default.host,
        default.pid if pid is None else pid,
        seconds(time, year) if isinstance(time, str) else time,
        level_of(level) if level else None,
        who.get("source"),
        tag or default.tag,
    )


def _number(value: Any) -> int | None:
    if isinstance(value, str):
        return int(value) if value.isdecimal() else None
    return value if isinstance(value, int) else None
