"""Strip the prefixes off a line, from the outside in.

Prefixes may stand in any order: ``2024-10-28T10:13:38Z 1: [rank9]: gone`` -> ``gone``, task 1, rank 9, time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any, cast

import regex
from msgspec import Struct, field

from logdoctor.logs import prefixes
from logdoctor.logs.record_pattern import Prefix, find_function
from logdoctor.logs.times import NO_YEAR, parse_time
from logdoctor.logs.timestamps import level_of
from logdoctor.model import Source
from logdoctor.model.numbers import number
from logdoctor.pack.regexes import compiled, later

MAX_LAYERS = 12
"""Strip at most this many prefixes from one line."""
MAX_FURTHER_LINES = 1000
"""Split a decoded message into at most this many lines below its first."""
MAX_VARIANTS = 3
"""Keep the text with up to this many of the innermost prefixes, see `Stripped.variants`."""

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
"""Values of the prefixes as printed. The keys are the fields of `Source`, and ``task``."""


class Stripped(Struct):
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
    further: list[Stripped] = field(default_factory=list)
    decoded: bool = False

    def variants(self) -> list[tuple[str, Labels]]:
        """Return the message with no, one, two ... of the innermost prefixes."""
        return [(self.text, self.labels), *reversed(self.outer_variants[-MAX_VARIANTS:])]


def strip_prefixes(line: str, outer: Stripped | None = None) -> Stripped:
    """Strip the prefixes off a line.

    ``line`` holds no terminal escapes and no newline.  ``outer`` is an earlier piece of the same printed line.  Its
    ``line_labels`` hold for this piece as well.
    """
    labels: Labels = dict(outer.line_labels) if outer else {}
    stripped = Stripped(line, line, labels, dict(labels))
    _drop_count(stripped)  # of a line of JSON
    for _ in range(MAX_LAYERS):
        if _is_code(stripped.text):
            break
        prefix = _strip_prefix(stripped)
        if prefix is None or prefix.last:
            break
    _drop_count(stripped)  # of a message that a prefix quoted
    if _LINK_SIGN in stripped.text:
        _set_text(stripped, _LINK.sub(r"\1", stripped.text), decoded=True)
    if _QUOTED_TRACEBACK in stripped.text:
        _set_text(stripped, _ESCAPED.sub(lambda m: m["quote"] or "\n", stripped.text), decoded=True)
    return stripped


def _drop_count(stripped: Stripped) -> None:
    """Drop what Ray's driver adds to a line that several processes printed."""
    if stripped.text.endswith((")", "]")) and "x across " in stripped.text:
        stripped.text = _REPEATED.sub("", stripped.text)


def _is_code(text: str) -> bool:
    """Return True for a traceback frame or source line. No prefix looks so."""
    return text.startswith('  File "') or (text.startswith("    ") and text[4:5].isalpha())


def _strip_prefix(stripped: Stripped) -> Prefix | None:
    """Strip the outermost prefix. Return None if the text begins with no prefix."""
    text = stripped.text
    candidates = _prefixes_for(_CHARACTER_CLASSES.get(text[:1], text[:1]))
    if candidates is None:
        return None
    for prefix, end, groups, level_at in candidates.matches(text):
        if any(name in stripped.labels for name in prefix.unless):
            continue
        rest = text[end:]
        if prefix.decode:
            decoded = find_function(prefix.decode)(groups, rest)
            if decoded is None:
                continue
            rest = decoded[0]
            groups = {**groups, **_to_labels(decoded[1])}
        elif rest == text:
            continue
        stripped.outer_variants.append((text, stripped.labels))
        _add_labels(stripped, groups, line_labels=not prefix.once)
        if level_at > 0 and len(groups.get("level", "")) > 1 and (word := _cut_before_level(text, level_at)) != text:
            stripped.outer_variants.append((word, stripped.labels))
        _set_text(stripped, rest, decoded=not text.endswith(rest))
        return prefix
    return None


def _cut_before_level(text: str, at: int) -> str:
    """Return the text from its level word on.

    The word may belong to the message.  Example: ``2024-10-28T10:13:38Z FATAL: kernel too old`` -> ``FATAL: kernel too
    old``.
    """
    return text[len(text[:at].rstrip("[( ")) :].lstrip()


def _add_labels(stripped: Stripped, groups: Mapping[str, Any], *, line_labels: bool) -> None:
    labels = dict(stripped.labels)
    for name, value in groups.items():
        if name not in labels or name not in _OUTERMOST_WINS:
            labels[name] = value
    stripped.labels = labels
    if line_labels:
        stripped.line_labels.update({name: labels[name] for name in IDENTITY if name in groups})


