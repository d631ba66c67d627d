"""Split a line that holds several records.

Processes may write without a newline between their records.  Example: ``saving)[rank1]: Traceback (most recent call
last):`` -> ``saving)`` and the line of rank 1.
"""

from __future__ import annotations

from itertools import pairwise

from msgspec.structs import replace

from logdoctor.logs.escapes import strip_escapes
from logdoctor.logs.prefix_stripping import Stripped, strip_further_line, strip_prefixes
from logdoctor.pack.regexes import later

_BRACKET = later(
    r"\[(?:(?<=\S\[)(?:rank\d{1,7}\]:(?:\[?[FEWIV]\d{0,4} | )|default\d{1,4}\]:"
    r"|\d{1,10},\d{1,7}\]<std(?:out|err|diag)>:"
    r"|(?<!\]:\[)[FEWI](?:\d{3,4} \d\d:\d\d:\d\d\.\d{9})? \w{1,100}\.(?:cpp|hpp|cc|cu|h):\d{1,6}\] )"
    r"|(?<=\s\[)rank\d{1,7}\]:(?:\[[FEWIV]\d{0,4} | Traceback | {3}File \"| {5}\S| (?:\w+\.)*\w*(?:Error|Exception): ))"
)
"""Prefixes that begin a record in the middle of a line. After a blank only those that no sentence holds."""
_NCCL = later(r":\d{1,10}:\d{1,10} \[-?\d{1,4}\] (?=.{0,160}NCCL (?:WARN|INFO) )")
_BAR = later(
    r"(?:\d[kMGT]?|it) \[\d{1,3}:[\d:]{2,12}[<,][^\[\]\n]{1,300}\] {0,100}"
    r"(?=[A-Za-z(\[]|\.{0,2}/|\^C|\*{3} |\d{4}-\d\d-\d\d[ T])"
)
"""Progress bar of tqdm, which prints no newline, so that the next output follows it directly."""
_ETA = later(
    r"(?:task/s, elapsed: \d{1,9}s, ETA: {1,12}\d{1,9}s"
    r"|\] - ETA: (?:\d+:){0,2}\d{1,6}s?(?: - \w{1,40}: [\d.]{1,20}(?:e[+-]\d\d)?){0,12})"
    r"(?=[^\W\d_]|[(\[]|\d{4}-\d\d-\d\d )"
)
"""Progress bars of mmcv and of Keras."""
_DRAWN = later(
    r"(?:\u2501[^\n]{0,300}?| eta (?:\d+:){1,2}\d\d [-\\|/])"
    r"(?=(?:Killed|Terminated|Hangup|Segmentation fault|Bus error|Aborted)(?: \(core dumped\))?\s*$"
    r"|Traceback \(most recent|slurmstepd: error: |srun: error: |\S{1,200}: line \d{1,5}: )"
)
"""Progress bars of rich and progressbar. After them only messages that end a job are split off."""
_HOST = "-._abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
"""Characters of a host name."""
MAX_PIECES = 64
"""Split a line at most this many times."""
_TAG = later(r"(?:.{0,30}?[ \d])?(\[\d{1,10},\d{1,7}\]<std(?:out|err|diag)>:)")
_HINTS = ("[rank", "[default", "<std", "NCCL ", ".cpp:", "%|", "it [", " ETA: ", "\u2501", " eta ")


def decode_line(raw: bytes) -> str:
    """Decode a raw line and strip terminal escapes. Invalid UTF-8 becomes replacement characters.

    Leading zero bytes are dropped.  They occur if a log was truncated while its program went on writing.
    """
    text = strip_escapes(raw.decode("utf-8", "replace"))
    return text.lstrip("\ufeff\0").rstrip("\r\n")


def split_line(text: str) -> list[Stripped]:
    """Split a line into its records, and strip the prefixes of each.

    A JSON message of several lines gives a piece for each.  The prefix of a launcher holds for all pieces.
    """
    if "<std" in text:
        text = _drop_repeated_tags(text)
    line = strip_prefixes(text)
    if line.decoded:
        return [*_split_message(line), *line.further]
    message_start = len(text) - len(line.text)
    starts = [start for start in sorted(_find_starts(text)) if start > message_start][:MAX_PIECES]
    if not starts:
        return [line]
    pieces = [strip_prefixes(text[: starts[0]])]
    start = starts[0]
    for end in [*starts[1:], len(text)]:
        piece = strip_prefixes(text[start:end], pieces[0])
        if piece.text.strip() or end == len(text):
            pieces.append(piece)
            start = end
    return pieces


def _split_message(line: Stripped) -> list[Stripped]:
    """Split a decoded message. All pieces inherit its labels."""
    text = line.text
    starts = [0, *sorted(_find_starts(text))[:MAX_PIECES], len(text)]
    parts = [text[start:end] for start, end in pairwise(starts)]
    if len(parts) == 1:
        return [line]
    return [
        replace(line, text=parts[0], further=[]),
        *(strip_further_line(part, line, line.labels) for part in parts[1:] if part.strip()),
    ]


def _find_starts(text: str) -> set[int]:
    """Return the positions at which another record may begin."""
    for hint in _HINTS:
        if text.find(hint, 1) > 0:
            break
    else:
        return set()
    starts = {match.start() for match in _BRACKET.finditer(text, 1)}
    starts |= {match.end() for match in _BAR.finditer(text)}
    if " ETA: " in text:
        starts |= {match.end() for match in _ETA.finditer(text)}
    if "\u2501" in text or " eta " in text:
        starts |= {match.end() for match in _DRAWN.finditer(text)}
    if "NCCL " in text:
        for match in _NCCL.finditer(text, 1):
            start = len(text[: match.start()].rstrip(_HOST))
            if 0 < start < match.start() and text[start - 1] not in ":/":
                starts.add(start)
    return starts


def _drop_repeated_tags(text: str) -> str:
    """Drop the tags that mpirun put inside a line.

    They occur if the process wrote its line in parts.  Example: ``[1,0]<stderr>:go[1,0]<stderr>:ne`` ->
    ``[1,0]<stderr>:gone``.
    """
    tag = _TAG.match(text)
    return text[: tag.end()] + text[tag.end() :].replace(tag[1], "") if tag else text
