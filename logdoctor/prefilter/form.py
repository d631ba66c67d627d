"""The pieces a scan form is made of, how they are trimmed at the edges, weighed and written out.

A form must read the same in Hyperscan (without UTF8 and DOTALL), RE2 (Latin-1) and ``regex`` (bytes), so it is spelt
with nothing but literals, byte classes, ``(?:...)``, ``|`` and quantifiers.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from logdoctor.prefilter.sublines import FLAT

NEWLINES = frozenset(b"\n\r")
ASCII = frozenset(range(128)) - NEWLINES
REPEAT_MOST = 16
"""A bounded repeat above this is written without a bound: wider, and cheaper for every engine."""
_BROAD = 48
"""A class with more members than this tells nothing at the edge of a form."""


class Chars(Struct, frozen=True):
    """One character: which of ASCII it may be, and whether it may be any character beyond."""

    ascii: frozenset[int]
    beyond: bool = False

    @property
    def broad(self) -> bool:
        """Whether it tells next to nothing."""
        return self.beyond or len(self.ascii) > _BROAD


class Foreign(Struct, frozen=True):
    """One literal character beyond ASCII, as UTF-8 or as JSON writes it."""

    char: str


class Loop(Struct, frozen=True):
    """``body`` again and again; ``most`` None is without bound."""

    body: tuple[Node, ...]
    least: int
    most: int | None


class Either(Struct, frozen=True):
    """One of several branches."""

    branches: tuple[tuple[Node, ...], ...]


Node = Chars | Foreign | Loop | Either
Nodes = tuple[Node, ...]


def weigh(nodes: Nodes) -> int:
    """How many literal characters other than blanks every match must hold."""
    return sum(_weigh_one(n) for n in nodes)


def _weigh_one(node: Node) -> int:
    if isinstance(node, Foreign):
        return 1
    if isinstance(node, Either):
        return min(weigh(b) for b in node.branches)
    if isinstance(node, Loop):
        return min(node.least, REPEAT_MOST) * weigh(node.body)
    return int(not node.beyond and len(node.ascii) <= 2 and min(node.ascii, default=0) > 0x20)


# ── trimming: what is optional or says nothing at an edge goes away, since the form is searched anywhere in a line ───


def trim(nodes: Nodes) -> Nodes:
    """Cut both edges down to what every match must hold there."""
    return _trim_edge(_trim_edge(nodes, first=True), first=False)


def _trim_edge(nodes: Nodes, *, first: bool) -> Nodes:
    while nodes:
        edge, rest = (nodes[0], nodes[1:]) if first else (nodes[-1], nodes[:-1])
        cut = _cut(edge, first=first)
        if cut == (edge,):
            break
        nodes = cut + rest if first else rest + cut
    return nodes


def _cut(edge: Node, *, first: bool) -> Nodes:
    """What is left of a piece at an edge (itself where nothing is to be cut)."""
    if isinstance(edge, Chars):
        return () if edge.broad else (edge,)
    if isinstance(edge, Loop):
        return _cut_loop(edge)
    if isinstance(edge, Either):
        branches = tuple(dict.fromkeys(_trim_edge(b, first=first) for b in edge.branches))
        return () if () in branches else branches[0] if len(branches) == 1 else (Either(branches),)
    return (edge,)


def _cut_loop(loop: Loop) -> Nodes:
    """A repeat at an edge needs no more than its first (or last) round; digits keep their number."""
    if loop.least == 0:
        return ()
    if len(loop.body) == 1 and isinstance(loop.body[0], Chars) and loop.least > 1 and not loop.body[0].broad:
        return (Loop(loop.body, min(loop.least, REPEAT_MOST), min(loop.least, REPEAT_MOST)),)
    return loop.body


# ── writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def write(nodes: Nodes) -> str:
    """The form as text."""
    if len(nodes) == 1 and isinstance(nodes[0], Either):
        return "|".join(_write_all(b) for b in nodes[0].branches)
    return _write_all(nodes)


def _write_all(nodes: Nodes) -> str:
    return "".join(_write_one(n) for n in nodes)


def _write_one(node: Node) -> str:
    if isinstance(node, Loop):
        return _write_loop(node)
    if isinstance(node, Either):
        return "(?:" + "|".join(_write_all(b) for b in node.branches) + ")"
    if isinstance(node, Foreign):
        return _write_foreign(node.char)
    return f"{_write_class(node)}{{1,{_bytes_of(node)}}}" if node.beyond else _write_position(node.ascii)


def _write_loop(loop: Loop) -> str:
    least = min(loop.least, REPEAT_MOST)
    most = loop.most if loop.most is None or loop.most <= REPEAT_MOST else None
    if len(loop.body) == 1 and isinstance(loop.body[0], Chars) and loop.body[0].beyond:
        # No lower bound above one: counting what may be nearly anything costs Hyperscan dear.
        most = _bytes_of(loop.body[0]) if loop.most == 1 else None
        return _write_class(loop.body[0]) + _quantifier(min(least, 1), most)
    body = _write_all(loop.body)
    single = len(loop.body) == 1 and isinstance(loop.body[0], Chars) and not loop.body[0].ascii & ESCAPED
    grouped = len(loop.body) == 1 and body.startswith("(?:")
    return (body if single or grouped else f"(?:{body})") + _quantifier(least, most)


def _quantifier(least: int, most: int | None) -> str:
    if most is None:
        return "*" if least == 0 else "+" if least == 1 else f"{{{least},}}"
    if (least, most) == (0, 1):
        return "?"
    return f"{{{least}}}" if least == most else f"{{{least},{most}}}"


def _bytes_of(chars: Chars) -> int:
    """How many bytes one character may take: four in UTF-8, six as JSON's escape."""
    return 6 if ord("\\") in chars.ascii else 4


