"""``logdoctor fleet``: a page about all the jobs that scans found."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from logdoctor.cli.complaints import complaints
from logdoctor.cli.diagnose_command import Lang, language_of
from logdoctor.cli.moments import moment

if TYPE_CHECKING:
    from logdoctor.scan import JobRecord
    from logdoctor.scan.fleet import Period

Folders = Annotated[list[Path], typer.Argument(help="Folders that 'logdoctor scan --out' wrote.", exists=True)]
Output = Annotated[Path, typer.Option("--output", "-o", help="Where the page goes.", dir_okay=False)]
NewSince = Annotated[
    str | None, typer.Option("--new-since", help="Show the causes that first came then or later: 2026-11-01, 7d.")
]
By = Annotated[str | None, typer.Option("--by", help="Failures by day, week or month (default: by how long it was).")]
Since = Annotated[str | None, typer.Option("--since", help="Only jobs that ended then or later: 2026-11-01, 7d, 12h.")]
Until = Annotated[str | None, typer.Option("--until", help="Only jobs that ended before then.")]


def fleet(
    folders: Folders,
    output: Output = Path("fleet.html"),
    by: By = None,
    since: Since = None,
    until: Until = None,
    new_since: NewSince = None,
    lang: Lang = None,
) -> None:
    """Write an HTML page about all jobs of scans: causes over time and their cost, sick hosts, what comes again.

    Exit codes: 0 the page was written, 2 wrong usage, 3 there are no results.
    """
    from logdoctor.scan.fleet import end_time, read_records

    wish = wished(output, new_since, lang, by)
    first, last = moment(since, "--since"), moment(until, "--until")
    with complaints():
        records = read_records(folders)
        wanted = (
            record
            for record in records
            if (first is None or end_time(record) >= first) and (last is None or end_time(record) < last)
        )
        write_report(wanted, wish)


class Wish(Struct, frozen=True):
    """Where a page goes and what it is to show."""

    path: Path
    lang: str
    new_since: float | None
    by: Period | None


def wished(path: Path, new_since: str | None, lang: str | None, by: str | None = None) -> Wish:
    """What the options mean; they are checked before the work begins."""
    if by not in (None, "day", "week", "month"):
        raise typer.BadParameter(f"'{by}' is none of day, week, month", param_hint="--by")
    if not path.absolute().parent.is_dir():
        raise typer.BadParameter(f"'{path}' cannot be written: there is no such folder")
    return Wish(path, language_of(lang), moment(new_since, "--new-since"), by)  # type: ignore[arg-type]  # one of them


def write_report(records: Iterable[JobRecord], wish: Wish) -> None:
    """Write the page about ``records``, and say where."""
    from logdoctor.scan.fleet import count_records
    from logdoctor.scan.fleet_page import write_page

    counted = count_records(records, wish.by, wish.new_since)
    try:
        write_page(counted, wish.path, wish.lang)
    except OSError as error:
        raise typer.BadParameter(f"'{wish.path}' cannot be written: {error.strerror}") from None
    typer.echo(str(wish.path), err=True)
