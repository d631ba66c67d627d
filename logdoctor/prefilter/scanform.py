r"""From a pattern of the ``regex``/``re`` syntax to its scan form: a WIDER pattern that every engine reads alike.

Whatever the pattern finds in a line, its scan form finds in that line too, also where the line stands inside a JSON
string.  Dropped: look-arounds, anchors, back-references, captures, names, and at the edges all that is optional or
repeated.  Two liberties: ``\d`` and ``\s`` mean ASCII, and ``(?i)`` on a part counts for the whole.

Python's own parser reads the pattern (``re._parser``; ``sre_parse`` on 3.10), so what only ``regex`` knows
(``\p{..}``, ``\K``, ``\h``, set operations, fuzzy matching, recursion) is refused, except atomic groups, possessive
repeats and ``(?<name>...)``, which are rewritten first.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from typing import Any

from logdoctor.prefilter import form
from logdoctor.prefilter.factor import telling
from logdoctor.prefilter.form import ASCII, NEWLINES, Chars, Either, Foreign, Loop, Node, Nodes
from logdoctor.prefilter.literals import cost_of_text, literals
from logdoctor.prefilter.pattern import Pattern
from logdoctor.prefilter.sublines import FLAT

LEAST_LITERALS = 3
"""A form that asks for fewer literal characters would hit everywhere."""

_DIGITS = frozenset(b"0123456789")
_BLANKS = frozenset(b" \t\x0c") | {FLAT}
_WORD = frozenset(c for c in range(128) if chr(c).isalnum() or c == ord("_"))
_ANY = Chars(ASCII, beyond=True)
_CATEGORIES = {
    "CATEGORY_DIGIT": Chars(_DIGITS),
    "CATEGORY_SPACE": Chars(_BLANKS),
    "CATEGORY_WORD": Chars(_WORD, beyond=True),
    "CATEGORY_NOT_DIGIT": Chars(ASCII - _DIGITS, beyond=True),
    "CATEGORY_NOT_SPACE": Chars(ASCII - _BLANKS, beyond=True),
    "CATEGORY_NOT_WORD": Chars(ASCII - _WORD, beyond=True),
}


def scan_form(regex: str) -> str:
    """The scan form of ``regex``: its most telling run (see `factor`).

    Raises `ValueError` if the pattern is none, uses syntax that cannot be widened, or asks for too little literal text.
    """
    nodes, flag = _read_form(regex)
    return flag + form.write(telling(nodes))


def pattern_of(regex: str, *, often: bool = False, within: bool = False) -> Pattern:
    """What the scan needs to look for ``regex``, ``within`` lines that others find.  Raises like `scan_form`."""
    nodes, flag = _read_form(regex)
    whole = flag + form.write(nodes)
    if within:
        return Pattern((), whole)
    texts = frozenset[str]() if often else literals(nodes)
    atoms = sorted(flag + form.write(_plain(t)) for t in texts) or [flag + form.write(telling(nodes))]
    return Pattern(tuple(atoms), whole, often)


def how_dear(regex: str) -> tuple[float, str, bool]:
    """What the dearest of the plain texts costs by which the scan finds ``regex``, that text, and if any case fits.

    A long text of rare words costs 1, a short or common one up to thousands.  The text is empty where the scan has to
    search for a pattern.  Raises like `scan_form`.
    """
    nodes, flag = _read_form(regex)
    dearest = max(sorted(literals(nodes)), key=cost_of_text, default="")
    return (cost_of_text(dearest) if dearest else 0.0), dearest, bool(flag)


def _read_form(regex: str) -> tuple[Nodes, str]:
    try:
        tree = _parser().parse(_common_syntax(regex), 0)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"not a pattern that a scan form can be made of: {error} in {regex!r}") from error
    caseless = bool(tree.state.flags & re.IGNORECASE) or _has_caseless_part(tree)
    nodes = form.trim(_Reader(caseless=caseless).sequence(tree))
    if form.weigh(nodes) < LEAST_LITERALS:
        raise ValueError(f"asks for fewer than {LEAST_LITERALS} literal characters, would hit everywhere: {regex!r}")
    return nodes, "(?i)" if caseless else ""


def _plain(text: str) -> Nodes:
    return tuple(Chars(frozenset({ord(c)})) for c in text)


def _parser() -> Any:
    return importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")


_ONLY_REGEX = re.compile(
    r"(?s)(?P<keep>\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<atomic>\(\?>)|(?P<named>\(\?P?<[A-Za-z_]\w*>)|(?P<again>\(\?P=\w+\))|(?P<eager>[*+?}])\+"
)


def _common_syntax(regex: str) -> str:
    """Atomic groups, possessive repeats and named groups in the syntax of Python 3.10."""

    def rewrite(m: re.Match[str]) -> str:
        if m["keep"]:
            return m["keep"]
        if m["named"] or m["atomic"]:  # two alternatives may well have a group of the same name: names are not needed
            return "(?:"
        return ".*" if m["again"] else m["eager"]

    return _ONLY_REGEX.sub(rewrite, regex)


def _has_caseless_part(tree: Any) -> bool:
    """Whether a ``(?i:...)`` stands anywhere inside (the parser keeps such flags with the group)."""
    for op, value in tree:
        if op.name == "SUBPATTERN" and value[1] & re.IGNORECASE:
            return True
        if any(_has_caseless_part(sub) for sub in _inner(value)):
            return True
    return False


def _inner(value: Any) -> list[Any]:
    """The parsed sequences inside an operation's value."""
    if hasattr(value, "state"):
        return [value]
    if isinstance(value, tuple | list):
        return [found for v in value for found in _inner(v)]
    return []


