"""The final report of Microsoft MPI's mpiexec.

It tells how each rank ended, and analyses the error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.logs.windows_codes import posix_exit_code
from logdoctor.model import Value
from logdoctor.model.numbers import code_number, number_fields
from logdoctor.pack.regexes import later

MAX_LINES = 60
_ANALYSIS = "---- error analysis"
_END = later(
    r"\[(?P<rank>\d{1,7})(?:-\d{1,7})?\] (?P<how>process exited without calling \w{4,8}|fatal error|"
    r"application aborted|job terminated by the user|-?\d{1,10}|0x[0-9a-f]{1,8})$"
)
_PLACE = later(r"\[(?P<rank>\d{1,7})[\d,-]{0,40}\] on (?P<host>[\w.-]{1,255})$")
_CODE = later(r".{1,255}(?:exit|abort) code (?P<code>-?\d{1,10}|0x[0-9a-f]{1,8})$")
_KINDS = {"application aborted": "mpich.abort", "job terminated by the user": "mpich.interrupt"}


def exit_fields(code: str) -> dict[str, Value]:
    """Return an exit code as Microsoft MPI prints it, as a field.

    ``0xc0000005`` is a crash in Windows and gives ``signal: 11``. ``3`` gives ``exit_code: 3``.
    """
    number = code_number(code)
    if number is None:
        return {}
    code_elsewhere = posix_exit_code(number)
    return {"exit_code": number} if code_elsewhere == number else {"signal": -code_elsewhere}


def read_process_end(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Read the exit code or signal. On Windows a signal is coded in the exit code."""
    return Multiline(head.text, exit_fields(str(fields.get("ended", fields.get("code")))))


def read_job_aborted(_head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read ``[ranks] message`` and the lines below: rank, host, signal or exit_code.

    They are those of the first rank that ended by itself, which the analysis at the end names. The error stack of MPI
    under ``fatal error`` is left to its own record.
    """
    texts, taken = ["job aborted"], list[int]()
    values: dict[str, Value] = {}
    evidence, analyses, how = 0, 0, ""
    for line in islice(below, MAX_LINES):
        text = line.text.strip()
        analyses += text.startswith(_ANALYSIS)
        end, place, code = _END.match(text), _PLACE.match(text), _CODE.match(text)
        if not (end or place or code or text.startswith(_ANALYSIS)):
            continue
        taken.append(line.below)
        if analyses > 1:
            break
        texts.append(text)
        if end and not values:
            values, how, evidence = {**number_fields({"rank": end["rank"]})}, end["how"], line.below
        elif place and "host" not in values:
            values, evidence = {**number_fields({"rank": place["rank"]}), "host": place["host"]}, line.below
        elif code and not values.keys() & {"signal", "exit_code"}:
            values, evidence = {**values, **exit_fields(code["code"])}, line.below
    return Multiline("\n".join(texts), values, tuple(taken), evidence, kind=_KINDS.get(how, "")) if values else None
