r"""The report of PyTorch's error handler: JSON that an agent prints before it ends, and that workers write to a file.

``{"message": {"message": "Type: text", "extraInfo": {"py_callstack": "Traceback ...", "timestamp": "..."}}}``, indented
over several lines or on one.  Source: `torch/distributed/elastic/multiprocessing/errors/error_handler.py` (1.9 to 2.9).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile

from msgspec.structs import replace

from logdoctor.model import Value
from logdoctor.parsers.blocks.python_exceptions import read_message
from logdoctor.parsers.blocks.python_reading import MAX_MESSAGE_CHARS
from logdoctor.parsers.json_texts import from_json
from logdoctor.parsers.record import Bare, Block
from logdoctor.regexes import later

REPORT_SCAN = r'"message": "[A-Za-z_][\w.]{0,120}(?:Error|Exception|Interrupt|Failure|Timeout)(?:"|:)'
REPORT = r'^\s*(?:\{"message": \{)?"message": ("(?:[^"\\]|\\.){1,4000}+")(, "extraInfo": \{|,\s*$)'
_REPORT = later(REPORT)
_BELOW = later(r'\s*"(?:extraInfo|py_callstack|timestamp)": ')


def read_report(head: Bare, _fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """The exception that the report names, with its further lines; None for the JSON of somebody else."""
    found = _REPORT.match(head.text)
    rest = list(takewhile(lambda bare: _BELOW.match(bare.text), below))
    if found is None or not (rest or "extraInfo" in found[2]):
        return None
    try:
        text = str(from_json(found[1], strict=False)).strip()
    except ValueError:
        return None
    block = read_message(Bare(text.partition("\n")[0], head.speaker), {}, iter(()))
    taken = tuple(bare.below for bare in rest)
    return block and replace(block, text=text[:MAX_MESSAGE_CHARS], taken=taken)
