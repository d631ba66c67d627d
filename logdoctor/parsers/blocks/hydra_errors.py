"""Reads what Hydra prints in place of a traceback where an object that it was to make raised.

``Error in call to target 'NAME':``, below it the ``repr`` of the exception and the key of the configuration.  Source:
`hydra/_internal/instantiate/_instantiate2.py` and `run_and_report` in `hydra/_internal/utils.py` (1.1 to 1.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.model import Value
from logdoctor.parsers.blocks.python_messages import message_fields
from logdoctor.parsers.blocks.python_reading import MAX_MESSAGE_CHARS
from logdoctor.parsers.record import Bare, Block
from logdoctor.regexes import later

CALL = (
    r"^(?:Error in call to target|Error in collecting args and kwargs for|Error in creating partial\()[ ]?'?"
    r"(?P<where>[\w.]{1,200})'?(?:, \.\.\.\) object)?:\s*$"
)
CALL_SCAN = r"Error in (?:call to target|collecting args and kwargs for|creating partial\()"
_RAISED = later(r"^(?P<exception>[A-Za-z_]\w*)\((?P<args>.*?)(?P<end>\)?)$")
_INNER = later(r"Error in [^\n]{1,300}:\n(?P<exception>[A-Za-z_]\w*)\((?P<args>[^\n]*)\)(?:$|\nfull_key: )")
_FIRST = later(r"(?s)(?:(?P<errno>\d{1,4}), )?(?P<quote>['\"])(?P<said>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)")
_ESCAPED, _PLAIN = later(r"(?s)\\(.)"), {"n": "\n", "t": "\t"}
_KEY = later(r"^full_key: \S")
MAX_ARGS = 4000


def read_call(_head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """The exception as its own traceback would end; None where nothing of the kind stands below."""
    line = next(below, None)
    raised = line and _RAISED.match(line.text.strip())
    if line is None or not raised:
        return None
    taken = [line.below]
    if (key := next(below, None)) and _KEY.match(key.text):
        taken.append(key.below)
    exception, message = raised["exception"], _message(raised["args"][:MAX_ARGS])
    if inner := _INNER.match(message):  # an object within the object
        exception, message = inner["exception"], _message(inner["args"])
    text = f"{exception}: {message}".rstrip(": ")[:MAX_MESSAGE_CHARS]
    known = {**message_fields(text), **fields, "exception": exception, "message": message.partition("\n")[0][:1000]}
    return Block(text, {name: value for name, value in known.items() if value}, tuple(taken), line.below)


def _message(args: str) -> str:
    """What ``str`` of the exception would say, from the arguments in its ``repr``; they may be cut off."""
    first = _FIRST.match(args)
    if first is None:
        return args.strip().strip("'\"")
    said = _ESCAPED.sub(lambda escaped: _PLAIN.get(escaped[1], escaped[1]), first["said"])
    return f"[Errno {first['errno']}] {said}" if first["errno"] else said
