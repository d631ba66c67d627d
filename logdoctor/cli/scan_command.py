"""``logdoctor scan``: the jobs of an archive in, a table of causes out."""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from logdoctor.cli.complaints import complain_of, complaints
from logdoctor.cli.diagnose_command import Lang
from logdoctor.cli.fleet_command import NewSince, wished, write_report
from logdoctor.cli.moments import moment
from logdoctor.cli.progress_bar import gathered
from logdoctor.cli.rule_options import Rules, own_folders

if TYPE_CHECKING:
    from logdoctor.knowledge import Knowledge
    from logdoctor.scan import Scan

Places = Annotated[
    list[str],
    typer.Argument(help="Folders, files, packed archives or URLs (s3://, gs://, az://, sftp:// ...) of MANY jobs."),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", help="Keep the results in this folder; a scan into it goes on where the last one stood."
    ),
]
Format = Annotated[str, typer.Option("--format", "-f", help="table, csv or jsonl; parquet writes into --out only.")]
Workers = Annotated[int | None, typer.Option("--workers", "-w", min=1, help="Processes (default: one a core).")]
Shard = Annotated[
    str, typer.Option("--shard", help="I/N: only every N-th task, for job arrays; merge with a last run without.")
]
Pattern = Annotated[
    str | None,
    typer.Option(
        "--job-pattern", help="Regular expression on file names; its group 'job' says which job a file is of."
    ),
]
Since = Annotated[
    str | None, typer.Option("--since", help="Jobs whose files changed then or later: 2026-11-01, 7d, 12h.")
]
Until = Annotated[str | None, typer.Option("--until", help="Jobs whose files last changed before then.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print which files would be one job, and read nothing.")]
Limit = Annotated[float, typer.Option("--job-limit", min=0.1, help="Seconds that one job may take.")]
Retry = Annotated[
    bool, typer.Option("--retry", help="Diagnose the jobs again that could not be read or took too long.")
]
FailOn = Annotated[
    str | None,
    typer.Option(
        "--fail-on", help="Exit with 1 where one of these is a job's first cause: signatures or families, by commas."
    ),
]
Scheduler = Annotated[str | None, typer.Option("--scheduler", help="Address of a Dask scheduler: tcp://HOST:8786.")]
Slurm = Annotated[bool, typer.Option("--slurm", help="Start --workers Slurm jobs that do the work.")]
Kubernetes = Annotated[bool, typer.Option("--kubernetes", help="Start --workers pods that do the work.")]
ClusterOption = Annotated[
    list[str] | None,
    typer.Option("--cluster-option", help="KEY=VALUE for dask-jobqueue or dask-kubernetes; may be repeated."),
]
Report = Annotated[
    Path | None, typer.Option("--report", help="Write the fleet report there, an HTML page.", dir_okay=False)
]


def scan(
    places: Places,
    out: Out = None,
    format: Format = "table",
    workers: Workers = None,
    shard: Shard = "1/1",
    job_pattern: Pattern = None,
    since: Since = None,
    until: Until = None,
    dry_run: DryRun = False,
    job_limit: Limit = 600.0,
    retry: Retry = False,
    fail_on: FailOn = None,
    scheduler: Scheduler = None,
    slurm: Slurm = False,
    kubernetes: Kubernetes = False,
    cluster_option: ClusterOption = None,
    report: Report = None,
    new_since: NewSince = None,
    lang: Lang = None,
    rules: Rules = None,
) -> None:
    """Diagnose every job of an archive and say which causes there are, how often, and on which hosts.

    Which files are one job is told by their names: a folder a job, slurm-JOBID.out pairs, torchrun's log folders, a
    file a job, an archive a job; --dry-run shows it, --job-pattern overrides it.

    Exit codes: 0 the scan came to its end, 1 a cause of --fail-on was found, 2 wrong usage, 3 nothing could be read,
    130 or 143 it was stopped (Ctrl-C, SIGTERM): the same command goes on.
    """
    from logdoctor.knowledge import rule_folders
    from logdoctor.scan import Filters, Plan, Scan
    from logdoctor.scan.outputs import list_formats

    if format not in (*list_formats(), "parquet"):
        raise typer.BadParameter(
            f"'{format}' is none of {', '.join((*list_formats(), 'parquet'))}", param_hint="--format"
        )
    if format == "parquet" and out is None:
        raise typer.BadParameter("name the folder for the tables with --out", param_hint="--format")
    wish = wished(report, new_since, lang) if report is not None else None
    filters = Filters(_expression(job_pattern), moment(since, "--since"), moment(until, "--until"))
    own = own_folders(rules)
    with complaints(), _folder(out) as folder:
        plan = Plan(
            folder,
            workers or os.cpu_count() or 1,
            job_limit,
            tuple(own),
            scheduler or "",
            _cluster(slurm=slurm, kubernetes=kubernetes, scheduler=scheduler),
            _options(cluster_option or ()),
            _shard(shard),
            retry,
        )
        made = Scan(places, plan, filters)
        _tell_problems(made)
        if dry_run:
            _say_jobs(made)
            return
        known = gathered(rule_folders(own))  # the workers find it compiled
        wanted = _wanted(fail_on, known)
        with _stopping(), _progress(made) as advance:
            for count in made.run():
                advance(count)
        _write(made, format, folder)
        found = wanted and any({r.signature, r.signature.partition(".")[0]} & wanted for r in made.records())
        if wish is not None:
            write_report(made.records(), wish)
    if found:
        raise typer.Exit(1)


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    """The folder of the scan: the user's, or one for the time of the scan."""
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="logdoctor-scan-") as folder:
        yield Path(folder)


