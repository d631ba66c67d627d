"""A program's own roll call: which rank of how many, on which host, as which process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.model.numbers import number
from logdoctor.pack.regexes import later

_HOST = later(
    r"(?:\b(?:[Hh]ost(?:[ _]?name)?|HOST|[Nn]ode(?:[ _]?name)?|[Pp]rocessor|[Mm]achine|[Ss]erver)\b[ :=]{1,3}"
    r"|\b(?:on|from|at) |@ ?)"
    r"[\"'(]?(?P<host>(?!(?:host|node|processor|machine|rank|process|proc|task|port|gpu|device|cuda|cpu|the|a|with|line)(?![\w.-]))"
    r"(?=[\w.-]*[A-Za-z])[A-Za-z0-9][\w.-]{1,100})(?<![.,-])"
)
_PID = later(r"\b(?:pid|PID|[Pp]rocess[ _]?id)\b[ :=#(]{0,3}(?P<pid>\d{1,10})\b")


def read_roll_call(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline | None:
    """Read host and pid, and the rank if it can be one.

    Some programs count from 1, and a rank of one is what all print that do not know of each other.
    """
    host, pid = _HOST.search(head.text), _PID.search(head.text)
    rank, size = fields.get("value"), fields.get("total")
    if not isinstance(rank, int) or not isinstance(size, int) or not 0 <= rank <= size:
        return None
    told: dict[str, Value] = {}
    if size > 1 and rank < size:
        told = {"rank": rank, "nranks": size}
    if host:
        told["host"] = host["host"]
    if pid and (process := number(pid["pid"])) is not None:
        told["pid"] = process
    return Multiline(head.text, told) if host or pid or "ello" in head.text or "reetings" in head.text else None
