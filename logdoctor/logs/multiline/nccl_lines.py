"""Lines of NCCL and RCCL: logger prefix and values in messages.

The readers return fields with the names that all formats use (``peer``, ``errno``, ``hca``, ``bus_id`` ...). Nothing
here raises.

Sources: NCCL, tags 2.3.5 to 2.30.7 (src/debug.cc, src/misc, src/transport, src/bootstrap.cc, src/proxy.cc) and
aws-ofi-nccl 1.1 to 1.21.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import regex
from msgspec.structs import replace

from logdoctor.codes.table import rows
from logdoctor.logs.error_numbers import errno_texts
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.model.numbers import number_fields, number_or_text
from logdoctor.pack.regexes import compiled, later

_QUOTED_WARNING = later(
    r"\n\s{0,8}Last error:[ \n]\s{0,8}+"
    r"(?P<said>(?!Exception raised from|frame #|nccl\w{0,20}(?:Error|Invalid\w{1,20}): )\S[^\n]+)"
    r"|Last NCCL warning\(error\) log entry \(may be unrelated\) '(?P<said>[^\n]+?)'\.?(?:;|\s|$)"
)
"""NCCL's last warning, as PyTorch and XLA quote it with the error of a call (``ncclGetLastError``)."""

_MAX_CHARS = 2000
"""Characters of a message that are searched. The bound limits the time. NCCL's own buffer holds 1024 bytes."""

_ADDRESS = r"\[?(?P<addr>[^\s<>\[\]]+(?:<\d+>)?)\]?"


@cache
def _patterns() -> tuple[tuple[str, regex.Pattern[str]], ...]:
    """Return words that must stand in a message, and the pattern that is searched in such a message."""
    table = rows(Path(__file__).with_name("nccl_values.tsv"))
    return tuple((row["words"], later(row["pattern"].replace("%{address}", _ADDRESS))) for row in table)


def format_address(address: str) -> str:
    """Return NCCL's address ``10.0.0.1<4791>`` as ``10.0.0.1:4791``.

    An IPv6 address gets brackets. An address without a port stays as it is.
    """
    host, _, port = address.rstrip(">").partition("<")
    if not port:
        return host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def format_bus_id(value: Value) -> str:
    """Return NCCL's bus id in the usual form.

    ``1a000`` (hex without leading zeros, the last digit is the function) gives ``0000:1a:00``, as does the bare bus
    ``0x1a`` of nccl-tests.
    """
    text = str(value)
    if compiled(r"0x[0-9a-f]{1,2}").fullmatch(text):
        return f"0000:{text[2:]:0>2}:00"
    if not compiled(r"[0-9a-fA-F]{1,12}").fullmatch(text):
        return text
    digits = text.lower().rjust(9, "0")
    return f"{digits[:-5]}:{digits[-5:-3]}:{digits[-3:-1]}"


def message_fields(message: str) -> dict[str, Value]:
    """Return the values in an error message.

    Of each field the first match counts. ``group_ranks`` are two ranks of the communicator, not global ranks. ``errno``
    comes from the number printed or from the strerror text.
    """
    texts: dict[str, str] = {}
    message = message[:_MAX_CHARS]
    for words, pattern in _patterns():
        match = pattern.search(message) if words in message else None
        for name, text in match.groupdict().items() if match else ():
            if text:
                texts.setdefault(name, text.strip())
    return _standard_fields(texts, message)


def read_message(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Return the message with the values in it. The message is the field ``text``, else the whole line."""
    text = str(fields.get("text", head.text))
    return Multiline(text, {name: value for name, value in message_fields(text).items() if name not in fields})


def read_call(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read a failed call and the NCCL warning that it quotes."""
    multiline = read_message(head, fields, below)
    return replace(multiline, quoted_line=quoted_warning(multiline.text))


def quoted_warning(text: str) -> str:
    """Return the NCCL warning that a framework's message quotes.

    The result reads as NCCL prints it. It is empty if the message quotes none.
    """
    match = _QUOTED_WARNING.search(text[: 2 * _MAX_CHARS]) if "NCCL" in text else None
    return f"NCCL WARN {match['said'].strip()}" if match else ""


def _standard_fields(texts: dict[str, str], message: str) -> dict[str, Value]:
    """Return the matched values under standard names and in standard forms."""
    ranks = tuple(number_fields({name: texts.pop(name, None) for name in ("first", "second")}).values())
    address = texts.pop("addr", "")
    fields: dict[str, Value] = {name: number_or_text(text) for name, text in texts.items()}
    if ranks:
        fields["group_ranks"] = ranks
    if address:
        fields["peer"] = format_address(address)
    if "bus_id" in texts:
        fields["bus_id"] = format_bus_id(texts["bus_id"])
    if "errno" not in fields:
        numbers = [code for text, code in errno_texts().items() if text in message]
        fields.update({"errno": numbers[0]} if numbers else {})
    return fields
