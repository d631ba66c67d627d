r"""Terminal codes and HTML entities, removed from a log.

A terminal adds colours and cursor movements, also inside a message: ``\x1b[31mRuntimeError\x1b[0m: ...`` becomes
``RuntimeError: ...``.
A web page adds no-break spaces (they become spaces), zero-width characters (removed) and entities (``&gt;`` becomes
``>``).
Line ends are never added or removed, so line numbers stay.

Only the first `CLEANED_BYTES` of a log are cleaned, because cleaning takes as long as the whole scan.
People copy less than that from a page.
Beyond them, `logdoctor.logs.escapes` removes colours from the lines that the scan picks.
"""

from __future__ import annotations

import re

from logdoctor.inputs.streams import ByteReader, Layer

_ASCII_MARKERS = (b"\x1b", b"&")
_UTF8_MARKERS = (b"\xc2\xa0", b"\xe2\x80", b"\xe2\x81", b"\xef\xbb")
"""Searched only in text that is not ASCII, because single bytes are found ten times as fast."""
_UTF8_FIRST_BYTES = (b"\xc2", b"\xe2", b"\xef")
"""First bytes of the characters above. At the end of a read they may be an incomplete character."""
CLEANED_BYTES = 16 << 20
"""Bytes at the start of a log that are cleaned."""
_LONGEST_WAIT = 64 << 10
"""Longest incomplete line that is held back until its end is read."""
_CODES = re.compile(
    rb"\x1b\[[0-?]{0,40}[ -/]{0,4}[@-~]|\x1b\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\)?"
    rb"|\xc2\xa0|\xe2\x80[\x8b-\x8f\xaf]|\xe2\x81\xa0|\xef\xbb\xbf"
    rb"|&(?:gt|lt|quot|apos|amp|nbsp|#x[0-9A-Fa-f]{2}|#\d{2,3});(?:(?<!&amp;)|(?:gt|lt|quot|apos|nbsp|#39|#34);)?"
)
_SPACES = (b"\xc2\xa0", b"\xe2\x80\xaf", b"&nbsp;", b"&amp;nbsp;")
_ENTITIES = {b"gt": b">", b"lt": b"<", b"quot": b'"', b"apos": b"'", b"amp": b"&"}


class CleanText(Layer):
    """A text without terminal codes and HTML entities."""

    def __init__(self, reader: ByteReader) -> None:
        """Clean ``reader``, a text in UTF-8."""
        self._reader = reader
        self._pending = self._ready = b""
        self._ended = False
        self._remaining = CLEANED_BYTES

    def readinto(self, buffer: memoryview, /) -> int:
        """Read as in `ByteReader.readinto`. Data without codes stays in ``buffer`` as it is."""
        if self._pending or self._ready or self._ended:
            return super().readinto(buffer)
        count = self._reader.readinto(buffer) or 0
        if not count or not self._remaining:
            return count
        data = bytes(buffer[:count])
        if not _may_have_codes(data[: self._remaining]):
            self._remaining = max(0, self._remaining - count)
            return count
        self._clean(data)
        return super().readinto(buffer)

    def read(self, size: int, /) -> bytes:
        while not self._ready and not self._ended:
            data = self._reader.read(size) or b""
            self._ended = not data
            self._clean(data)
        data, self._ready = self._ready[:size], self._ready[size:]
        return data

    def _clean(self, data: bytes) -> None:
        """Clean ``data``. Hold back an incomplete last line that may contain codes."""
        first, rest = data[: self._remaining], data[self._remaining :]
        self._remaining -= len(first)
        text = self._pending + first
        end_of_lines = text.rfind(b"\n") + 1
        unfinished = self._remaining and not self._ended
        must_wait = unfinished and len(text) - end_of_lines < _LONGEST_WAIT and _may_have_codes(text[end_of_lines:])
        text, self._pending = (text[:end_of_lines], text[end_of_lines:]) if must_wait else (text, b"")
        self._ready += (_CODES.sub(_replacement, text) if _may_have_codes(text) else text) + rest


def _may_have_codes(data: bytes) -> bool:
    if any(marker in data for marker in _ASCII_MARKERS):
        return True
    if data.isascii():
        return False
    return data.endswith(_UTF8_FIRST_BYTES) or any(marker[:1] in data and marker in data for marker in _UTF8_MARKERS)


def _replacement(match: re.Match[bytes]) -> bytes:
    """Return the text for a match, for example ``>`` for ``&gt;``."""
    text = match[0]
    if text in _SPACES:
        return b" "
    if not text.startswith(b"&"):
        return b""
    name = text.rstrip(b";").rpartition(b";")[2].lstrip(b"&")  # of ``&amp;gt;`` the ``gt``
    if name in _ENTITIES:
        return _ENTITIES[name]
    code = int(b"0" + name[1:], 0) if name[:2] == b"#x" else int(name[1:])
    return bytes((code,)) if 32 <= code < 127 else text
