"""``logdoctor scan``: diagnose all jobs of an archive, print a table of causes."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from logdoctor.cli.alert_options import LIMIT, Notify, NotifyLimit, NotifyNames, QuietHoursOption, open_alerts
from logdoctor.cli.choices import among, complete_cause, format_names, one_of
from logdoctor.cli.diagnose_command import Lang, Rules
from logdoctor.cli.errors import print_problems, report_errors
from logdoctor.cli.fleet_command import NewSince, page_request, write_report
from logdoctor.cli.output import language_of
from logdoctor.cli.progress_bar import load_with_progress
from logdoctor.cli.time_options import read_time
from logdoctor.cli.words import propose, require

if TYPE_CHECKING:
    from logdoctor.alerts import Alerts
    from logdoctor.archive import Scan
    from logdoctor.pipeline.knowledge import Knowledge

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
FORMATS = format_names("archive", "outputs")
Format = Annotated[
    str,
    typer.Option(
        "--format",
        "-f",
        help=f"{one_of(FORMATS)}; parquet writes into --out only.",
        autocompletion=among([*FORMATS, "parquet"]),
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="A line a job: its name and the columns of 'logdoctor -q'.")]
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
        "--fail-on",
        help="Exit with 1 where one of these is a job's first cause: signatures or families, by commas.",
        autocompletion=complete_cause,
    ),
]
Scheduler = Annotated[str | None, typer.Option("--scheduler", help="Address of a Dask scheduler: tcp://HOST:8786.")]
Slurm = Annotated[bool, typer.Option("--slurm", help="Start --workers Slurm jobs that do the work.")]
Kubernetes = Annotated[bool, typer.Option("--kubernetes", help="Start --workers pods that do the work.")]
ClusterOption = Annotated[
    list[str] | None,
    typer.Option("--cluster-option", help="KEY=VALUE for dask-jobqueue or dask-kubernetes; may be repeated."),
]
FollowLinks = Annotated[
    bool, typer.Option("--follow-links", help="Also read what links name outside of the scanned folder.")
]
Report = Annotated[
    Path | None, typer.Option("--report", help="Write the fleet report there, an HTML page.", dir_okay=False)
]


def scan(
    places: Places,
    out: Out = None,
    format: Format = "table",
    quiet: Quiet = False,
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
    follow_links: FollowLinks = False,
    report: Report = None,
    new_since: NewSince = None,
    notify: Notify = None,
    quiet_hours: QuietHoursOption = None,
    notify_limit: NotifyLimit = LIMIT,
    notify_names: NotifyNames = False,
    lang: Lang = None,
    rules: Rules = None,
) -> None:
    """Diagnose every job of an archive and say which causes there are, how often, and on which hosts.

    Which files are one job is told by their names: a folder a job, slurm-JOBID.out pairs, torchrun's log folders, a
    file a job, an archive a job; --dry-run shows it, --job-pattern overrides it.

    Exit codes: 0 the scan came to its end, 1 a cause of --fail-on was found, 2 wrong usage, 3 nothing could be read,
    70 an error of logdoctor itself, 130 or 143 it was stopped (Ctrl-C, SIGTERM): the same command goes on.
    """
    from logdoctor.archive import Filters, Plan, Scan
    from logdoctor.archive.outputs import list_formats
    from logdoctor.pipeline.knowledge import rule_folders

    require(format, (*list_formats(), "parquet"), "--format")
    format = "lines" if quiet else format  # noqa: A001
    if format == "parquet" and out is None:
        raise typer.BadParameter("name the folder for the tables with --out", param_hint="--format")
    request = page_request(report, new_since, lang) if report is not None else None
    alerts = open_alerts(notify, quiet_hours, notify_limit, language_of(lang), names=notify_names)
    times = read_time(since, "--since"), read_time(until, "--until")
    filters = Filters(_expression(job_pattern), *times, follow_links)
    own = rules or []
    with report_errors(), _folder(out) as folder:
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
        scan_run = Scan(places, plan, filters)
        print_problems(scan_run.problems if scan_run.jobs else scan_run.problems[1:])
        scan_run.require_jobs()
        if dry_run:
            _print_jobs(scan_run)
            return
        knowledge = load_with_progress(rule_folders(own))  # compiles the rules for the workers
        fatal = _causes_to_fail_on(fail_on, knowledge)
        with _stop_on_sigterm(), _say_how_to_go_on(scan_run, out), _progress(scan_run) as advance:
            for count in scan_run.run():
                advance(count)
        _write(scan_run, format, folder)
        failed = fatal and any({r.signature, r.signature.partition(".")[0]} & fatal for r in scan_run.records())
        if request is not None:
            write_report(scan_run.records(), request)
        if alerts is not None:
            _notify(alerts, scan_run, str(report or ""))
    if failed:
        raise typer.Exit(1)


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    """Return the folder of ``--out``, or a temporary one."""
    from tempfile import TemporaryDirectory

    if out is not None:
        yield out
        return
    with TemporaryDirectory(prefix="logdoctor-scan-") as folder:
        yield Path(folder)


def _expression(pattern: str | None) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern) if pattern is not None else None
    except re.error as error:
        raise typer.BadParameter(f"no regular expression: {error}", param_hint="--job-pattern") from None


def _cluster(*, slurm: bool, kubernetes: bool, scheduler: str | None) -> str:
    """Return the name of the cluster that starts workers. Two of the options are wrong usage."""
    if slurm + kubernetes + bool(scheduler) > 1:
        raise typer.BadParameter("only one of these", param_hint="--slurm, --kubernetes, --scheduler")
    return "slurm" if slurm else "kubernetes" if kubernetes else ""


def _options(pairs: Sequence[str]) -> tuple[tuple[str, Any], ...]:
    from logdoctor.archive.clusters import parse_options

    try:
        return tuple(parse_options(pairs).items())
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--cluster-option") from None


def _shard(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise typer.BadParameter(f"'{text}' is not like 3/8", param_hint="--shard")
    return int(match[1]), int(match[2])


def _print_jobs(scan_run: Scan) -> None:
    from logdoctor.model.escape import escape

    for job in scan_run.jobs:
        done = "" if job in scan_run.todo else "  done"
        files = len(job.members or job.paths)
        typer.echo(f"{escape(job.name)}  {files} file{'s' * (files != 1)}  by {job.grouped_by}{done}")
    typer.echo(f"{len(scan_run.jobs)} job{'s' * (len(scan_run.jobs) != 1)}, {len(scan_run.todo)} to do")


@contextmanager
def _stop_on_sigterm() -> Iterator[None]:
    """End the scan at SIGTERM as at Ctrl-C: stop the workers, keep the results."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _say_how_to_go_on(scan_run: Scan, out: Path | None) -> Iterator[None]:
    """At Ctrl-C or SIGTERM say what is kept, and how to go on."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        from logdoctor.model.escape import escape

        scan_run.log.reload()
        done = len(scan_run.log.locations)
        kept = (
            f"the same command goes on from {escape(str(out))}" if out else "nothing is kept: name a folder with --out"
        )
        typer.echo(f"logdoctor: stopped after {done:,} of {len(scan_run.jobs):,} jobs; {kept}", err=True)
        raise


@contextmanager
def _progress(scan_run: Scan) -> Iterator[Any]:
    """Show a bar on a terminal, else print a line every ten seconds."""
    total = len(scan_run.todo)
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
    """Progress for a standard error that is no terminal: a line every ten seconds."""

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


def _write(scan_run: Scan, format: str, folder: Path) -> None:
    from logdoctor.archive.outputs import load_writer
    from logdoctor.archive.tables import write_parquet

    if format == "parquet":
        for path in write_parquet(scan_run.records(), folder):
            typer.echo(path)
    else:
        load_writer(format)(scan_run.records(), sys.stdout)


def _notify(alerts: Alerts, scan_run: Scan, page: str) -> None:
    """Send a message of each job that this scan diagnosed and that failed."""
    from logdoctor.archive.record import as_diagnosis
    from logdoctor.model import CALM

    new = {job.name for job in scan_run.todo}
    for record in scan_run.records():
        if record.job in new and record.status == "diagnosed" and record.verdict not in CALM:
            alerts.send(as_diagnosis(record), os.path.abspath(record.job), page=page)  # noqa: PTH100 - takes any text


def _causes_to_fail_on(fail_on: str | None, knowledge: Knowledge) -> set[str]:
    """Return the names in ``--fail-on``. A name that no rule has is wrong usage, because no scan would fail."""
    from logdoctor.model import CALM

    names = {name.strip() for name in (fail_on or "").split(",") if name.strip()}
    signatures = {"unknown", *CALM, *(rule.signature for rule in knowledge.rules)}
    strange = names - signatures - {name.partition(".")[0] for name in signatures}
    if strange:
        hints = " ".join(filter(None, (propose(name, signatures, 1) for name in sorted(strange))))
        why = (
            f"no rule has the signature or family {', '.join(sorted(strange))}; {hints or 'see: logdoctor rules list'}"
        )
        raise typer.BadParameter(why, param_hint="--fail-on")
    return names
