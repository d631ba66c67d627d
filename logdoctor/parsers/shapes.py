"""Pieces of patterns that several families of wrappers share: shapes of time stamps and words for levels."""

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
DATED = (
    rf"(?:{ISO}|\d\d[-/]\d\d[-/]\d{{2,4}} {CLOCK}(?: [AaPp][Mm])?{_ZONE}|\d\d[-/]\d\d {CLOCK}|{CTIME}"
    rf"|\d\d[-/]{_MONTH}[-/]\d{{2,4}}[ :]{CLOCK}{_ZONE}|{_DAY} \d\d? {_MONTH} \d{{4}} {CLOCK}(?: [AP]M)?{_ZONE}"
    rf"|{SYSLOG}(?: \d{{4}})?)"
)
"""Every usual shape of a stamp with a date."""
WORD = (
    r"(?:FATAL|CRITICAL|CRIT|ERROR|ERR|WARNING|WARN|INFO|DEBUG|TRACE|NOTICE|SUCCESS|SEVERE|PANIC"
    r"|fatal|critical|error|warning|warn|info|debug|trace|Error|Warning|Warn|Info|Debug)"
)
"""The words for levels; only in the shapes of loggers do they say how loud a line is."""
SOURCE = r"[\w./<>+-]{1,200}"

_LEVELS: dict[str, Level] = {"f": "fatal", "c": "fatal", "p": "fatal", "e": "error", "s": "error", "w": "warning"}
_FATAL = ("emerg", "alert")
_INFO = ("success", "status")


def level_of(word: str) -> Level:
    """The level that a letter (``E``), a word (``WARN``) or a name of syslog (``alert``) means; else info."""
    low = word.lower()
    if low.startswith(_FATAL):
        return "fatal"
    return "info" if low.startswith(_INFO) else _LEVELS.get(low[:1], "info")
