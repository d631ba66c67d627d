r"""BKCL (XCCL), the collectives of Baidu's Kunlun accelerators under PaddlePaddle and vLLM-Kunlun.

``bkcl.log``  by_host, by_pid, severity, file, line, text: a line of the library; a failure where it says so

Shapes: ``[WARN][BKCL][FILE:LINE] TEXT``, from 2024 on ``[TIME][HOST][PID][ERR][BKCL][FILE:LINE] TEXT``, as XCCL
``[XCCL][FILE:LINE] TEXT``.  Sources: what PaddlePaddle 2.2 to 3.0 and vLLM-Kunlun 0.10 print (Paddle
phi/core/platform/collective_helper.cc, bkcl_context.cc).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.record_pattern import Message, Multiline, RecordPattern
from logdoctor.model import Level, Value
from logdoctor.pack.regexes import later

_LEVELS: Mapping[str, Level] = {"ERR": "error", "ERROR": "error", "FATAL": "fatal", "WARN": "warning"}
_FAILED = later(r"\bfail(?:ed|ure)?\b|\bnot properly\b|\btimed? ?out\b|dont support|\berror\b")


def _severity(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Set the level from the words of the message.

    BKCL prints WARN for errors that end the program. XCCL prints no level.
    """
    text, severity = str(fields.get("text", head.text)), str(fields.get("severity", ""))
    level = _LEVELS.get(severity, "info")
    if severity in {"", "WARN"} and _FAILED.search(text):
        level = "error"
    return Multiline(text, level=level)


RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "bkcl.log",
        r"(?:\[(?P<by_host>[\w.-]{1,255})\]\[(?P<by_pid>\d{1,10})\])?(?:\[(?P<severity>ERR|ERROR|FATAL|WARN|INFO|DBG"
        r"|DEBUG)\])?\[(?:BKCL|XCCL)\]\[(?P<file>[^\s\]:]{1,300}):(?P<line>\d{1,7})\] (?P<text>\S.{0,600})",
        level="info",
        read_lines=_severity,
        priority=3,
        scan=r"\[(?:BKCL|XCCL)\]\[[^\s\]:]{1,300}:\d{1,7}\] ",
        note="BKCL, the collectives library of Kunlun accelerators, says so.",
    ),
)
