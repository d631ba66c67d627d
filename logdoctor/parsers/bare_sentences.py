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
from logdoctor.parsers.line_parser import LineParser
from logdoctor.parsers.missing_heads import Match
from logdoctor.regexes import later

MOST = 3
"""A log of more lines is no copied sentence."""
NOTE = "The log holds nothing but this message, and no rule knows it."
_COMPLAINT = later(
    r"(?i)\b(?:errors?|fail(?:s|ed|ure)?|fatal|cannot|can.t|could ?n[o']t|unable to|refused|denied|aborted|exploded"
    r"|killed|died|crashed|timed out|mismatch|does ?n[o']t (?:exist|match|support|fit|have|work|respond|contain)"
    r"|not (?:found|set|supported|enough|allowed|match|available|installed|initiali[sz]ed|defined|specified|valid"
    r"|reach(?:ed|able)|respond(?:ing)?|alive|ready|compatible|implemented|recogni[sz]ed|divisible|have|exist)"
    r"|(?:must|should|has to|have to) (?:be|have|match|divide)|no such|no [\w ]{1,40} (?:found|available|specified)"
    r"|(?:is|are) (?:required|missing|dead)|out of (?:\w+ )?memory|too (?:many|few|large|small|old))\b"
)
_GOT_OVER = later(
    r"(?i)\bwarn|deprecat|fall(?:s|ing)? ?back|\bignor|\bskip|optimi[sz]ations?\b|^\W{0,4}(?:info|debug|note|hint)\b"
    r"|[,.;] (?:using|running|setting|proceeding|continuing|switching|disabling)\b|you (?:should|may)\b|\bif you \w"
)
"""What went on without what it speaks of, and advice."""
_NO_PROSE = later(
    r"(?:[^\n]* --?[a-z][\w-]+(?:[= ]\S| |$)){2}|\w\((?!\))|^\s*(?:from|import|raise|return) \w"
    r"|^\W{0,9}[^\s`'\"]+(?: \S+)?: "
)
"""Commands and code, and what a program says under its name."""
_NO_HARM = later(
    r"(?i)default|will (?:be|not)|instead|retry|trying again|disabl|continu|no longer|optional|slower|not needed"
    r"|automatically|scratch|locally|only used|please use|make sure|you can|longer than the specified"
    r"|\b(?:no|0|zero|without) (?:errors?|failures?)\b"
    r"|(?:unable to|could not|cannot) (?:be )?(?:detect|determine|estimate|infer|verif)"
)
"""What may be no more than advice."""
_SENTENCE = later(r"[\s>*`'\"✗×❌]{0,8}[A-Za-z](?:[\w.'`\"()/:=<>*{},-]*[ ]){2}\S")


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
    return bool(_SENTENCE.match(text)) and not (_GOT_OVER.search(text) or _NO_PROSE.search(text))


def complains(message: Event) -> bool:
    """Whether a message that no rule knows speaks of trouble by its words."""
    said = message.text.lstrip(" >*`'\"✗×❌")
    prose = said[:1].isupper() and ":" not in said
    return prose and _COMPLAINT.search(said) is not None and _NO_HARM.search(said) is None


def _has_a_record(line: Line, match: Match) -> bool:
    """Whether a dialect knows the line: then it is as loud as that says."""
    raw = line.text.encode()
    candidate = Candidate(raw, line.number, tuple(match(raw)), lambda: iter(()))
    return any(event.kind != "text.line" for event in LineParser(line.file, match).parse(candidate))


def _message(line: Line, text: str, match: Match, order: int) -> Event:
    count = len(records())
    shown = tuple(pattern - count for pattern in match(text.encode()) if pattern >= count)
    fields = {"exception": "", "message": text}
    said = ("python", "python.exception", text)
    return Event(line, *said, level="error", fields=fields, order=order, patterns=shown, note=NOTE)