class _Reader:
    """Turns the parser's tree into the pieces of a form."""

    def __init__(self, *, caseless: bool) -> None:
        self._caseless = caseless

    def sequence(self, tree: Any) -> Nodes:
        return tuple(n for op, value in tree for n in self._read(op.name, value))

    def _read(self, op: str, value: Any) -> Nodes:
        if op in {"AT", "ASSERT", "ASSERT_NOT", "FAILURE"}:
            return ()
        if op.endswith("_REPEAT"):
            return self._loop(*value)
        reader = _READERS.get(op)
        if reader is None:
            raise ValueError(f"a scan form cannot be made of {op}")
        return reader(self, value)

    def _loop(self, least: int, most: Any, body: Any) -> Nodes:
        inner = self.sequence(body)
        bound = None if most == _parser().MAXREPEAT else int(most)
        if not inner or bound == 0:
            return ()
        return inner if least == bound == 1 else (Loop(inner, int(least), bound),)

    def literal(self, code: int) -> Nodes:
        if code in NEWLINES:
            return (Chars(frozenset({FLAT})),)
        if code < 128:
            return (Chars(frozenset({ord(chr(code).lower()) if self._caseless else code})),)
        return (Chars(frozenset(), beyond=True),) if self._caseless else (Foreign(chr(code)),)

    def char_class(self, items: Any) -> Nodes:
        negated = items[0][0].name == "NEGATE"
        parts = [self._member(op.name, value) for op, value in items[negated:]]
        members = frozenset[int]().union(*(p.ascii for p in parts))
        if not negated:
            shown = members - NEWLINES | ({FLAT} if members & NEWLINES else frozenset())
            return (Chars(shown, beyond=any(p.beyond for p in parts)),)
        return (self.all_but(members),)

    def all_but(self, members: frozenset[int]) -> Chars:
        """A newline is flattened, so its stand-in stays; a letter is excluded only in both cases or in none."""
        if self._caseless:
            members = frozenset(m for m in members if {ord(chr(m).lower()), ord(chr(m).upper())} <= members)
        return Chars(ASCII - members | {FLAT}, beyond=True)

    def _member(self, op: str, value: Any) -> Chars:
        if op == "LITERAL":
            return Chars(frozenset({value}) if value < 128 else frozenset(), beyond=value >= 128)
        if op == "RANGE":
            return Chars(frozenset(range(value[0], min(value[1], 127) + 1)), beyond=value[1] >= 128)
        return self._category(value)

    def _category(self, value: Any) -> Chars:
        return _CATEGORIES[value.name]

    def either(self, branches: Any) -> Nodes:
        read = tuple(dict.fromkeys(self.sequence(b) if b is not None else () for b in branches))
        if () not in read:
            return read[0] if len(read) == 1 else (Either(read),)
        rest = tuple(r for r in read if r)
        return (Loop((Either(rest),) if len(rest) > 1 else rest[0], 0, 1),) if rest else ()


_BACK_REFERENCE: Node = Loop((_ANY,), 0, None)
_READERS: dict[str, Callable[[_Reader, Any], Nodes]] = {
    "LITERAL": lambda self, code: self.literal(code),
    "NOT_LITERAL": lambda self, code: (self.all_but(frozenset({code})),),
    "ANY": lambda _, __: (_ANY,),
    "IN": lambda self, items: self.char_class(items),
    "BRANCH": lambda self, value: self.either(value[1]),
    "SUBPATTERN": lambda self, value: self.sequence(value[3]),
    "ATOMIC_GROUP": lambda self, value: self.sequence(value),
    "GROUPREF": lambda _, __: (_BACK_REFERENCE,),
    "GROUPREF_IGNORE": lambda _, __: (_BACK_REFERENCE,),
    "GROUPREF_EXISTS": lambda self, value: self.either(value[1:]),
}
