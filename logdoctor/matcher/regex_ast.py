"""The nodes of a scan form: trimming, counting of literals, writing.

A form must mean the same in Hyperscan (without UTF8 and DOTALL), RE2 (Latin-1) and ``regex`` (bytes).
So it is written with literals, byte classes, ``(?:...)``, ``|`` and quantifiers only.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from logdoctor.matcher.sublines import NEWLINE_STAND_IN

NEWLINES = frozenset(b"\n\r")
ASCII = frozenset(range(128)) - NEWLINES
MAX_REPEAT = 16
"""A larger bounded repeat is written without a bound, which is wider and cheaper in every engine."""
_BROAD = 48
"""A class with more members says nothing at the edge of a form."""


class CharClass(Struct, frozen=True):
    """One character: ``ascii`` lists the ASCII members, ``non_ascii`` allows all others."""

    ascii: frozenset[int]
    non_ascii: bool = False

    @property
    def is_broad(self) -> bool:
        return self.non_ascii or len(self.ascii) > _BROAD


class NonAscii(Struct, frozen=True):
    """One literal character beyond ASCII, as UTF-8 or as a JSON escape."""

    char: str


class EitherCase(Struct, frozen=True):
    """One ASCII letter whose case is ignored, written in lower case."""

    letter: str


class Repeat(Struct, frozen=True):
    """``body`` repeated. ``maximum`` None means no bound."""

    body: tuple[Node, ...]
    minimum: int
    maximum: int | None


class Alternation(Struct, frozen=True):
    branches: tuple[tuple[Node, ...], ...]


Node = CharClass | NonAscii | EitherCase | Repeat | Alternation
Nodes = tuple[Node, ...]


def count_literals(nodes: Nodes) -> int:
    """Return the number of literal characters in every match, without blanks."""
    return sum(_count_node(n) for n in nodes)


def _count_node(node: Node) -> int:
    if isinstance(node, NonAscii | EitherCase):
        return 1
    if isinstance(node, Alternation):
        return min(count_literals(b) for b in node.branches)
    if isinstance(node, Repeat):
        return min(node.minimum, MAX_REPEAT) * count_literals(node.body)
    return int(not node.non_ascii and len(node.ascii) <= 2 and min(node.ascii, default=0) > 0x20)


# ── trimming: optional and broad nodes at an edge go, because the form is searched anywhere in a line ────────────────


def trim(nodes: Nodes) -> Nodes:
    """Remove nodes at both edges that a match need not contain there."""
    return _trim_edge(_trim_edge(nodes, first=True), first=False)


def _trim_edge(nodes: Nodes, *, first: bool) -> Nodes:
    while nodes:
        edge, rest = (nodes[0], nodes[1:]) if first else (nodes[-1], nodes[:-1])
        trimmed = _trim_node(edge, first=first)
        if trimmed == (edge,):
            break
        nodes = trimmed + rest if first else rest + trimmed
    return nodes


def _trim_node(edge: Node, *, first: bool) -> Nodes:
    """Return the rest of a node at an edge. The node itself is returned if nothing can go."""
    if isinstance(edge, CharClass):
        return () if edge.is_broad else (edge,)
    if isinstance(edge, Repeat):
        return _trim_repeat(edge)
    if isinstance(edge, Alternation):
        branches = tuple(dict.fromkeys(_trim_edge(b, first=first) for b in edge.branches))
        return () if () in branches else branches[0] if len(branches) == 1 else (Alternation(branches),)
    return (edge,)


def _trim_repeat(repeat: Repeat) -> Nodes:
    r"""Reduce a repeat at an edge to one round.

    A repeated narrow class keeps its minimum number, for example ``\d{4}``.
    """
    if repeat.minimum == 0:
        return ()
    if (
        len(repeat.body) == 1
        and isinstance(repeat.body[0], CharClass)
        and repeat.minimum > 1
        and not repeat.body[0].is_broad
    ):
        return (Repeat(repeat.body, min(repeat.minimum, MAX_REPEAT), min(repeat.minimum, MAX_REPEAT)),)
    return repeat.body


# ── writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def write(nodes: Nodes) -> str:
    """Return the form as a regular expression."""
    if len(nodes) == 1 and isinstance(nodes[0], Alternation):
        return "|".join(_write_nodes(b) for b in nodes[0].branches)
    return _write_nodes(nodes)


def escape(text: str) -> str:
    """Return the expression for a plain text."""
    return "".join(map(_write_byte, text.encode("utf-8", "surrogatepass")))


def _write_nodes(nodes: Nodes) -> str:
    return "".join(_write_node(n) for n in nodes)


def _write_node(node: Node) -> str:
    if isinstance(node, Repeat):
        return _write_repeat(node)
    if isinstance(node, Alternation):
        return "(?:" + "|".join(_write_nodes(b) for b in node.branches) + ")"
    if isinstance(node, NonAscii):
        return _write_non_ascii(node.char)
    if isinstance(node, EitherCase):
        return f"[{node.letter.upper()}{node.letter}]"
    return f"{_write_class(node)}{{1,{_max_bytes(node)}}}" if node.non_ascii else _write_position(node.ascii)


def _write_repeat(repeat: Repeat) -> str:
    minimum = min(repeat.minimum, MAX_REPEAT)
    maximum = repeat.maximum if repeat.maximum is None or repeat.maximum <= MAX_REPEAT else None
    if len(repeat.body) == 1 and isinstance(repeat.body[0], CharClass) and repeat.body[0].non_ascii:
        # No lower bound above one, because counting broad classes is expensive in Hyperscan.
        maximum = _max_bytes(repeat.body[0]) if repeat.maximum == 1 else None
        return _write_class(repeat.body[0]) + _quantifier(min(minimum, 1), maximum)
    body = _write_nodes(repeat.body)
    single = len(repeat.body) == 1 and isinstance(repeat.body[0], CharClass) and not repeat.body[0].ascii & JSON_ESCAPED
    grouped = len(repeat.body) == 1 and body.startswith("(?:")
    return (body if single or grouped else f"(?:{body})") + _quantifier(minimum, maximum)


def _quantifier(minimum: int, maximum: int | None) -> str:
    if maximum is None:
        return "*" if minimum == 0 else "+" if minimum == 1 else f"{{{minimum},}}"
    if (minimum, maximum) == (0, 1):
        return "?"
    return f"{{{minimum}}}" if minimum == maximum else f"{{{minimum},{maximum}}}"


def _max_bytes(chars: CharClass) -> int:
    """Return the maximum number of bytes of one character.

    A character takes four bytes in UTF-8, or six as a JSON escape.
    """
    return 6 if ord("\\") in chars.ascii else 4


JSON_ESCAPED = frozenset(b'\t"\\\x0b\x1b')
"""Bytes that JSON writes with a backslash (a newline is `NEWLINE_STAND_IN` here)."""


def _write_position(members: frozenset[int]) -> str:
    """Write one ASCII character, including its escapes in JSON strings."""
    unescaped = _write_class(CharClass(members))
    if members == {ord("\\")}:
        return r"\\+"
    ways = [r"\\*" + unescaped if ord('"') in members else unescaped]
    if members & {9, NEWLINE_STAND_IN}:
        ways.append(r"\\+" + ("t" if NEWLINE_STAND_IN not in members else "[nrt]" if 9 in members else "[nr]"))
    if 0x1B in members:
        ways.append(r"\\+u001[bB]")
    if ord("\\") in members:
        ways.append(r"\\+")
    return (
        unescaped if len(ways) == 1 and ways[0] == unescaped else ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"
    )


def _write_non_ascii(char: str) -> str:
    utf8 = "".join(f"\\x{b:02x}" for b in char.encode("utf-8", "surrogatepass"))
    utf16 = char.encode("utf-16-be", "surrogatepass").hex()
    units = (utf16[i : i + 4] for i in range(0, len(utf16), 4))
    escaped = "".join(r"\\+u" + "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in u) for u in units)
    return f"(?:{utf8}|{escaped})"


def _write_class(chars: CharClass) -> str:
    if chars.non_ascii and chars.ascii:
        return f"[^{_write_ranges(frozenset(range(128)) - chars.ascii)}]"
    if len(chars.ascii) == 1 and not chars.non_ascii:
        return _write_byte(next(iter(chars.ascii)))
    return f"[{_write_ranges(chars.ascii)}" + (r"\x80-\xff]" if chars.non_ascii else "]")


def _write_ranges(members: Iterable[int]) -> str:
    return "".join(_write_range(a, b) for a, b in _ranges(members))


def _write_range(low: int, high: int) -> str:
    return _write_byte(low) if low == high else f"{_write_byte(low)}-{_write_byte(high)}"


_ESCAPES = {9: r"\t", 10: r"\n", 13: r"\r"}


def _write_byte(byte: int) -> str:
    char = chr(byte)
    if (byte < 0x80 and char.isalnum()) or char in " _:/,;=<>@%'\"!~`":
        return char
    if byte in _ESCAPES:
        return _ESCAPES[byte]
    return "\\" + char if 0x20 < byte < 0x7F else f"\\x{byte:02x}"


def _ranges(members: Iterable[int]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for m in sorted(members):
        if ranges and ranges[-1][1] == m - 1:
            ranges[-1] = (ranges[-1][0], m)
        else:
            ranges.append((m, m))
    return ranges
