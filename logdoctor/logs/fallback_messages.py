"""Logs that hold only an error message, copied without its surroundings.

Example: ``The number of experts (6) must be divisible by 4``.  Exception type, level and program name are missing, so
no record pattern matches.  The line is read as the message of an exception.  Rules decide its meaning.  If no rule
knows the message, its wording decides if it is an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from logdoctor.logs import record_patterns
from logdoctor.logs.headless_traces import Search
from logdoctor.logs.line_parser import LineParser
from logdoctor.model import Candidate, Line, Record
from logdoctor.pack.error_wording import reports_recovery
from logdoctor.pack.regexes import later

MAX_LINES = 3
"""A log of more lines is not read as a copied message."""
_SEARCH_LENGTH = 400
"""Search this many characters of a line for Python's own wording."""
NOTE = "The log holds nothing but this message, and no rule knows it."
_NOT_PROSE = later(
    r"^\W{0,4}[\w./~-]+ (?:[\w./=~-]+ ){0,6}--?[a-z][\w-]+(?:[= ]\S| |$)(?:[^\n]* --?[a-z][\w-]+(?:[= ]\S| |$))"
    r"|^\s*(?:from|import|raise|return|assert|def|class|if|elif|for|while|with|except) \w[^\n]*[:)\w]$(?<![.!?])"
    r"|^\s*[\w.\[\]]+ = |^\s*[\w.]+\([^\n]*\)\s*$|^\s*[\w./-]+\.(?:py|sh|cc?|cpp|h)\b"
    r"|^\W{0,9}(?i:(?!(?:invalid|un(?:known|supported|expected|able)|expected|cannot|failed|duplicate|mismatch|no|not)\b)"
    r"(?!(?:\w+ )?an? (?:\w+ )?(?:error|exception|failure)(?: (?:occurred|happened))?: ))"
    r"[^\s`'\"]+(?: \S+){0,3}: "
)
"""Commands, code, and messages behind a program name."""
_SENTENCE = later(
    r"[\s>*`'\"✗×❌]{0,8}(?:--\S+ (?:must|should|requires?|can|cannot|is|needs|does|with|and) \S"
    r"|[A-Za-z_\d](?:[\w.'`\"()/:=<>*{},’-]*[ ]){2}\S)"
)
_BUILT_IN_MESSAGES = {
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
"""Words of Python's own exceptions (CPython, `Objects/*.c`, `Python/ceval.c`), by type."""
_BUILT_IN = later(
    r"(?<![\w.])(?:" + "|".join(f"(?P<{name}>{words})" for name, words in _BUILT_IN_MESSAGES.items()) + ")"
)


def read_fallback_messages(file: str, lines: Iterable[Line], search: Search) -> list[Record]:
    """Read each line of a log of bare messages as an error."""
    filled = [*islice((line for line in lines if line.text.strip()), MAX_LINES + 1)]
    pieces = [LineParser(file).read_pieces(line.number, line.text.encode()) for line in filled]
    if len(filled) > MAX_LINES or any(len(parts) > 1 or parts[0].labels for parts in pieces):
        return []  # a program that prints a prefix, a time or a level would also have marked an error
    if any(_has_record(line, search) for line in filled):
        return []
    return [
        _to_event(line, parts[0].text.strip(), search, -n)
        for n, (line, parts) in enumerate(zip(filled, pieces, strict=True))
        if _is_message(parts[0].text)
    ]


def _is_message(text: str) -> bool:
    if _BUILT_IN.search(text[:_SEARCH_LENGTH]):
        return not reports_recovery(text)
    return bool(_SENTENCE.match(text)) and not (reports_recovery(text) or _NOT_PROSE.search(text))


def _has_record(line: Line, search: Search) -> bool:
    """Return True if a format knows the line and thereby its level."""
    raw = line.text.encode()
    candidate = Candidate(raw, line.number, tuple(search(raw)), lambda: iter(()))
    return any(record.kind != "text.line" for record in LineParser(line.file, search).parse(candidate))


def _to_event(line: Line, text: str, search: Search, order: int) -> Record:
    count = len(record_patterns())
    symptoms = tuple(pattern - count for pattern in search(text.encode()) if pattern >= count)
    match = _BUILT_IN.search(text[:_SEARCH_LENGTH])
    name = str(match.lastgroup) if match else ""
    message = text[match.start() :] if match else text
    return Record(
        line,
        "python",
        "python.exception",
        f"{name}: {message}" if match else text,
        level="error",
        fields={"exception": name, "message": message},
        order=order,
        patterns=symptoms,
        note=NOTE,
    )
