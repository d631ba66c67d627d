"""The last words of mpiexec of Microsoft MPI: which ranks ended how, and its own analysis of that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.model import Value
from logdoctor.parsers.record import Bare, Block
from logdoctor.parsers.windows_codes import exit_code_elsewhere
from logdoctor.regexes import later

MAX_LINES = 60
_ANALYSIS = "---- error analysis"
_ENDED = later(
    r"\[(?P<rank>\d{1,7})(?:-\d{1,7})?\] (?P<how>process exited without calling \w{4,8}|fatal error|"
    r"application aborted|job terminated by the user|-?\d{1,10}|0x[0-9a-f]{1,8})$"
)
_PLACE = later(r"\[(?P<rank>\d{1,7})[\d,-]{0,40}\] on (?P<host>[\w.-]{1,255})$")
_CODE = later(r".{1,255}(?:exit|abort) code (?P<code>-?\d{1,10}|0x[0-9a-f]{1,8})$")
_KINDS = {"application aborted": "mpich.abort", "job terminated by the user": "mpich.interrupt"}


def ended_with(code: str) -> dict[str, Value]:
    """An exit code as Microsoft MPI prints it: ``signal`` where Windows means a crash, else ``exit_code``."""
    number = int(code, 0)
    elsewhere = exit_code_elsewhere(number)
    return {"exit_code": number} if elsewhere == number else {"signal": -elsewhere}


def read_ms_end(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """One line of the analysis that stands alone: ``signal`` or ``exit_code``."""
    del below
    return Block(head.text, ended_with(str(fields["ended"])))


def read_job_aborted(_head: Bare, _fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """``[ranks] message`` and what follows: rank, host, signal or exit_code of the first rank that ended by itself.

    Who that is the analysis says, which comes last.  The error stack of MPI under ``fatal error`` is left to its own
    record.
    """
    said, taken = ["job aborted"], list[int]()
    found: dict[str, Value] = {}
    proof, analysed, how = 0, 0, ""
    for line in islice(below, MAX_LINES):
        text = line.text.strip()
        analysed += text.startswith(_ANALYSIS)
        ended, place, code = _ENDED.match(text), _PLACE.match(text), _CODE.match(text)
        if not (ended or place or code or text.startswith(_ANALYSIS)):
            continue
        taken.append(line.below)
        if analysed > 1:
            break
        said.append(text)
        if ended and not found:
            found, how, proof = {"rank": int(ended["rank"])}, ended["how"], line.below
        elif place and "host" not in found:
            found, proof = {"rank": int(place["rank"]), "host": place["host"]}, line.below
        elif code and not found.keys() & {"signal", "exit_code"}:
            found, proof = {**found, **ended_with(code["code"])}, line.below
    return Block("\n".join(said), found, tuple(taken), proof, kind=_KINDS.get(how, "")) if found else None
