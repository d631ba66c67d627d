"""One printed line as pieces: escapes of the terminal taken out, records that writers glued together cut apart."""

from __future__ import annotations

from itertools import pairwise

from msgspec.structs import replace

from logdoctor.parsers.escapes import without_escapes
from logdoctor.parsers.peeling import Peeled, below, peel
from logdoctor.regexes import later

_BRACKET = later(
    r"\[(?:(?<=\S\[)(?:rank\d{1,7}\]:(?:\[?[FEWIV]\d{0,4} | )|default\d{1,4}\]:"
    r"|\d{1,10},\d{1,7}\]<std(?:out|err|diag)>:"
    r"|(?<!\]:\[)[FEWI](?:\d{3,4} \d\d:\d\d:\d\d\.\d{9})? \w{1,100}\.(?:cpp|hpp|cc|cu|h):\d{1,6}\] )"
    r"|(?<=\s\[)rank\d{1,7}\]:(?:\[[FEWIV]\d{0,4} | Traceback | {3}File \"| {5}\S| (?:\w+\.)*\w*(?:Error|Exception): ))"
)
"""Prefixes of records in the middle of a line; with a blank in front only what no sentence holds."""
_NCCL = later(r":\d{1,10}:\d{1,10} \[-?\d{1,4}\] (?=.{0,160}NCCL (?:WARN|INFO) )")
_BAR = later(
    r"(?:\d[kMGT]?|it) \[\d{1,3}:[\d:]{2,12}[<,][^\[\]\n]{1,300}\] {0,100}"
    r"(?=[A-Za-z(\[]|\.{0,2}/|\^C|\*{3} |\d{4}-\d\d-\d\d[ T])"
)
"""A progress bar of tqdm, which ends no line: what is printed next stands right behind it."""
_ETA = later(
    r"(?:task/s, elapsed: \d{1,9}s, ETA: {1,12}\d{1,9}s"
    r"|\] - ETA: (?:\d+:){0,2}\d{1,6}s?(?: - \w{1,40}: [\d.]{1,20}(?:e[+-]\d\d)?){0,12})"
    r"(?=[^\W\d_]|[(\[]|\d{4}-\d\d-\d\d )"
)
"""The bars of mmcv and of Keras end no line either."""
_DRAWN = later(
    r"(?:\u2501[^\n]{0,300}?| eta (?:\d+:){1,2}\d\d [-\\|/])"
    r"(?=(?:Killed|Terminated|Hangup|Segmentation fault|Bus error|Aborted)(?: \(core dumped\))?\s*$"
    r"|Traceback \(most recent|slurmstepd: error: |srun: error: |\S{1,200}: line \d{1,5}: )"
)
"""Nor do those of rich and progressbar; behind them only what ends a job is looked for."""
_HOST = "-._abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
"""What a host's name is made of."""
MAX_PIECES = 64
"""What is glued behind so many records stays in one piece."""
_TAG = later(r"(?:.{0,30}?[ \d])?(\[\d{1,10},\d{1,7}\]<std(?:out|err|diag)>:)")
_HINTS = ("[rank", "[default", "<std", "NCCL ", ".cpp:", "%|", "it [", " ETA: ", "\u2501", " eta ")


def clean(raw: bytes) -> str:
    """The text of a raw line without escapes; bytes that are no UTF-8 become replacement characters.

    Zero bytes stand in front where a log was cut while its program went on writing.
    """
    text = without_escapes(raw.decode("utf-8", "replace"))
    return text.lstrip("\ufeff\0").rstrip("\r\n")


def pieces(text: str) -> list[Peeled]:
    """The peeled pieces of a line: one, or several where records are glued or a JSON message has several lines.

    What a launcher put in front of the line holds for all pieces.
    """
    if "<std" in text:
        text = _joined(text)
    whole = peel(text)
    if whole.decoded:
        return [*_message_pieces(whole), *whole.more]
    begins = len(text) - len(whole.text)
    glued = [start for start in sorted(_glued(text)) if start > begins][:MAX_PIECES]
    if not glued:
        return [whole]
    found = [peel(text[: glued[0]])]
    start = glued[0]
    for end in [*glued[1:], len(text)]:
        peeled = peel(text[start:end], found[0])
        if peeled.text.strip() or end == len(text):
            found.append(peeled)
            start = end
    return found


def _message_pieces(whole: Peeled) -> list[Peeled]:
    """The pieces of a message that a service had packed: who said the first, and when, holds for all."""
    text = whole.text
    starts = [0, *sorted(_glued(text))[:MAX_PIECES], len(text)]
    parts = [text[start:end] for start, end in pairwise(starts)]
    if len(parts) == 1:
        return [whole]
    return [
        replace(whole, text=parts[0], more=[]),
        *(below(part, whole, whole.who) for part in parts[1:] if part.strip()),
    ]


def _glued(text: str) -> set[int]:
    """Where another record may begin, if what stands in front is more than prefixes."""
    for hint in _HINTS:
        if text.find(hint, 1) > 0:
            break
    else:
        return set()
    found = {hit.start() for hit in _BRACKET.finditer(text, 1)}
    found |= {hit.end() for hit in _BAR.finditer(text)}
    if " ETA: " in text:
        found |= {hit.end() for hit in _ETA.finditer(text)}
    if "\u2501" in text or " eta " in text:
        found |= {hit.end() for hit in _DRAWN.finditer(text)}
    if "NCCL " in text:
        for hit in _NCCL.finditer(text, 1):
            start = len(text[: hit.start()].rstrip(_HOST))
            if 0 < start < hit.start() and text[start - 1] not in ":/":
                found.add(start)
    return found


def _joined(text: str) -> str:
    """Take out what mpirun put between the parts of a line that its process wrote bit by bit: the same tag again."""
    tag = _TAG.match(text)
    return text[: tag.end()] + text[tag.end() :].replace(tag[1], "") if tag else text