def _expression(pattern: str | None) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern) if pattern is not None else None
    except re.error as error:
        raise typer.BadParameter(f"no regular expression: {error}", param_hint="--job-pattern") from None


def _cluster(*, slurm: bool, kubernetes: bool, scheduler: str | None) -> str:
    """Who starts workers; at most one of the options may be given."""
    if slurm + kubernetes + bool(scheduler) > 1:
        raise typer.BadParameter("only one of these", param_hint="--slurm, --kubernetes, --scheduler")
    return "slurm" if slurm else "kubernetes" if kubernetes else ""


def _options(pairs: Sequence[str]) -> tuple[tuple[str, Any], ...]:
    from logdoctor.scan.clusters import parse_options

    try:
        return tuple(parse_options(pairs).items())
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--cluster-option") from None


def _shard(text: str) -> tuple[int, int]:
    hit = re.fullmatch(r"(\d+)/(\d+)", text)
    if not hit or not 1 <= int(hit[1]) <= int(hit[2]):
        raise typer.BadParameter(f"'{text}' is not like 3/8", param_hint="--shard")
    return int(hit[1]), int(hit[2])


def _tell_problems(made: Scan) -> None:
    from logdoctor.model import InputError

    complain_of(made.problems)
    if made.jobs:
        return
    if made.problems:
        raise typer.Exit(3)
    why = "there is no log, or none that --job-pattern, --since and --until want"
    raise InputError("no job found", made.places[0], why, "check the path and the options")


def _say_jobs(made: Scan) -> None:
    from logdoctor.contract import visible

    for job in made.jobs:
        done = "" if job in made.todo else "  done"
        files = len(job.members or job.paths)
        typer.echo(f"{visible(job.name)}  {files} file{'s' * (files != 1)}  by {job.grouped_by}{done}")
    typer.echo(f"{len(made.jobs)} job{'s' * (len(made.jobs) != 1)}, {len(made.todo)} to do")


@contextmanager
def _stopping() -> Iterator[None]:
    """Let a SIGTERM end the scan as Ctrl-C does: workers are stopped, what is done is kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _progress(made: Scan) -> Iterator[Any]:
    """How far the scan is: a bar on a terminal, else a line now and then."""
    total = len(made.todo)
    if not sys.stderr.isatty():
        yield _Lines(total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("scanning"), BarColumn(), MofNCompleteColumn(), TextColumn("jobs"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda count: bar.advance(task, count)


class _Lines:
    """Progress for a file: a line every ten seconds."""

    EVERY = 10.0

    def __init__(self, total: int) -> None:
        self._total, self._done, self._start = total, 0, time.monotonic()
        self._next = self._start + self.EVERY

    def __call__(self, count: int) -> None:
        self._done += count
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self.EVERY
            rate = self._done / (now - self._start)
            typer.echo(f"logdoctor: {self._done} of {self._total} jobs, {rate:.0f} a second", err=True)


def _write(made: Scan, format: str, folder: Path) -> None:
    """Print the results."""
    from logdoctor.scan.outputs import load_writer
    from logdoctor.scan.tables import write_parquet

    if format == "parquet":
        for path in write_parquet(made.records(), folder):
            typer.echo(path)
    else:
        load_writer(format)(made.records(), sys.stdout)


def _wanted(fail_on: str | None, known: Knowledge) -> set[str]:
    """The names in ``--fail-on``; one that no job can ever have is told: it would let everything pass."""
    wanted = {name.strip() for name in (fail_on or "").split(",") if name.strip()}
    signatures = {rule.signature for rule in known.rules} | {"unknown", "healthy"}
    strange = wanted - signatures - {name.partition(".")[0] for name in signatures}
    if strange:
        why = f"no rule has the signature or family {', '.join(sorted(strange))}; see: logdoctor rules list"
        raise typer.BadParameter(why, param_hint="--fail-on")
    return wanted
