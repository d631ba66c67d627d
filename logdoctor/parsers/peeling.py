"""Strip the prefixes off a line, from the outside in.

Prefixes may stand in any order: ``2024-10-28T10:13:38Z 1: [rank9]: gone`` -> ``gone``, task 1, rank 9, time.
"""

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
from logdoctor.parsers.times import NO_YEAR, parse_time
from logdoctor.regexes import compiled, later

MAX_LAYERS = 12
"""Strip at most this many prefixes from one line."""
MAX_FURTHER_LINES = 1000
"""Split a decoded message into at most this many lines below its first."""
MAX_VARIANTS = 3
"""Keep the text with up to this many of the innermost prefixes, see `Peeled.variants`."""

IDENTITY = ("rank", "local_rank", "task", "host", "pid", "tag")
"""The labels that name a process."""
_OUTERMOST_WINS = ("host", "time")
"""Labels of which the outermost prefix wins, because a collector uses one clock for all lines.

Of all other labels the innermost prefix wins.
"""
_REPEATED = later(r" ?\[repeated \d+x across (?:cluster|all nodes)\](?: \(Ray deduplicates logs.*)?$")

_QUOTED_TRACEBACK = "(most recent call last):\\"
"""Sign of a traceback that a service quotes in a string or in a list of strings, with ``\\n`` for newlines."""
_ESCAPED = later(r"\\{1,4}(?:(?P<newline>n)(?:[\"'],? ?[\"'\]])?|(?P<quote>[\"']))")

_LINK_SIGN = "](http"
"""Sign of Markdown links that an editor made of file names: ``[net.cc:7](http://net.cc:7/)``."""
_LINK = later(r"\[([^\[\]\n]{1,300})\]\(https?://[^()\s]{1,600}\)")

Labels = dict[str, Any]
"""Values of the prefixes as printed. The keys are the fields of `Speaker`, and ``task``."""


class Peeled(Struct):
    """A line without its prefixes.

    - ``printed``: the line as printed; ``text``: the message that is left
    - ``labels``: values of all prefixes; ``line_labels``: only those of prefixes that stand on every line
    - ``outer_variants``: text and labels before each prefix was stripped, the outermost first
    - ``further``: lines below the first, if the line held a message of several lines (JSON, a quoted traceback)
    - ``decoded``: the message does not stand in the line as printed (JSON, a quoted string)
    """

    printed: str
    text: str
    labels: Labels
    line_labels: Labels
    outer_variants: list[tuple[str, Labels]] = field(default_factory=list)
    further: list[Peeled] = field(default_factory=list)
    decoded: bool = False

    def variants(self) -> list[tuple[str, Labels]]:
        """Return the message with no, one, two ... of the innermost prefixes."""
        return [(self.text, self.labels), *reversed(self.outer_variants[-MAX_VARIANTS:])]


def peel(line: str, outer: Peeled | None = None) -> Peeled:
    """Strip the prefixes off a line.

    ``line`` holds no terminal escapes and no newline.  ``outer`` is an earlier piece of the same printed line.  Its
    ``line_labels`` hold for this piece as well.
    """
    labels: Labels = dict(outer.line_labels) if outer else {}
    peeled = Peeled(line, line, labels, dict(labels))
    for _ in range(MAX_LAYERS):
        if _is_code(peeled.text):
            break
        wrapper = _strip_prefix(peeled)
        if wrapper is None or wrapper.last:
            break
    if peeled.text.endswith((")", "]")) and "x across " in peeled.text:
        peeled.text = _REPEATED.sub("", peeled.text)
    if _LINK_SIGN in peeled.text:
        _set_text(peeled, _LINK.sub(r"\1", peeled.text), decoded=True)
    if _QUOTED_TRACEBACK in peeled.text:
        _set_text(peeled, _ESCAPED.sub(lambda m: m["quote"] or "\n", peeled.text), decoded=True)
    return peeled


def _is_code(text: str) -> bool:
    """Return True for a traceback frame or source line. No prefix looks so."""
    return text.startswith('  File "') or (text.startswith("    ") and text[4:5].isalpha())


def _strip_prefix(peeled: Peeled) -> Wrapper | None:
    """Strip the outermost prefix. Return None if the text begins with no prefix."""
    text = peeled.text
    candidates = _prefixes_for(_CHARACTER_CLASSES.get(text[:1], text[:1]))
    if candidates is None:
        return None
    for wrapper, end, groups, level_at in candidates.matches(text):
        if any(name in peeled.labels for name in wrapper.unless):
            continue
        rest = text[end:]
        if wrapper.decode is not None:
            decoded = wrapper.decode(groups, rest)
            if decoded is None:
                continue
            rest = decoded[0]
            groups = {**groups, **_to_labels(decoded[1])}
        elif rest == text:
            continue
        peeled.outer_variants.append((text, peeled.labels))
        _add_labels(peeled, groups, line_labels=not wrapper.once)
        if level_at > 0 and len(groups.get("level", "")) > 1 and (word := _cut_before_level(text, level_at)) != text:
            peeled.outer_variants.append((word, peeled.labels))
        _set_text(peeled, rest, decoded=not text.endswith(rest))
        return wrapper
    return None


def _cut_before_level(text: str, at: int) -> str:
    """Return the text from its level word on.

    The word may belong to the message.  Example: ``2024-10-28T10:13:38Z FATAL: kernel too old`` -> ``FATAL: kernel too
    old``.
    """
    return text[len(text[:at].rstrip("[( ")) :].lstrip()


