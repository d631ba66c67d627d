r"""What a terminal or a page put into a text, and no program printed as words: taken out, or turned back.

Colours and cursor movements may stand within a message (``\x1b[31mRuntimeError\x1b[0m: ...``); a page gives blanks
that do not break, characters without width, and the names of characters (``&gt;``).  No line end comes or goes, so
lines keep their numbers.

Only the beginning of a log is read so closely: nobody copies more than that from a page, and it takes as long as the
whole scan.  Beyond it, colours are taken off the lines that the scan finds.
"""

from __future__ import annotations

import re

from logdoctor.sources.layers import Layer, Source

_OF_ASCII = (b"\x1b", b"&")
_BEYOND = (b"\xc2\xa0", b"\xe2\x80", b"\xe2\x81", b"\xef\xbb")
"""Looked for where there is anything beyond ASCII: single bytes are found ten times as fast."""
_MAY_BEGIN = (b"\xc2", b"\xe2", b"\xef")
"""At the end of what was read, these may be the first byte of a sign."""
AT_FIRST = 16 << 20
"""So many bytes of a log are read for such things."""
_LONGEST = 64 << 10
"""A line whose end is not there yet is not waited for beyond that."""
_FOUND = re.compile(
    rb"\x1b\[[0-?]{0,40}[ -/]{0,4}[@-~]|\x1b\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\)?"
    rb"|\xc2\xa0|\xe2\x80[\x8b-\x8f\xaf]|\xe2\x81\xa0|\xef\xbb\xbf"
    rb"|&(?:gt|lt|quot|apos|amp|nbsp|#x[0-9A-Fa-f]{2}|#\d{2,3});(?:(?<!&amp;)|(?:gt|lt|quot|apos|nbsp|#39|#34);)?"
)
_BLANKS = (b"\xc2\xa0", b"\xe2\x80\xaf", b"&nbsp;", b"&amp;nbsp;")
_NAMES = {b"gt": b">", b"lt": b"<", b"quot": b'"', b"apos": b"'", b"amp": b"&"}


class Undisguised(Layer):
    """A text without what was put into it."""

    def __init__(self, source: Source) -> None:
        """Read ``source``, a text in UTF-8."""
        self._source = source
        self._held = self._ready = b""
        self._ended = False
        self._left = AT_FIRST

    def readinto(self, buffer: memoryview, /) -> int:
        """See `Source.readinto`.  What holds no sign goes through as it comes."""
        if self._held or self._ready or self._ended:
            return super().readinto(buffer)
        count = self._source.readinto(buffer) or 0
        if not count or not self._left:
            return count
        data = bytes(buffer[:count])
        if not _suspect(data[: self._left]):
            self._left = max(0, self._left - count)
            return count
        self._take(data)
        return super().readinto(buffer)

    def read(self, size: int, /) -> bytes:
        """See `Source.read`."""
        while not self._ready and not self._ended:
            data = self._source.read(size) or b""
            self._ended = not data
            self._take(data)
        data, self._ready = self._ready[:size], self._ready[size:]
        return data

    def _take(self, data: bytes) -> None:
        """Make ready what is read; a line that is not whole waits, if something may have been put into it."""
        first, rest = data[: self._left], data[self._left :]
        self._left -= len(first)
        text = self._held + first
        whole = text.rfind(b"\n") + 1
        more = self._left and not self._ended
        waits = more and len(text) - whole < _LONGEST and _suspect(text[whole:])
        text, self._held = (text[:whole], text[whole:]) if waits else (text, b"")
        self._ready += (_FOUND.sub(_meant, text) if _suspect(text) else text) + rest


def _suspect(data: bytes) -> bool:
    if any(sign in data for sign in _OF_ASCII):
        return True
    if data.isascii():
        return False
    return data.endswith(_MAY_BEGIN) or any(sign[:1] in data and sign in data for sign in _BEYOND)


def _meant(found: re.Match[bytes]) -> bytes:
    """What was printed where ``found`` stands."""
    text = found[0]
    if text in _BLANKS:
        return b" "
    if not text.startswith(b"&"):
        return b""
    name = text.rstrip(b";").rpartition(b";")[2].lstrip(b"&")  # of a name that was named again the inner one
    if name in _NAMES:
        return _NAMES[name]
    code = int(b"0" + name[1:], 0) if name[:2] == b"#x" else int(name[1:])
    return bytes((code,)) if 32 <= code < 127 else text
