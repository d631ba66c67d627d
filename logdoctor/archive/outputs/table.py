"""Text table of causes, then of jobs without a diagnosis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TextIO

from msgspec import Struct, field

from logdoctor.archive.bad_hosts import BadHost, HostCounter, blamed_hosts
from logdoctor.archive.decision_counts import tell_decisions
from logdoctor.archive.record import JobRecord
from logdoctor.model import CALM
from logdoctor.model.escape import escape

MAX_HOSTS = 3
MAX_FAILED_JOBS = 10
COLUMNS = ("jobs", "share", "cause", "decision", "culprits", "seen on", "for example")
LEAST_NEEDED = ("seen on", "for example", "culprits", "share")


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

    rows, failed, sick = _count(records)
    total = sum(row.count for row in rows.values()) + len(failed)
    cells = [
        (
            str(row.count),
            f"{row.count / total:.0%}",
            signature,
            tell_decisions(row.decisions),
            _format_hosts(row.hosts),
            _format_hosts(row.places),
            row.example,
        )
        for signature, row in sorted(rows.items(), key=lambda item: (item[0] in CALM, -item[1].count, item[0]))
    ]
    console = Console(file=out, highlight=False, soft_wrap=not out.isatty(), width=None if out.isatty() else 160)
    names = _fitting([[escape(cell) for cell in row] for row in cells], console.width)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        table.add_column(name, justify="right" if name in ("jobs", "share") else "left", overflow="fold")
    for row in cells:
        table.add_row(*(Text(escape(row[COLUMNS.index(name)])) for name in names))
    console.print(table)
    _write_totals(rows, total, sick, out)
    _write_failed_jobs(failed, out)


def _fitting(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return the columns that a terminal has room for without breaking words. The least needed are left out first."""
    widths = {name: max([len(name), *(len(row[n]) for row in rows)]) for n, name in enumerate(COLUMNS)}
    names = [*COLUMNS]
    for name in LEAST_NEEDED:
        if sum(widths[name] + 2 for name in names) > width + 2:
            names.remove(name)
    return names


def _count(records: Iterable[JobRecord]) -> tuple[dict[str, _Row], list[JobRecord], list[BadHost]]:
    """Return the rows by cause, the jobs without a diagnosis, and the sick hosts."""
    rows: dict[str, _Row] = {}
    failed, hosts = list[JobRecord](), HostCounter()
    for record in records:
        if record.status != "diagnosed":
            failed.append(record)
            continue
        hosts.add(record)
        row = rows.setdefault(record.signature, _Row(example=record.job))
        row.count += 1
        row.decisions[record.decision] += record.verdict not in CALM
        row.hosts.update(blamed_hosts(record))
        row.places.update(record.place_hosts)
    return rows, failed, hosts.bad_hosts()


def _write_totals(rows: Mapping[str, _Row], total: int, sick: Sequence[BadHost], out: TextIO) -> None:
    """Write how many jobs there are of which verdict, and the hosts that fail too often."""
    calm: dict[str, int] = {name: rows[name].count for name in CALM if name in rows}
    unexplained = rows["unknown"].count if "unknown" in rows else 0
    explained = sum(row.count for row in rows.values()) - sum(calm.values()) - unexplained
    counts: dict[str, int] = {"with a cause": explained, "unknown": unexplained, **calm}
    told = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    out.write(f"\n{total:,} job{'s' * (total != 1)}{': ' if told else ''}{told}\n")
    if sick:
        named = ", ".join(f"{escape(host.name)} ({host.failures} of {host.jobs} jobs)" for host in sick[:MAX_HOSTS])
        more = f" and {len(sick) - MAX_HOSTS} more" if len(sick) > MAX_HOSTS else ""
        out.write(f"sick hosts: {named}{more}; list them: logdoctor exclude RESULTS\n")


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