def _add_labels(peeled: Peeled, groups: Mapping[str, Any], *, line_labels: bool) -> None:
    labels = dict(peeled.labels)
    for name, value in groups.items():
        if name not in labels or name not in _OUTERMOST_WINS:
            labels[name] = value
    peeled.labels = labels
    if line_labels:
        peeled.line_labels.update({name: labels[name] for name in IDENTITY if name in groups})


def _set_text(peeled: Peeled, rest: str, *, decoded: bool) -> None:
    """Set the text. Move all lines after the first to `Peeled.further`."""
    if decoded:
        peeled.decoded, peeled.outer_variants = True, []
    if "\n" not in rest:
        peeled.text = rest
        return
    peeled.text, *further = rest.split("\n", MAX_FURTHER_LINES)
    outer = Peeled("", "", peeled.labels, {k: peeled.labels[k] for k in IDENTITY if k in peeled.labels})
    peeled.further = [*(strip_further_line(line, outer, peeled.labels) for line in further), *peeled.further]


def strip_further_line(line: str, outer: Peeled, labels: Labels) -> Peeled:
    """Strip a later line of a decoded message, which inherits the ``labels``."""
    peeled = peel(line, outer)
    peeled.labels = {**labels, **peeled.labels}
    peeled.decoded = True
    return peeled


def _to_labels(source: Speaker) -> Labels:
    return {name: value for name in _SOURCE_FIELDS if (value := getattr(source, name)) is not None}


_SOURCE_FIELDS = ("rank", "local_rank", "host", "pid", "time", "level", "source", "tag")
MatchFunction = Callable[[str], "regex.Match[str] | None"]


@cache
def wrappers() -> tuple[Wrapper, ...]:
    """Return all prefixes in the order of their file names. The first that matches is stripped."""
    from logdoctor.parsers import wrappers as folder

    modules = sorted(m.name for m in pkgutil.iter_modules(folder.__path__))
    return tuple(w for name in modules for w in importlib.import_module(f"{folder.__name__}.{name}").WRAPPERS)


class _Candidates(Struct, frozen=True):
    """Prefixes that may begin with one class of characters.

    Their patterns are joined into one expression.

    - ``first``: matches the first of the prefixes that fits; the group closed last is ``_N``, N the prefix's index
    - ``groups[N]``: names of the groups of prefix N, and their numbers in ``first`` (``tag2`` counts as ``tag``)
    """

    wrappers: tuple[Wrapper, ...]
    first: MatchFunction
    groups: tuple[tuple[tuple[str, int], ...], ...]

    def matches(self, text: str) -> Iterator[tuple[Wrapper, int, dict[str, str], int]]:
        """Yield each matching prefix with end, groups and level position (or -1)."""
        match = self.first(text)
        if match is None:
            return
        index = int(cast("str", match.lastgroup)[1:])
        values = {name: value for name, group in self.groups[index] if (value := match[group])}
        level_at = max((match.start(group) for name, group in self.groups[index] if name == "level"), default=-1)
        yield self.wrappers[index], match.end(), values, level_at
        for wrapper in self.wrappers[index + 1 :]:
            match = compiled(wrapper.pattern).match(text)
            if match is not None:
                values = {name.rstrip("23"): value for name, value in match.groupdict().items() if value}
                yield wrapper, match.end(), values, match.start("level") if "level" in values else -1


_CHARACTER_CLASSES = {char: chars for chars in (digits, ascii_lowercase, ascii_uppercase) for char in chars}
"""Share one expression among a class of characters, because compiling takes as long as parsing 100 lines."""


@cache
def _prefixes_for(characters: str) -> _Candidates | None:
    """Return the prefixes that may begin with one of these characters."""
    if not characters or not characters.isascii():
        return None
    prefixes = [w for w in wrappers() if not w.starts or not {*characters}.isdisjoint(w.starts)]
    if not prefixes:
        return None
    together = compiled("|".join(f"(?:{_number_groups(w.pattern, n)})(?P<_{n}>)" for n, w in enumerate(prefixes)))
    groups: list[list[tuple[str, int]]] = [[] for _ in prefixes]
    for name, number in together.groupindex.items():
        label, _, index = name.rpartition("_")
        if label:
            groups[int(index)].append((label.rstrip("23"), number))
    return _Candidates(tuple(prefixes), cast("MatchFunction", together.match), tuple(map(tuple, groups)))


def _number_groups(pattern: str, number: int) -> str:
    """Return the pattern with ``_number`` behind the name of each group."""
    return str(compiled(r"\(\?P([<=])(\w+)").sub(rf"(?P\g<1>\g<2>_{number}", pattern))


def build_source(labels: Labels, default: Speaker, *, year: int = NO_YEAR, tasks_are_ranks: bool = True) -> Speaker:
    """Return the source that ``labels`` name.

    Fields without a label come from ``default``.  ``task`` is the rank if ``tasks_are_ranks`` and no label gives a
    rank.  ``year`` is for time stamps without one.
    """
    rank, tag, task = _number(labels.get("rank")), labels.get("tag"), _number(labels.get("task"))
    if rank is None and task is not None:
        if tasks_are_ranks:
            rank = task
        else:
            tag = tag or f"task {task}"
    time, level = labels.get("time"), labels.get("level")
    local_rank, pid = _number(labels.get("local_rank")), _number(labels.get("pid"))
    return Speaker(
        default.rank if rank is None else rank,
        default.local_rank if local_rank is None else local_rank,
        labels.get("host") or default.host,
        default.pid if pid is None else pid,
        parse_time(time, year) if isinstance(time, str) else time,
        level_of(level) if level else None,
        labels.get("source"),
        tag or default.tag,
    )


def _number(value: Any) -> int | None:
    if isinstance(value, str):
        return int(value) if value.isdecimal() else None
    return value if isinstance(value, int) else None
