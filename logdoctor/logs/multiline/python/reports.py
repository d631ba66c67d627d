"""The JSON report of PyTorch's error handler.

An agent prints the report, and workers write it to a file, indented over several lines or on one:
``{"message": {"message": "Type: text", "extraInfo": {"py_callstack": "Traceback ...", "timestamp": "..."}}}``.

Source: `torch/distributed/elastic/multiprocessing/errors/error_handler.py` (1.9 to 2.9).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile

from msgspec.structs import replace

from logdoctor.logs.json_texts import parse_json
from logdoctor.logs.multiline.python.exceptions import read_message
from logdoctor.logs.multiline.python.reading import MAX_MESSAGE_CHARS
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.pack.regexes import later

REPORT = r'^\s*(?:\{"message": \{)?"message": ("(?:[^"\\]|\\.){1,4000}+")(, "extraInfo": \{|,\s*$)'
_REPORT = later(REPORT)
_REPORT_KEY = later(r'\s*"(?:extraInfo|py_callstack|timestamp)": ')


def read_report(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the exception and its further lines. Return None for other JSON."""
    match = _REPORT.match(head.text)
    rest = list(takewhile(lambda line: _REPORT_KEY.match(line.text), below))
    if match is None or not (rest or "extraInfo" in match[2]):
        return None
    try:
        text = str(parse_json(match[1], strict=False)).strip()
    except ValueError:
        return None
    multiline = read_message(Message(text.partition("\n")[0], head.source), {}, iter(()))
    taken = tuple(line.below for line in rest)
    return multiline and replace(multiline, text=text[:MAX_MESSAGE_CHARS], taken=taken)
