r"""Conversion of a ``regex`` or ``re`` pattern to its scan form.

A scan form is a WIDER pattern that every engine reads alike. It matches every line that the pattern matches, also
inside a JSON string.
Look-arounds, anchors, back-references, captures and names are dropped. At the edges all optional and repeated parts
are dropped too. For example ``^.*?\s*fatal: (?P<what>[a-z]+)\b.*$`` becomes ``fatal: [a-z]``.
One exception is accepted: ``\d`` and ``\s`` mean ASCII.

Python's own parser reads the pattern (``re._parser``, or ``sre_parse`` on 3.10). So syntax of ``regex`` alone
(``\p{..}``, ``\K``, ``\h``, set operations, fuzzy matching, recursion) is refused. Atomic groups, possessive repeats
and ``(?<name>...)`` are rewritten first.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from logdoctor.matcher import regex_ast
from logdoctor.matcher.literal_runs import select_run
from logdoctor.matcher.literals import atoms_of, literals, text_cost
from logdoctor.matcher.pattern import Atom, Pattern
from logdoctor.matcher.regex_ast import (
    ASCII,
    NEWLINES,
    Alternation,
    CharClass,
    EitherCase,
    Node,
    Nodes,
    NonAscii,
    Repeat,
)
from logdoctor.matcher.sublines import NEWLINE_STAND_IN

MIN_LITERALS = 3
"""A form with fewer literal characters would match everywhere."""

_DIGITS = frozenset(b"0123456789")
_BLANKS = frozenset(b" \t\x0c") | {NEWLINE_STAND_IN}
_WORD = frozenset(c for c in range(128) if chr(c).isalnum() or c == ord("_"))
_ANY = CharClass(ASCII, non_ascii=True)
_CATEGORIES = {
    "CATEGORY_DIGIT": CharClass(_DIGITS),
    "CATEGORY_SPACE": CharClass(_BLANKS),
    "CATEGORY_WORD": CharClass(_WORD, non_ascii=True),
    "CATEGORY_NOT_DIGIT": CharClass(ASCII - _DIGITS, non_ascii=True),
    "CATEGORY_NOT_SPACE": CharClass(ASCII - _BLANKS, non_ascii=True),
    "CATEGORY_NOT_WORD": CharClass(ASCII - _WORD, non_ascii=True),
}


def scan_form(regex: str) -> str:
    """Return the scan form of ``regex``, its most specific run (see `factor`).

    Raises `ValueError` if the pattern is invalid, uses syntax that cannot be widened, or has too little literal text.
    """
    return regex_ast.write(select_run(_parse_form(regex)))


@lru_cache(maxsize=1 << 12)  # own rules are compiled beside the same formats, again after each change
def make_pattern(regex: str, *, often: bool = False, picks: bool = True) -> Pattern:
    """Return the pattern by which the scan finds ``regex`` (see `Pattern`). Raises like `scan_form`."""
    nodes = _parse_form(regex)
    atoms = [] if often else sorted(literals(nodes))
    if not atoms:
        atoms = [Atom(regex_ast.write(select_run(nodes)), is_expression=True)]
    return Pattern(tuple(atoms), often, picks)


def literal_pattern(texts: Iterable[str], *, often: bool = False) -> Pattern:
    """Return the pattern that is found by any of ``texts``, which a person chose."""
    return Pattern(tuple(sorted(atoms_of(texts))), often)


def scan_cost(regex: str) -> tuple[float, str, bool]:
    """Return the cost of the costliest text for finding ``regex``.

    The text and a flag (case is ignored) are returned as well.
    A long text of rare words costs 1, a short or common text up to thousands.
    The text is empty if the scan must search for a pattern instead. Raises like `scan_form`.
    """
    texts = sorted(literals(_parse_form(regex)))
    costliest = max(texts, key=lambda atom: text_cost(atom.text), default=Atom(""))
    return (text_cost(costliest.text) if costliest.text else 0.0), costliest.text, costliest.caseless


def _parse_form(regex: str) -> Nodes:
    """Return the nodes of the form."""
    try:
        tree = _parser().parse(_common_syntax(regex), 0)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"not a pattern that a scan form can be made of: {error} in {regex!r}") from error
    caseless = bool(tree.state.flags & re.IGNORECASE)
    nodes = regex_ast.trim(_TreeReader(caseless=caseless).sequence(tree))
    if regex_ast.count_literals(nodes) < MIN_LITERALS:
        raise ValueError(f"asks for fewer than {MIN_LITERALS} literal characters, would hit everywhere: {regex!r}")
    return nodes


def _parser() -> Any:
    return importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")


_REGEX_SYNTAX = re.compile(
    r"(?s)(?P<keep>\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<atomic>\(\?>)|(?P<named>\(\?P?<[A-Za-z_]\w*>)|(?P<again>\(\?P=\w+\))|(?P<eager>[*+?}])\+"
)


def _common_syntax(regex: str) -> str:
    """Rewrite atomic groups, possessive repeats and named groups for Python 3.10."""

    def rewrite(m: re.Match[str]) -> str:
        if m["keep"]:
            return m["keep"]
        if m["named"] or m["atomic"]:  # two branches may have groups of the same name, which Python refuses
            return "(?:"
        return ".*" if m["again"] else m["eager"]

    return _REGEX_SYNTAX.sub(rewrite, regex)


class _TreeReader:
    """Convert the tree of Python's parser to nodes of a form. ``caseless`` holds for the part that is read."""

    def __init__(self, *, caseless: bool) -> None:
        self._caseless = caseless

    def sequence(self, tree: Any) -> Nodes:
        return tuple(n for op, value in tree for n in self._read(op.name, value))

    def _read(self, op: str, value: Any) -> Nodes:
        if op in {"AT", "ASSERT", "ASSERT_NOT", "FAILURE"}:
            return ()
        if op.endswith("_REPEAT"):
            return self._repeat(*value)
        reader = _READERS.get(op)
        if reader is None:
            raise ValueError(f"a scan form cannot be made of {op}")
        return reader(self, value)

    def _repeat(self, minimum: int, maximum: Any, body: Any) -> Nodes:
        inner = self.sequence(body)
        bound = None if maximum == _parser().MAXREPEAT else int(maximum)
        if not inner or bound == 0:
            return ()
        return inner if minimum == bound == 1 else (Repeat(inner, int(minimum), bound),)

    def literal(self, code: int) -> Nodes:
        if code in NEWLINES:
            return (CharClass(frozenset({NEWLINE_STAND_IN})),)
        if code < 128:
            letter = chr(code)
            is_either = self._caseless and letter.isalpha()
            return (EitherCase(letter.lower()) if is_either else CharClass(frozenset({code})),)
        return (CharClass(frozenset(), non_ascii=True),) if self._caseless else (NonAscii(chr(code)),)

    def char_class(self, items: Any) -> Nodes:
        negated = items[0][0].name == "NEGATE"
        parts = [self._member(op.name, value) for op, value in items[negated:]]
        members = frozenset[int]().union(*(p.ascii for p in parts))
        if not negated:
            if self._caseless:
                members |= {ord(case) for m in members for case in (chr(m).lower(), chr(m).upper())}
            flattened = members - NEWLINES | ({NEWLINE_STAND_IN} if members & NEWLINES else frozenset())
            return (CharClass(flattened, non_ascii=any(p.non_ascii for p in parts)),)
        return (self.complement(members),)

    def complement(self, members: frozenset[int]) -> CharClass:
        """Return a class of all characters but ``members``.

        The stand-in of a newline stays. If case is ignored, a letter is excluded only with both its cases.
        """
        if self._caseless:
            members = frozenset(m for m in members if {ord(chr(m).lower()), ord(chr(m).upper())} <= members)
        return CharClass(ASCII - members | {NEWLINE_STAND_IN}, non_ascii=True)

    def _member(self, op: str, value: Any) -> CharClass:
        if op == "LITERAL":
            return CharClass(frozenset({value}) if value < 128 else frozenset(), non_ascii=value >= 128)
        if op == "RANGE":
            return CharClass(frozenset(range(value[0], min(value[1], 127) + 1)), non_ascii=value[1] >= 128)
        return self._category(value)

    def _category(self, value: Any) -> CharClass:
        return _CATEGORIES[value.name]

    def group(self, value: Any) -> Nodes:
        """Read a group, with the flags that hold in it only."""
        _, added, removed, body = value
        outside = self._caseless
        self._caseless = (outside or bool(added & re.IGNORECASE)) and not removed & re.IGNORECASE
        nodes = self.sequence(body)
        self._caseless = outside
        return nodes

    def alternation(self, branches: Any) -> Nodes:
        parsed = tuple(dict.fromkeys(self.sequence(b) if b is not None else () for b in branches))
        if () not in parsed:
            return parsed[0] if len(parsed) == 1 else (Alternation(parsed),)
        rest = tuple(r for r in parsed if r)
        return (Repeat((Alternation(rest),) if len(rest) > 1 else rest[0], 0, 1),) if rest else ()


_BACK_REFERENCE: Node = Repeat((_ANY,), 0, None)
_READERS: dict[str, Callable[[_TreeReader, Any], Nodes]] = {
    "LITERAL": lambda self, code: self.literal(code),
    "NOT_LITERAL": lambda self, code: (self.complement(frozenset({code})),),
    "ANY": lambda _, __: (_ANY,),
    "IN": lambda self, items: self.char_class(items),
    "BRANCH": lambda self, value: self.alternation(value[1]),
    "SUBPATTERN": lambda self, value: self.group(value),
    "ATOMIC_GROUP": lambda self, value: self.sequence(value),
    "GROUPREF": lambda _, __: (_BACK_REFERENCE,),
    "GROUPREF_IGNORE": lambda _, __: (_BACK_REFERENCE,),
    "GROUPREF_EXISTS": lambda self, value: self.alternation(value[1:]),
}
