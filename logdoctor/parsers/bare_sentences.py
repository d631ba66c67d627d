"""A log of a sentence or two without the look of an error: of a failure somebody copied the message alone.

The type of the exception, the logger's level and the program's name stayed behind, so by its shape nobody takes such a
line for a failure.  Here it is read as the message of an exception: what it means is for the rules to say, and where no
rule knows it, its words tell whether somebody complains.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from logdoctor.model import Candidate, Event, Line
from logdoctor.parsers import records
from logdoctor.parsers.complaints import got_over
from logdoctor.parsers.line_parser import LineParser
from logdoctor.parsers.missing_heads import Match
from logdoctor.regexes import later

MOST = 3
"""A log of more lines is no copied sentence."""
_SEARCHED = 400
"""So much of a line is looked at for Python's own words."""
NOTE = "The log holds nothing but this message, and no rule knows it."
_NO_PROSE = later(
    r"^\W{0,4}[\w./~-]+ (?:[\w./=~-]+ ){0,6}--?[a-z][\w-]+(?:[= ]\S| |$)(?:[^\n]* --?[a-z][\w-]+(?:[= ]\S| |$))"
    r"|^\s*(?:from|import|raise|return|assert|def|class|if|elif|for|while|with|except) \w[^\n]*[:)\w]$(?<![.!?])"
    r"|^\s*[\w.\[\]]+ = |^\s*[\w.]+\([^\n]*\)\s*$|^\s*[\w./-]+\.(?:py|sh|cc?|cpp|h)\b"
    r"|^\W{0,9}(?i:(?!(?:invalid|un(?:known|supported|expected|able)|expected|cannot|failed|duplicate|mismatch|no|not)\b)"
    r"(?!(?:\w+ )?an? (?:\w+ )?(?:error|exception|failure)(?: (?:occurred|happened))?: ))"
    r"[^\s`'\"]+(?: \S+){0,3}: "
)
"""Commands and code, and what a program says under its name."""
_SENTENCE = later(
    r"[\s>*`'\"✗×❌]{0,8}(?:--\S+ (?:must|should|requires?|can|cannot|is|needs|does|with|and) \S"
    r"|[A-Za-z_\d](?:[\w.'`\"()/:=<>*{},’-]*[ ]){2}\S)"
)
_BUILT_IN = {
    "AttributeError": r"(?:module '[\w.]{1,120}'|'[\w.]{1,80}' object|type object '\w{1,80}') has no attribute '",
    "NameError": r"name '\w{1,80}' is not defined",
    "UnboundLocalError": r"(?:local variable '\w{1,80}' referenced before assignment|cannot access local variable ')",
    "TypeError": r"(?:\w[\w.]{0,80}\(\) "
    r"(?:got (?:an unexpected keyword|multiple values for)|missing \d+ required|takes \d)"
    r"|'\w{1,80}' object (?:is not (?:callable|iterable|subscriptable)|does not support item)"
    r"|unsupported operand type\(s\) for )",
    "IndexError": r"(?:(?:list|tuple|string) index out of range|pop from empty list)",
    "ImportError": r"cannot import name '\w{1,80}' from ",
    "ModuleNotFoundError": r"No module named '[\w.]{1,120}'",
    "ZeroDivisionError": r"(?:(?:integer |float )?division (?:or modulo )?by zero)",
    "RecursionError": r"maximum recursion depth exceeded",
    "UnicodeDecodeError": r"'[\w-]{2,20}' codec can't decode byte",
}
"""How Python words its own exceptions (CPython, `Objects/*.c`, `Python/ceval.c`): the words tell the type."""
_TOLD = later(r"(?<![\w.])(?:" + "|".join(f"(?P<{name}>{words})" for name, words in _BUILT_IN.items()) + ")")


def sentences(file: str, lines: Iterable[Line], match: Match) -> list[Event]:
    """The lines of the log ``file`` as messages, if it is no more than that; ``match`` is the scan's own search."""
    told = [*islice((line for line in lines if line.text.strip()), MOST + 1)]
    pieces = [LineParser(file).pieces_at(line.number, line.text.encode()) for line in told]
    if len(told) > MOST or any(len(parts) > 1 or parts[0].who for parts in pieces):
        return []  # whoever is named by a prefix, or gives a time or a level, would have said that it is an error
    if any(_has_a_record(line, match) for line in told):
        return []
    return [
        _message(line, parts[0].text.strip(), match, -n)
        for n, (line, parts) in enumerate(zip(told, pieces, strict=True))
        if _is_message(parts[0].text)
    ]


def _is_message(text: str) -> bool:
    if _TOLD.search(text[:_SEARCHED]):
        return not got_over(text)
    return bool(_SENTENCE.match(text)) and not (got_over(text) or _NO_PROSE.search(text))


def _has_a_record(line: Line, match: Match) -> bool:
    """Whether a dialect knows the line: then it is as loud as that says."""
    raw = line.text.encode()
    candidate = Candidate(raw, line.number, tuple(match(raw)), lambda: iter(()))
    return any(event.kind != "text.line" for event in LineParser(line.file, match).parse(candidate))


def _message(line: Line, text: str, match: Match, order: int) -> Event:
    count = len(records())
    shown = tuple(pattern - count for pattern in match(text.encode()) if pattern >= count)
    told = _TOLD.search(text[:_SEARCHED])
    name = str(told.lastgroup) if told else ""
    message = text[told.start() :] if told else text
    fields = {"exception": name, "message": message}
    said = ("python", "python.exception", f"{name}: {message}" if told else text)
    return Event(line, *said, level="error", fields=fields, order=order, patterns=shown, note=NOTE)
