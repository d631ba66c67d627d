"""Escape sequences of the terminal come out of a text."""

from __future__ import annotations

from logdoctor.regexes import later

_ESCAPES = later(
    r"\x1b\[[0-?]{0,40}[ -/]{0,4}[@-~]|\x1b\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)?"
    r"|\x1b[PX^_][^\x1b]{0,2000}(?:\x1b\\)?|\x1b[ -/]?[0-~]?"
    r"|(?:\^\[|␛|\\u001[bB]|\\x1[bB]|\\033)?\[\d{1,3}(?:;\d{1,3}){0,4}m"
)
"""CSI, OSC and the other strings of ECMA-48; colours also where the escape got lost or is written out (JSON)."""


def without_escapes(text: str) -> str:
    """``text`` without colours, cursor movements and titles of windows."""
    if "\x1b" in text or "0m" in text or "^[[" in text or _written_out(text):
        return str(_ESCAPES.sub("", text))
    return text


def _written_out(text: str) -> bool:
    """Whether an escape may stand in ``text`` without the reset that ends most colours.

    Another program quoted it; or it got lost in front of the line's foreground colour.
    """
    lost = (text[:2] in ("[3", "[9") and text[3:4] == "m") or (text[:3] == "[1;" and text[5:6] == "m")
    return lost or "1b[" in text or "1B[" in text or "033[" in text
