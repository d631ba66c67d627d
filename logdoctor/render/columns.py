"""Terminal columns: width of a text, wrapping, and shortening of long lines."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence

from logdoctor.pack.regexes import later

# A line may break after any wide character. Closing punctuation stays with the character before it, opening punctuation
# with the one behind it.
_WIDE = "\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
_CLOSING = "，。、；：！？）」』】》…"
_OPENING = "（「『【《"
_PIECE = later(rf" +|[{_OPENING}]*(?:[{_WIDE}][{_CLOSING}]*|[^ {_WIDE}]+[{_CLOSING}]*)")

# A shortened line keeps the part around the first of these words.
_FAILURE_WORDS = later(
    r"(?i)err(?:or|no)|fail|fatal|time[d-]? ?out|kill|abort|exception|signal|sig[a-z]{3,4}\b|exit ?(?:code|status)"
    r"|panic|xid|denied|refused|reset by|closed|unreachable|out of memory|oom|can ?not|can't|no such|not found|mismatch"
    r"|\bnan\b|corrupt|lost|missing|invalid|illegal|unable"
)
_WORD = later(r"(?:\w|[./:@-](?=\w))+")
_VALUE = later(r"\d|[A-Z]{3}|[a-z_][A-Z]|\w[/_]\w")
"""A word that is a value or a name rather than everyday language."""
_PLAIN_WORD = later(r"[a-z]{4,}")
_NEAR = 14
"""Characters by which a cut may move to fall between words."""


def char_width(char: str) -> int:
    """Return the columns of one character. Wide East Asian characters take 2 columns. Combining marks take 0."""
    if char.isascii():
        return 1
    if unicodedata.category(char) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def text_width(text: str) -> int:
    """Return the columns of ``text``."""
    return len(text) if text.isascii() else sum(map(char_width, text))


def pad(text: str, room: int) -> str:
    """Add spaces up to ``room`` columns. A longer text stays as it is."""
    return text + " " * (room - text_width(text))


def _cut(text: str, room: int) -> tuple[str, str]:
    """Split ``text`` after ``room`` columns, but at least after one character."""
    used = 0
    for index, char in enumerate(text):
        used += char_width(char)
        if used > room and index:
            return text[:index], text[index:]
    return text, ""


def _pieces(text: str, room: int) -> Iterator[str]:
    for piece in _PIECE.findall(text):
        while piece:
            part, piece = _cut(piece, room)
            yield part


def wrap(text: str, room: int) -> list[str]:
    """Break ``text`` into lines of at most ``room`` columns.

    Lines break at spaces or between wide characters. A word longer than a line breaks anywhere.
    """
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


def shorten(text: str, room: int, told: Collection[str] = ()) -> str:
    """Cut ``text`` to at most ``room`` columns. A `` … `` marks each gap.

    The start stays, and the first word about a failure with the text around it. The end stays if there is room. If
    words of ``told`` would be cut away, the part with most of them stays instead. Plain words stand there in lower
    case.
    """
    if text_width(text) <= room:
        return text
    short = _shorten_around_failure(text, room - 3)
    wanted = [m for m in _WORD.finditer(text) if m[0] in told or m[0].lower() in told]
    missing = {m[0] for m in wanted}.difference(_WORD.findall(short))
    behind = [m for m in wanted if m.start() >= room // 4]
    return _shorten_around(text, room - 6, behind) if missing and behind else short


def _shorten_around(text: str, room: int, words: Sequence[re.Match[str]]) -> str:
    """Keep the start of ``text`` and the part of it that holds most of ``words``, with the text before them."""
    head = _head(text, room // 4)
    rest = room - text_width(head)

    def from_here(first: re.Match[str]) -> list[re.Match[str]]:
        return [m for m in words if first.start() <= m.start() and m.end() <= first.start() + rest - _NEAR]

    best = max(map(from_here, words), key=lambda found: len({m[0] for m in found})) or [words[0]]
    spare = max(rest - (best[-1].end() - best[0].start()), 0)
    start = best[0].start() - spare * 3 // 4
    if start <= len(head) + _NEAR:
        return shorten_end(text, room + 5)
    tail = text[_start_of_word(text, start, best[0].start()) or text.rfind(" ", 0, start) + 1 :]
    if text_width(tail) <= rest + 3:
        return f"{head} … {_tail(text, rest + 3)}".lstrip()
    return f"{head} … {_beginning(tail, rest)} …".lstrip()


def _shorten_around_failure(text: str, room: int) -> str:
    head = _head(text, room * 2 // 3)
    failure = _FAILURE_WORDS.search(text)
    if failure is None or failure.end() <= len(head):
        return f"{head} … {_tail(text, room - text_width(head))}".lstrip()
    head = _head(text, room // 3)
    rest = room - text_width(head)
    start = max(len(head), failure.start() - rest // 4)
    if text_width(text[start:]) <= rest:
        return f"{head} … {_tail(text, rest)}".lstrip()
    start = _start_of_word(text, start, failure.start()) or text.rfind(" ", 0, start) + 1
    return f"{head} … {_beginning(text[start:], rest - 2)} …".lstrip()


def _beginning(text: str, room: int) -> str:
    """Return the start of ``text`` in ``room`` columns. A first word that is longer than that is cut anywhere."""
    return _head(text, room) or _cut(text, max(room, 1))[0]


_INSIDE = "/,="
"""Signs between the parts of a long word."""


def _head(text: str, room: int) -> str:
    """Return the start of ``text`` in ``room`` columns, which may be nothing.

    It ends between words, or in a long path or list between its parts.
    """
    part, rest = _cut(text, max(room, 1))
    if not rest or rest.startswith(" "):
        return part.rstrip()
    space = max(part.rfind(" "), 0)
    inside = max(part.rfind(sign, space + 2) for sign in _INSIDE) + 1
    return part[: inside if inside and space <= min(len(part) // 2, len(part) - _NEAR) else space].rstrip()


def _tail(text: str, room: int) -> str:
    """Return the end of ``text`` in ``room`` columns. It starts between words, or in a long path between folders."""
    part = _cut(text[::-1], max(room, 1))[0][::-1]
    start = len(text) - len(part)
    return text[_start_of_word(text, start, len(text) - 1) or start :]


def _start_of_word(text: str, start: int, last: int) -> int:
    """Return where a word starts, or in a long path a folder, from ``start`` to ``last``; 0 if nowhere."""
    if start == 0 or text[start - 1] == " ":
        return start
    return text.find(" ", start, last) + 1 or min(
        (at for at in (text.find(sign, start, last) + 1 for sign in _INSIDE) if at), default=0
    )


def shorten_end(text: str, room: int) -> str:
    """Cut the end of ``text``, between words if possible, so that it has at most ``room`` columns."""
    return text if text_width(text) <= room else f"{_beginning(text, room - 2)} …"


def values_in(text: str) -> set[str]:
    """Return the numbers, paths and names in ``text``."""
    return {word for word in _WORD.findall(text) if _VALUE.search(word)}


def words_in(text: str) -> set[str]:
    """Return the values in ``text``, and its longer plain words in lower case."""
    return values_in(text).union(_PLAIN_WORD.findall(text.lower()))


def shorten_path(location: str, room: int) -> str:
    """Cut ``folder/folder/name:line`` at its front to at most ``room`` columns: ``…/name:line``."""
    if text_width(location) <= room:
        return location
    part = _cut(location[::-1], max(room - 1, 1))[0][::-1]
    slash = part.find("/", 0, len(part) // 2)
    return "…" + part[max(slash, 0) :]


def wrap_shortened(text: str, room: int, most: int, told: Collection[str] = ()) -> list[str]:
    """Wrap ``text`` into at most ``most`` lines. It is shortened no more than needed. Words of ``told`` stay."""
    budget = room * most
    while True:
        lines = wrap(shorten(text, budget, told), room)
        if len(lines) <= most or budget <= room // 2:
            return lines[:most]
        budget -= max(room // 12, 1)


def wrap_command(command: str, room: int) -> list[str]:
    """Break a command at its spaces, with a backslash at each break, so that it can be copied."""
    lines = wrap(command, room - 2)
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:] if " ".join(lines) == command else [command]
