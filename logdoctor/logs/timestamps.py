"""Patterns for time stamps and level words, shared by the prefixes."""

from __future__ import annotations

from logdoctor.model import Level

CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_ZONE = r"(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)(?![\w]))?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
ISO = rf"\d{{4}}[-/.]\d\d[-/.]\d\d[T _:-]{CLOCK}{_ZONE}"
"""``2024-08-28 03:15:54,123``, with T, slashes, Z or a zone."""
SYSLOG = rf"{_MONTH} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{{1,9}})?"
CTIME = rf"{_DAY} {_MONTH} [ \d]?\d \d\d:\d\d:\d\d(?: [AP]M)?(?: [A-Z]{{3,4}})? \d{{4}}"
STAMP = (
    rf"(?:{ISO}|\d\d[-/]\d\d[-/]\d{{2,4}} {CLOCK}(?: [AaPp][Mm])?{_ZONE}|\d\d[-/]\d\d {CLOCK}|{CTIME}"
    rf"|\d\d[-/]{_MONTH}[-/]\d{{2,4}}[ :]{CLOCK}{_ZONE}|{_DAY} \d\d? {_MONTH} \d{{4}} {CLOCK}(?: [AP]M)?{_ZONE}"
    rf"|{SYSLOG}(?: \d{{4}})?)"
)
"""Time stamp with a date, in each usual form."""
LEVEL = (
    r"(?:FATAL|CRITICAL|CRIT|ERROR|ERR|WARNING|WARN|INFO|DEBUG|TRACE|NOTICE|SUCCESS|SEVERE|PANIC"
    r"|fatal|critical|error|warning|warn|info|debug|trace|Error|Warning|Warn|Info|Debug)"
)
"""Words for levels. They set the level of a line only if they stand in the prefix of a logger."""
SOURCE = r"[\w./<>+-]{1,200}"

_LEVELS: dict[str, Level] = {"f": "fatal", "c": "fatal", "p": "fatal", "e": "error", "s": "error", "w": "warning"}
_FATAL = ("emerg", "alert")
_INFO = ("success", "status")


def level_of(word: str) -> Level:
    """Return the level for ``E``, ``WARN`` or syslog's ``alert``; else info."""
    low = word.lower()
    if low.startswith(_FATAL):
        return "fatal"
    return "info" if low.startswith(_INFO) else _LEVELS.get(low[:1], "info")