ESCAPED = frozenset(b'\t"\\\x0b\x1b')
"""Bytes that JSON writes with a backslash in front (a newline stands as `FLAT` here)."""


def _write_position(members: frozenset[int]) -> str:
    """One ASCII character, also as it stands in a JSON string (once or more times escaped)."""
    plain = _write_class(Chars(members))
    if members == {ord("\\")}:
        return r"\\+"
    ways = [r"\\*" + plain if ord('"') in members else plain]
    if members & {9, FLAT}:
        ways.append(r"\\+" + ("t" if FLAT not in members else "[nrt]" if 9 in members else "[nr]"))
    if 0x1B in members:
        ways.append(r"\\+u001[bB]")
    if ord("\\") in members:
        ways.append(r"\\+")
    return plain if len(ways) == 1 and ways[0] == plain else ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"


def _write_foreign(char: str) -> str:
    utf8 = "".join(f"\\x{b:02x}" for b in char.encode("utf-8", "surrogatepass"))
    utf16 = char.encode("utf-16-be", "surrogatepass").hex()
    units = (utf16[i : i + 4] for i in range(0, len(utf16), 4))
    escaped = "".join(r"\\+u" + "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in u) for u in units)
    return f"(?:{utf8}|{escaped})"


def _write_class(chars: Chars) -> str:
    if chars.beyond and chars.ascii:
        return f"[^{_write_ranges(frozenset(range(128)) - chars.ascii)}]"
    if len(chars.ascii) == 1 and not chars.beyond:
        return _write_byte(next(iter(chars.ascii)))
    return f"[{_write_ranges(chars.ascii)}" + (r"\x80-\xff]" if chars.beyond else "]")


def _write_ranges(members: Iterable[int]) -> str:
    return "".join(_write_range(a, b) for a, b in _ranges(members))


def _write_range(low: int, high: int) -> str:
    return _write_byte(low) if low == high else f"{_write_byte(low)}-{_write_byte(high)}"


_NAMED = {9: r"\t", 10: r"\n", 13: r"\r"}


def _write_byte(byte: int) -> str:
    char = chr(byte)
    if char.isalnum() or char in " _:/,;=<>@%'\"!~`":
        return char
    if byte in _NAMED:
        return _NAMED[byte]
    return "\\" + char if 0x20 < byte < 0x7F else f"\\x{byte:02x}"


def _ranges(members: Iterable[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for m in sorted(members):
        if found and found[-1][1] == m - 1:
            found[-1] = (found[-1][0], m)
        else:
            found.append((m, m))
    return found
