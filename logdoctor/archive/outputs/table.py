"""Text table of causes, then of jobs without a diagnosis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TextIO

from msgspec import Struct, field

from logdoctor.archive.bad_hosts import blamed_hosts
from logdoctor.archive.decision_counts import tell_decisions
from logdoctor.archive.record import JobRecord
from logdoctor.model import CALM
from logdoctor.model.escape import escape

MAX_HOSTS = 3
MAX_FAILED_JOBS = 10


class _Row(Struct):
    count: int = 0
    example: str = ""
    decisions: Counter[str] = field(default_factory=Counter)
    hosts: Counter[str] = field(default_factory=Counter)
    places: Counter[str] = field(default_factory=Counter)


def write(records: Iterable[JobRecord], out: TextIO) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows, failed = _count(records)
    total = sum(row.count for row in rows.values()) + len(failed)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("jobs", "share", "cause", "decision", "culprits", "seen on", "for example"):
        table.add_column(name, justify="right" if name in ("jobs", "share") else "left", overflow="fold")
    for signature, row in sorted(rows.items(), key=lambda item: (item[0] in CALM, -item[1].count, item[0])):
        cells = (
            str(row.count),
            f"{row.count / total:.0%}",
            signature,
            tell_decisions(row.decisions),
            _format_hosts(row.hosts),
            _format_hosts(row.places),
            row.example,
        )
        table.add_row(*(Text(escape(cell)) for cell in cells))
    console = Console(file=out, highlight=False, soft_wrap=not out.isatty(), width=None if out.isatty() else 160)
    console.print(table)
    _write_failed_jobs(failed, out)


def _count(records: Iterable[JobRecord]) -> tuple[dict[str, _Row], list[JobRecord]]:
    rows: dict[str, _Row] = {}
    failed = list[JobRecord]()
    for record in records:
        if record.status != "diagnosed":
            failed.append(record)
            continue
        row = rows.setdefault(record.signature, _Row(example=record.job))
        row.count += 1
        row.decisions[record.decision] += record.verdict not in CALM
        row.hosts.update(blamed_hosts(record))
        row.places.update(record.place_hosts)
    return rows, failed


def _format_hosts(hosts: Counter[str]) -> str:
    ordered = sorted(hosts.items(), key=lambda item: (-item[1], item[0]))
    text = ", ".join(f"{host} ×{count}" if count > 1 else host for host, count in ordered[:MAX_HOSTS])
    return text + (f" and {len(ordered) - MAX_HOSTS} more" if len(ordered) > MAX_HOSTS else "")


def _write_failed_jobs(failed: list[JobRecord], out: TextIO) -> None:
    if not failed:
        return
    out.write(f"\n{len(failed)} could not be diagnosed\n")
    for record in failed[:MAX_FAILED_JOBS]:
        why = next((f"{p.what}: {p.why}" for p in record.problems), "")
        out.write(f"  {escape(record.job)}  {record.status}  {escape(why)}\n")
    if len(failed) > MAX_FAILED_JOBS:
        out.write(f"  and {len(failed) - MAX_FAILED_JOBS} more (status in --format csv)\n")
