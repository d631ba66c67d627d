"""Text in columns of a terminal: how wide it is, how it wraps, and how a long line is shortened."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from logdoctor.regexes import later

# A wide character may end a line anywhere, but closing punctuation stays with what it closes.
_WIDE = "\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
_CLOSING = "，。、；：！？）」』】》…"
_PIECE = later(rf" +|[{_WIDE}][{_CLOSING}]*|[^ {_WIDE}]+[{_CLOSING}]*")

# Words that tell of a failure: when a line has to lose something, the part around the first of them stays.
_TELLING = later(
    r"(?i)err(?:or|no)|fail|fatal|time[d-]? ?out|kill|abort|exception|signal|sig[a-z]{3,4}\b|exit ?(?:code|status)"
    r"|panic|xid|denied|refused|reset by|closed|unreachable|out of memory|oom|can ?not|can't|no such|not found|mismatch"
    r"|\bnan\b|corrupt|lost|missing|invalid|illegal|unable"
)


def char_width(char: str) -> int:
    """Give the columns that one character takes: 2 for East Asian wide ones, 0 for marks that sit on another."""
    if char.isascii():
        return 1
    if unicodedata.category(char) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def text_width(text: str) -> int:
    """Give the columns that ``text`` takes."""
    return len(text) if text.isascii() else sum(map(char_width, text))


def padded(text: str, room: int) -> str:
    """Give ``text`` filled up with spaces to ``room`` columns; longer text as it is."""
    return text + " " * (room - text_width(text))


def _cut(text: str, room: int) -> tuple[str, str]:
    """Split ``text`` into what fits in ``room`` columns (one character at least) and the rest."""
    used = 0
    for place, char in enumerate(text):
        used += char_width(char)
        if used > room and place:
            return text[:place], text[place:]
    return text, ""


def _pieces(text: str, room: int) -> Iterator[str]:
    for piece in _PIECE.findall(text):
        while piece:
            part, piece = _cut(piece, room)
            yield part


def wrap(text: str, room: int) -> list[str]:
    """Break ``text`` into lines of at most ``room`` columns: at spaces, between wide characters, else anywhere."""
    room = max(room, 2)
    lines, line, used = [], "", 0
    for piece in _pieces(text, room):
        size = text_width(piece)
        if used + size > room:
            lines.append(line.rstrip(" "))
            line, used = "", 0
        if not piece.strip(" ") and not line:
            continue
        line, used = line + piece, used + size
    if line.strip(" ") or not lines:
        lines.append(line.rstrip(" "))
    return lines


def shorten(text: str, room: int) -> str:
    """Cut ``text`` to at most ``room`` columns: its head, its end, and what tells of a failure stay if they can."""
    if text_width(text) <= room:
        return text
    room -= 3
    head = _first(text, room * 2 // 3)
    told = _TELLING.search(text)
    if told is None or told.end() <= len(head):
        return f"{head} … {_last(text, room - text_width(head))}"
    head = _first(text, room // 3)
    rest = room - text_width(head)
    tail = text[max(len(head), told.start() - rest // 4) :]
    if text_width(tail) <= rest:
        return f"{head} … {_last(text, rest)}"
    return f"{head} … {_first(tail[_start_of_word(tail) :], rest - 2)} …"


_NEAR = 14
"""A cut may move by so many characters to fall between words."""


def _first(text: str, room: int) -> str:
    """Give the start of ``text`` that fits in ``room`` columns, cut between words if one ends near."""
    part, rest = _cut(text, max(room, 1))
    end = part.rfind(" ")
    return part[:end] if rest and not rest.startswith(" ") and end > len(part) - _NEAR and end > 0 else part.rstrip()


def _last(text: str, room: int) -> str:
    """Give the end of ``text`` that fits in ``room`` columns, cut between words if one starts near."""
    part = _cut(text[::-1], max(room, 1))[0][::-1]
    return part[_start_of_word(part) :]


def _start_of_word(text: str) -> int:
    return text.find(" ", 0, _NEAR) + 1


def shorten_path(place: str, room: int) -> str:
    """Cut ``folder/folder/name:line`` at its front to at most ``room`` columns: the name and the line tell most."""
    if text_width(place) <= room:
        return place
    part = _cut(place[::-1], max(room - 1, 1))[0][::-1]
    slash = part.find("/", 0, len(part) // 2)
    return "…" + part[max(slash, 0) :]
