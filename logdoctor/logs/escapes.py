"""Terminal escape sequences."""

from __future__ import annotations

from logdoctor.pack.regexes import later

_ESCAPES = later(
    r"\x1b\[[0-?]{0,40}[ -/]{0,4}[@-~]|\x1b\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)?"
    r"|\x1b[PX^_][^\x1b]{0,2000}(?:\x1b\\)?|\x1b[ -/]?[0-~]?"
    r"|(?:\^\[|␛|\\u001[bB]|\\x1[bB]|\\033)?\[\d{1,3}(?:;\d{1,3}){0,4}m"
)
"""CSI, OSC and the other strings of ECMA-48. Colours also if the escape character is lost or spelled out (JSON)."""


def strip_escapes(text: str) -> str:
    """Remove colours, cursor movements and window titles: ``ESC[31mgone`` -> ``gone``."""
    if "\x1b" in text or "0m" in text or "^[[" in text or _may_hold_escape(text):
        return str(_ESCAPES.sub("", text))
    return text


def _may_hold_escape(text: str) -> bool:
    r"""Return True if ``text`` may hold a colour without its reset.

    Either another program spelled the escape out (``\x1b[31m``), or the line begins with a colour without its escape
    character (``[31mgone``).
    """
    lost = (text[:2] in ("[3", "[9") and text[3:4] == "m") or (text[:3] == "[1;" and text[5:6] == "m")
    return lost or "1b[" in text or "1B[" in text or "033[" in text
