"""One printed line as pieces: escapes of the terminal taken out, records that writers glued together cut apart."""

from __future__ import annotations

import re

from logdoctor.parsers.peeling import Peeled, peel

_ESCAPES = re.compile(
    r"\x1b\[[0-?]{0,40}[ -/]{0,4}[@-~]|\x1b\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)?"
    r"|\x1b[PX^_][^\x1b]{0,2000}(?:\x1b\\)?|\x1b[ -/]?[0-~]?"
    r"|(?:\^\[|␛)?\[\d{1,3}(?:;\d{1,3}){0,4}m"
)
"""CSI, OSC and the other strings of ECMA-48; colours also where the escape character itself got lost."""

_GLUED = re.compile(
    r"(?<=\S)(?=\[rank\d{1,7}\]:(?:\[?[FEWIV]\d{0,4} | )|\[default\d{1,4}\]:|\[\d{1,10},\d{1,7}\]<std(?:out|err|diag)>:"
    r"|\[[FEWI]\d{3,4} \d\d:\d\d:\d\d\.\d{9} \w{1,100}\.\w{1,4}:\d{1,6}\])"
    r"|(?<=\s)(?=\[rank\d{1,7}\]:(?:\[[FEWIV]\d{0,4} | Traceback ))"
    r"|(?<=[^\w.:/-])(?=[A-Za-z0-9][\w.-]{0,254}:\d{1,10}:\d{1,10} \[-?\d{1,4}\] [^\n]{0,160}NCCL (?:WARN|INFO) )"
)
_HINTS = ("[rank", "[default", "<std", "NCCL ", ".cpp:")


def clean(raw: bytes) -> str:
    """The text of a raw line without escapes; bytes that are no UTF-8 become replacement characters."""
    text = raw.decode("utf-8", "replace")
    if "\x1b" in text or "0m" in text or "^[[" in text:
        text = _ESCAPES.sub("", text)
    return text.removeprefix("\ufeff").rstrip("\r\n")


def pieces(text: str) -> list[Peeled]:
    """The peeled pieces of a line: one, or several where records are glued or a JSON message has several lines.

    What a launcher put in front of the line holds for all pieces.
    """
    found = list[Peeled]()
    for part in _cut(text):
        peeled = peel(part, found[0] if found else None)
        found += [peeled, *peeled.more]
    return found


def _cut(text: str) -> list[str]:
    if not any(text.find(hint, 1) > 0 for hint in _HINTS):
        return [text]
    parts, start = list[str](), 0
    for glue in _GLUED.finditer(text):
        if peel(text[start : glue.start()]).text.strip():
            parts.append(text[start : glue.start()])
            start = glue.start()
    return [*parts, text[start:]]
