"""Time stamps in front of a line, often with a level.

Sources: Python logging (asctime), loguru, log4j, dmesg and dmesg -T, kubectl --timestamps, GitHub Actions, sglang's
logger (tags of the ranks inside the bracket), Ray's C++ logger, TensorFlow's logger.
"""

from __future__ import annotations

from logdoctor.logs.record_pattern import Prefix
from logdoctor.logs.timestamps import CLOCK, LEVEL, SOURCE, STAMP

_LETTERS = "MTWFSJANOD"
"""Initials of days and months."""
_STARTS = "0123456789" + _LETTERS
_PADDED = r"(?:(?<=INFO) {5}|(?<=ERROR|DEBUG) {4}|(?<=WARNING) {2}|:? |\t|:?$)"
"""Blanks after a level: rich pads to eight columns, other loggers print one blank."""
STREAM = r"(?:ERROR|INFO) *\| +std(?:err|out) +\| ?"
"""Prefix of FastChat (fastchat/utils.py), which logs all of stderr as ERROR, so that the level means nothing."""
_LEVEL = (
    rf"(?:{STREAM}|(?P<level>{LEVEL})"
    rf"(?: *\| +(?:(?P<logger>{SOURCE}:[\w.<>]+:\d+) - )?| +- +(?:(?P<logger2>[\w.]+) +- +)?|{_PADDED})"
    rf"|\[ ?(?P<level2>{LEVEL}) *\]"
    rf"(?: \[(?P<logger3>{SOURCE}:\d+)(?::[\w<>]+)?\])?(?: ?[-:](?= ))?(?: |$))?"
)
_BETWEEN = r"(?:(?: ?(?!-- Process \d|--> FOAM )[-|>,]+|:|)[ \t]|(?=\[)|:?$)"
"""Text between stamp and message. Dashes belong here unless they begin a known message."""

PREFIXES: tuple[Prefix, ...] = (
    Prefix(
        "ray.cpp",
        rf"\[(?P<time>{STAMP}) (?P<level>[FEWIDCT]) (?P<pid>\d{{1,10}}) \d+\] (?:\((?P<tag>[\w-]+)\) )?"
        rf"(?P<logger>{SOURCE}:\d+): ?",
        "[",
        once=True,
    ),
    Prefix(
        "sglang",
        rf"\[(?P<time>{STAMP}) (?:(?![^\]]{{0,40}}\bPP[1-9])(?=[^\]]{{0,40}}\bTP(?P<rank>\d{{1,6}})\b))?"
        r"(?P<tag>(?:(?:DP|TP|EP|PP|CP|SP)\d+ ?)+)\] ?",
        "[",
        once=True,
    ),
    Prefix(
        "nemo",
        rf"\[NeMo (?P<level>[FEWIDC]) (?P<time>{STAMP})(?: rank:?(?P<rank>\d+))? (?P<logger>{SOURCE}:\d+)\] ?",
        "[",
        once=True,
    ),
    Prefix(
        "horovod",
        rf"\[(?P<time>{STAMP}): (?P<level>[FEWIDT]) (?P<logger>{SOURCE}:\d+)\](?: \[(?P<rank>\d{{1,7}})\]:)? ?",
        "[",
        once=True,
        last=True,
    ),
    Prefix(
        "tensorflow",
        rf"(?P<time>{STAMP}): (?P<level>[FEWI]) (?P<logger>{SOURCE}:\d+)\] ?",
        "0123456789",
        once=True,
        last=True,
    ),
    Prefix("stamp.bracket", rf"\[(?P<time>{STAMP})\](?:{_BETWEEN}{_LEVEL}|(?! ))", "["),
    Prefix("stamp", rf"(?P<time>{STAMP}){_BETWEEN}{_LEVEL}", _STARTS),
    Prefix("stamp.clock", rf"(?:\[{CLOCK}\] |{CLOCK} (?:- |\| )?){_LEVEL}", "[012"),
    Prefix("stamp.epoch", r"\[(?P<time>1\d{9}(?:\.\d{1,9})?)\] ?|(?P<time2>1\d{9}\.\d{1,9}) ", "[1"),
    Prefix("kernel.clock", r"(?:<\d{1,3}>)?\[ {0,8}\d{1,9}\.\d{3,9}\](?:\[ *[TC]\d+\])? ?", "[<", last=True),
)