def _set_text(stripped: Stripped, rest: str, *, decoded: bool) -> None:
    """Set the text. Move all lines after the first to `Stripped.further`."""
    if decoded:
        stripped.decoded, stripped.outer_variants = True, []
    if "\n" not in rest:
        stripped.text = rest
        return
    stripped.text, *further = rest.split("\n", MAX_FURTHER_LINES)
    outer = Stripped("", "", stripped.labels, {k: stripped.labels[k] for k in IDENTITY if k in stripped.labels})
    stripped.further = [*(strip_further_line(line, outer, stripped.labels) for line in further), *stripped.further]


def strip_further_line(line: str, outer: Stripped, labels: Labels) -> Stripped:
    """Strip a later line of a decoded message, which inherits the ``labels``."""
    stripped = strip_prefixes(line, outer)
    stripped.labels = {**labels, **stripped.labels}
    stripped.decoded = True
    return stripped


def _to_labels(logger: Source) -> Labels:
    return {name: value for name in _SOURCE_FIELDS if (value := getattr(logger, name)) is not None}


_SOURCE_FIELDS = ("rank", "local_rank", "host", "pid", "time", "level", "logger", "tag")
MatchFunction = Callable[[str], "regex.Match[str] | None"]


class _Candidates(Struct, frozen=True):
    """Prefixes that may begin with one class of characters.

    Their patterns are joined into one expression.

    - ``first``: matches the first of the prefixes that fits; the group closed last is ``_N``, N the prefix's index
    - ``groups[N]``: names of the groups of prefix N, and their numbers in ``first`` (``tag2`` counts as ``tag``)
    """

    prefixes: tuple[Prefix, ...]
    first: MatchFunction
    groups: tuple[tuple[tuple[str, int], ...], ...]

    def matches(self, text: str) -> Iterator[tuple[Prefix, int, dict[str, str], int]]:
        """Yield each matching prefix with end, groups and level position (or -1)."""
        match = self.first(text)
        if match is None:
            return
        index = int(cast("str", match.lastgroup)[1:])
        values = {name: value for name, group in self.groups[index] if (value := match[group])}
        level_at = max((match.start(group) for name, group in self.groups[index] if name == "level"), default=-1)
        yield self.prefixes[index], match.end(), values, level_at
        for prefix in self.prefixes[index + 1 :]:
            match = compiled(prefix.pattern).match(text)
            if match is not None:
                values = {name.rstrip("23"): value for name, value in match.groupdict().items() if value}
                yield prefix, match.end(), values, match.start("level") if "level" in values else -1


_CHARACTER_CLASSES = {char: chars for chars in (digits, ascii_lowercase, ascii_uppercase) for char in chars}
"""Share one expression among a class of characters, because compiling takes as long as parsing 100 lines."""


@cache
def _prefixes_for(characters: str) -> _Candidates | None:
    """Return the prefixes that may begin with one of these characters."""
    if not characters or not characters.isascii():
        return None
    candidates = [w for w in prefixes() if not w.starts or not {*characters}.isdisjoint(w.starts)]
    if not candidates:
        return None
    together = compiled("|".join(f"(?:{_number_groups(w.pattern, n)})(?P<_{n}>)" for n, w in enumerate(candidates)))
    groups: list[list[tuple[str, int]]] = [[] for _ in candidates]
    for name, group in together.groupindex.items():
        label, _, index = name.rpartition("_")
        if label:
            groups[int(index)].append((label.rstrip("23"), group))
    return _Candidates(tuple(candidates), cast("MatchFunction", together.match), tuple(map(tuple, groups)))


def _number_groups(pattern: str, number: int) -> str:
    """Return the pattern with ``_number`` behind the name of each group."""
    return str(compiled(r"\(\?P([<=])(\w+)").sub(rf"(?P\g<1>\g<2>_{number}", pattern))


def build_source(labels: Labels, default: Source, *, year: int = NO_YEAR, tasks_are_ranks: bool = True) -> Source:
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
    return Source(
        default.rank if rank is None else rank,
        default.local_rank if local_rank is None else local_rank,
        labels.get("host") or default.host,
        default.pid if pid is None else pid,
        parse_time(time, year) if isinstance(time, str) else time,
        level_of(level) if level else None,
        labels.get("logger"),
        tag or default.tag,
    )


def _number(value: Any) -> int | None:
    if isinstance(value, str):
        return number(value) if value.isdecimal() else None
    return value if isinstance(value, int) else None
