"""``logdoctor exclude``: list the hosts that fail more often than chance explains."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from logdoctor.cli.choices import among, format_names, one_of
from logdoctor.cli.errors import refuse_output, report_errors
from logdoctor.cli.fleet_command import Folders, Since, Until
from logdoctor.cli.named_inputs import refuse_output_file
from logdoctor.cli.time_options import read_time
from logdoctor.cli.words import require

FORMATS = format_names("archive", "exclusions")
Format = Annotated[
    str, typer.Option("--format", "-f", help=f"{one_of(FORMATS, 'hosts')}.", autocompletion=among(FORMATS))
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the list to this file, at once as a whole.", dir_okay=False)
]


def exclude(
    folders: Folders, format: Format = "hosts", output: Output = None, since: Since = None, until: Until = None
) -> None:
    """List the sick hosts of scans: culprits more often than the number of their jobs explains.

    Failures of the user's own code, settings and data never count. The list is printed for a scheduler, and nothing is
    changed: hosts (a line each), slurm (commands that drain them), k8s (a patch for a pod template), json, csv,
    textfile (metrics for node_exporter).

    Exit codes: 0 the list was written, it may be empty, 2 wrong usage, 3 there are no results.
    """
    from logdoctor.archive.bad_hosts import HostCounter
    from logdoctor.archive.exclusions import load_renderer
    from logdoctor.archive.fleet import read_records, records_between

    require(format, FORMATS, "--format")
    refuse_output_file(output)
    times = read_time(since, "--since"), read_time(until, "--until")
    counter = HostCounter()
    with report_errors():
        for record in records_between(read_records(folders), *times):
            counter.add(record)
    text = load_renderer(format)(counter.bad_hosts())
    if output is None:
        typer.echo(text, nl=False)
    else:
        _write_at_once(text, output)


def _write_at_once(text: str, output: Path) -> None:
    """Write the file under another name first, because a collector may read it at any time."""
    partial = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        partial.write_text(text, "utf-8")
        partial.replace(output)
    except OSError as error:
        partial.unlink(missing_ok=True)
        refuse_output(output, error)
