"""For a person: how often each cause, on which hosts, with a job to look at; then what could not be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TextIO

from msgspec import Struct, field

from logdoctor.model.escape import escape
from logdoctor.scan.record import JobRecord

HOSTS_SHOWN = 3
BROKEN_SHOWN = 10


class _Row(Struct):
    count: int = 0
    example: str = ""
    action: str = ""
    hosts: Counter[str] = field(default_factory=Counter)


def write(records: Iterable[JobRecord], out: TextIO) -> None:
    """Write the table of causes as text."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows, broken = _counted(records)
    total = sum(row.count for row in rows.values()) + len(broken)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("jobs", "share", "cause", "action", "culprits", "for example"):
        table.add_column(name, justify="right" if name in ("jobs", "share") else "left", overflow="fold")
    for signature, row in sorted(rows.items(), key=lambda item: (item[0] == "healthy", -item[1].count, item[0])):
        cells = (str(row.count), f"{row.count / total:.0%}", signature, row.action, _hosts(row.hosts), row.example)
        table.add_row(*(Text(escape(cell)) for cell in cells))
    console = Console(file=out, highlight=False, soft_wrap=not out.isatty(), width=None if out.isatty() else 160)
    console.print(table)
    _say_broken(broken, out)


def _counted(records: Iterable[JobRecord]) -> tuple[dict[str, _Row], list[JobRecord]]:
    rows: dict[str, _Row] = {}
    broken = list[JobRecord]()
    for record in records:
        if record.status != "diagnosed":
            broken.append(record)
            continue
        row = rows.setdefault(record.signature, _Row(example=record.job))
        row.count += 1
        row.action = "" if record.verdict == "healthy" else record.action
        row.hosts.update(record.hosts)
    return rows, broken


def _hosts(hosts: Counter[str]) -> str:
    most = sorted(hosts.items(), key=lambda item: (-item[1], item[0]))
    told = ", ".join(f"{host} ×{count}" if count > 1 else host for host, count in most[:HOSTS_SHOWN])
    return told + (f" and {len(most) - HOSTS_SHOWN} more" if len(most) > HOSTS_SHOWN else "")


def _say_broken(broken: list[JobRecord], out: TextIO) -> None:
    if not broken:
        return
    out.write(f"\n{len(broken)} could not be diagnosed\n")
    for record in broken[:BROKEN_SHOWN]:
        why = next((f"{p.what}: {p.why}" for p in record.problems), "")
        out.write(f"  {escape(record.job)}  {record.status}  {escape(why)}\n")
    if len(broken) > BROKEN_SHOWN:
        out.write(f"  and {len(broken) - BROKEN_SHOWN} more (status in --format csv)\n")
