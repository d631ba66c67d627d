"""The communicators of a report of NCCL's RAS, and the ranks in them that lack, failed or are behind.

Ranks in a report are those of a communicator, so a process has several. Only a communicator with as many members as
the report has processes tells the rank in the job.

Source: NCCL, src/ras/client_support.cc.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from logdoctor.artefacts.document import Fact
from logdoctor.artefacts.json_pieces import quote
from logdoctor.model import Source, Value

Member = Mapping[str, Any]
_STATES = {"considered_dead": "dead", "unresponsive": "unresponsive"}
_IN_ORDER = (0, 7)
"""ncclSuccess and ncclInProgress."""


def place_of(member: Member) -> dict[str, Value]:
    """Return host, pid and GPU of a process."""
    devices = member.get("cuda_devs")
    gpu = devices[0] if isinstance(devices, list) and devices else member.get("cuda_dev")
    told = {"host": member.get("host"), "pid": member.get("pid"), "gpu": str(gpu) if isinstance(gpu, int) else None}
    return {name: value for name, value in told.items() if isinstance(value, str | int)}


class Report:
    """The communicators of a report, as far as their ranks are not in order, and the ranks of the job."""

    def __init__(self) -> None:
        self._processes: set[tuple[Any, Any]] = set()
        self._ranks: dict[tuple[Any, Any], int] = {}
        """Ranks in the largest communicator."""
        self._size = 0
        self.asked: int | None = None
        """Time at which the ranks were asked, in seconds."""
        self._found: list[tuple[str, int, Member, dict[str, Value], str]] = []
        """Kind, line, member, further fields, path."""
        self._spreads: list[tuple[int, str, Member, dict[str, Value], Sequence[Member]]] = []

    def add(self, where: str, communicator: Member, line: int) -> None:
        present, missing = (_list(communicator, name) for name in ("ranks", "missing_ranks"))
        size = communicator.get("size")
        everybody = [*present, *missing]
        self._processes |= {_key(member) for member in everybody}
        if isinstance(size, int) and size > self._size:
            self._size = size
            self._ranks = {_key(m): m["rank"] for m in everybody if isinstance(m.get("rank"), int)}
        for at, member in enumerate(missing):
            status = member.get("status")
            told = status if isinstance(status, dict) else {}
            state = next((word for name, word in _STATES.items() if told.get(name) is True), "missing")
            self._found.append(("nccl_ras.missing", line, member, {"state": state}, f"{where}.missing_ranks[{at}]"))
        for at, member in enumerate(present):
            status = member.get("status")
            told = status if isinstance(status, dict) else {}
            codes = [c for name in ("init_state", "async_error") if isinstance(c := told.get(name), int)]
            if bad := next((code for code in codes if code not in _IN_ORDER), None):
                self._found.append(("nccl_ras.failed", line, member, {"result": bad}, f"{where}.ranks[{at}].status"))
        self._compare(where, communicator, present, line)

    def _compare(self, where: str, communicator: Member, present: Sequence[Member], line: int) -> None:
        """Note the widest spread of the counts of one collective."""
        counts: dict[str, list[int]] = {}
        for member in present:
            table = member.get("collective_counts")
            for name, count in table.items() if isinstance(table, dict) else ():
                if isinstance(count, int):
                    counts.setdefault(str(name), []).append(count)
        op = max(counts, key=lambda name: max(counts[name]) - min(counts[name]), default="")
        if not op or len(counts[op]) != len(present):
            return
        most, fewest = max(counts[op]), min(counts[op])
        behind = [member for member in present if most > fewest and member["collective_counts"][op] < most]
        fields: dict[str, Value] = {"comm_id": str(communicator.get("hash")), "op": op, "fewest": fewest, "most": most}
        fields |= {"size": len(present), "calls": sum(map(sum, counts.values()))}
        self._spreads.append((line, where, communicator, fields, behind))

    def facts(self) -> Iterator[Fact]:
        is_job = self._size >= len(self._processes)
        for line, where, communicator, fields, behind in self._spreads:
            told = fields | ({"asked_s": self.asked} if self.asked is not None else {})
            if behind:
                ranks = [rank for member in behind if (rank := self._ranks.get(_key(member))) is not None]
                told["odd"] = tuple(ranks) if is_job and len(ranks) == len(behind) else ()
                told["odd_hosts"] = tuple(dict.fromkeys(str(member.get("host")) for member in behind))
                told["odd_pids"] = tuple(pid for member in behind if isinstance(pid := member.get("pid"), int))
            known = {name: value for name, value in told.items() if value != ()}
            text = quote(communicator, "hash", "size") + f', "{fields["op"]}": {fields["fewest"]} to {fields["most"]}'
            yield Fact("nccl_ras.communicator", text, known, line, where)
        for kind, line, member, more, where in self._found:
            rank = self._ranks.get(_key(member)) if is_job else None
            fields = {**more, **place_of(member), **({"rank": rank} if rank is not None else {})}
            text, source = quote(member, "rank", "host", "pid", "status"), Source()
            yield Fact(kind, text, fields, line, where, "error", source)


def _list(table: Member, name: str) -> list[Member]:
    value = table.get(name)
    return [member for member in value if isinstance(member, dict)] if isinstance(value, list) else []


def _key(member: Member) -> tuple[Any, Any]:
    return str(member.get("host")), str(member.get("pid"))
