"""``logdoctor fleet``: write a page about all jobs of scans."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from logdoctor.cli.choices import among, one_of
from logdoctor.cli.diagnose_command import Lang
from logdoctor.cli.errors import refuse_output, report_errors
from logdoctor.cli.named_inputs import refuse_output_file
from logdoctor.cli.output import language_of
from logdoctor.cli.time_options import read_time
from logdoctor.cli.words import require

if TYPE_CHECKING:
    from logdoctor.archive import JobRecord
    from logdoctor.archive.fleet import Period

Folders = Annotated[list[Path], typer.Argument(help="Folders that 'logdoctor scan --out' wrote.", exists=True)]
Output = Annotated[Path, typer.Option("--output", "-o", help="Where the page goes.", dir_okay=False)]
NewSince = Annotated[
    str | None, typer.Option("--new-since", help="Show the causes that first came then or later: 2026-11-01, 7d.")
]
PERIODS = ("day", "week", "month")
By = Annotated[
    str | None,
    typer.Option(
        "--by", help=f"Failures by {one_of(PERIODS)} (default: by how long it was).", autocompletion=among(PERIODS)
    ),
]
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
    from logdoctor.archive.fleet import read_records, records_between

    request = page_request(output, new_since, lang, by)
    times = read_time(since, "--since"), read_time(until, "--until")
    with report_errors():
        write_report(records_between(read_records(folders), *times), request)


class PageRequest(NamedTuple):
    """The file of a page, its language and its period."""

    path: Path
    lang: str
    new_since: float | None
    by: Period | None


def page_request(path: Path, new_since: str | None, lang: str | None, by: str | None = None) -> PageRequest:
    """Check the options before the work begins."""
    if by is not None:
        require(by, PERIODS, "--by")
    refuse_output_file(path)
    return PageRequest(path, language_of(lang), read_time(new_since, "--new-since"), by)  # type: ignore[arg-type]


def write_report(records: Iterable[JobRecord], request: PageRequest) -> None:
    """Write the page about ``records`` and print its path."""
    from logdoctor.archive.fleet import count_records
    from logdoctor.archive.fleet_page import write_page

    fleet = count_records(records, request.by, request.new_since)
    try:
        write_page(fleet, request.path, request.lang)
    except OSError as error:
        refuse_output(request.path, error)
    typer.echo(str(request.path), err=True)
