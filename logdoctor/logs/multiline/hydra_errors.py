"""Errors that Hydra prints in place of a traceback.

A configured object raised. Hydra prints ``Error in call to target 'NAME':``, the ``repr`` of the exception, and the
key.

Sources: `hydra/_internal/instantiate/_instantiate2.py` and `run_and_report` in `hydra/_internal/utils.py` (1.1 to 1.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.multiline.python.messages import message_fields
from logdoctor.logs.multiline.python.reading import MAX_MESSAGE_CHARS
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_EXCEPTION = later(r"^(?P<exception>[A-Za-z_]\w*)\((?P<args>.*?)(?P<end>\)?)$")
_NESTED = later(r"Error in [^\n]{1,300}:\n(?P<exception>[A-Za-z_]\w*)\((?P<args>[^\n]*)\)(?:$|\nfull_key: )")
_ARGUMENT = later(r"(?s)(?:(?P<errno>\d{1,4}), )?(?P<quote>['\"])(?P<said>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)")
_ESCAPED, _PLAIN = later(r"(?s)\\(.)"), {"n": "\n", "t": "\t"}
_KEY = later(r"^full_key: \S")
MAX_ARGS = 4000


def read_call(_head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the exception as its own traceback would end.

    Input: ``Error in call to target 'm.Net':`` and below ``ValueError('no data')``. The text is ``ValueError: no
    data``. Return None if no exception stands below.
    """
    line = next(below, None)
    exception_match = line and _EXCEPTION.match(line.text.strip())
    if line is None or not exception_match:
        return None
    taken = [line.below]
    if (key_line := next(below, None)) and _KEY.match(key_line.text):
        taken.append(key_line.below)
    exception, message = exception_match["exception"], _message(exception_match["args"][:MAX_ARGS])
    if nested := _NESTED.match(message):  # a configured object inside the configured object
        exception, message = nested["exception"], _message(nested["args"])
    text = f"{exception}: {message}".rstrip(": ")[:MAX_MESSAGE_CHARS]
    values = {**message_fields(text), **fields, "exception": exception, "message": message.partition("\n")[0][:1000]}
    return Multiline(text, {name: value for name, value in values.items() if value}, tuple(taken), line.below)


def _message(args: str) -> str:
    """Return the exception's message from its ``repr``. The arguments in the ``repr`` may be cut off."""
    argument = _ARGUMENT.match(args)
    if argument is None:
        return args.strip().strip("'\"")
    text = _ESCAPED.sub(lambda escaped: _PLAIN.get(escaped[1], escaped[1]), argument["said"])
    return f"[Errno {argument['errno']}] {text}" if argument["errno"] else text
