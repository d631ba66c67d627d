"""``logdoctor slurm``: diagnose a job of Slurm by its id, or follow all that end badly."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from logdoctor.cli.diagnose_command import (
    ExitCode,
    ExitDecision,
    Format,
    Full,
    Hung,
    Json,
    Lang,
    Output,
    Quiet,
    Redact,
    RedactMap,
    Rules,
    Why,
)
from logdoctor.cli.diagnosing import diagnose as write_diagnosis
from logdoctor.cli.errors import print_error, report_errors, wrong_usage
from logdoctor.cli.output import language_of

if TYPE_CHECKING:
    from logdoctor.model import Diagnosis
    from logdoctor.pipeline.knowledge import Knowledge
    from logdoctor.slurm.collecting import Evidence

LOOK_FOR_NOTES = 5.0
"""Seconds between two looks for notes of the epilog."""
Job = Annotated[
    str | None,
    typer.Argument(help="Id of a job (4711), of a task of an array (4711_3), or of an array.", metavar="JOBID"),
]
Collect = Annotated[
    Path | None,
    typer.Option(
        "--collect",
        help="Copy what is read into this new folder; 'logdoctor FOLDER' gives the same answer later. "
        "With --watch: into a folder in it for each job.",
        file_okay=False,
    ),
]
Watch = Annotated[bool, typer.Option("--watch", help="Print a line for each job that ends badly, until Ctrl-C.")]
User = Annotated[str | None, typer.Option("--user", "-u", help="With --watch: only jobs of this user (default: all).")]
Every = Annotated[float, typer.Option("--every", min=1, help="With --watch: seconds between two questions to Slurm.")]
Notes = Annotated[
    Path | None,
    typer.Option(
        "--notes",
        help="With --watch: folder of the epilog's notes; Slurm is asked as soon as one lies there.",
        exists=True,
        file_okay=False,
    ),
]
OnFailure = Annotated[
    str | None,
    typer.Option(
        "--on-failure",
        help="With --watch: run this shell command for each job, with the diagnosis (JSON) as its input.",
    ),
]


def slurm(
    job: Job = None,
    collect: Collect = None,
    watch: Watch = False,
    user: User = None,
    every: Every = 60,
    notes: Notes = None,
    on_failure: OnFailure = None,
    format: Format = None,
    json: Json = False,
    output: Output = None,
    lang: Lang = None,
    hung: Hung = False,
    quiet: Quiet = False,
    full: Full = False,
    why: Why = False,
    exit_code: ExitCode = False,
    exit_decision: ExitDecision = False,
    rules: Rules = None,
    redact: Redact = None,
    redact_map: RedactMap = None,
) -> None:
    """Diagnose a job of Slurm by its id: what sacct and scontrol say, and the files that it wrote.

    Of an array the task that failed first is diagnosed. With --watch, Slurm is asked once a minute, and each job
    that ended badly or will never start gets a line.

    Exit codes: those of 'logdoctor diagnose'; 3 also if Slurm does not know the job or cannot be asked.
    """
    if watch == (job is not None):
        raise wrong_usage("give the id of a job, or --watch", "JOBID")
    if watch:
        _watch(Teller(collect, on_failure, language_of(lang)), user or "", every, notes, rules)
        return
    for given, option in ((user, "--user"), (notes, "--notes"), (on_failure, "--on-failure")):
        if given:
            raise wrong_usage("it goes with --watch", option)
    with report_errors():
        evidence, place = _find(_job_id(str(job)), collect)
        if collect:
            evidence.save(place)

    def read(_paths: object, format: str, **options: Any) -> Diagnosis:
        from logdoctor.render import context_lines

        options |= {"job_id": evidence.job, "context": context_lines(format)}
        with report_errors():
            return _diagnose(evidence, place if collect else None, **options)

    write_diagnosis(
        None,
        read=read,
        format=format,
        json=json,
        output=output,
        lang=lang,
        hung=hung,
        quiet=quiet,
        full=full,
        why=why,
        exit_code=exit_code,
        exit_decision=exit_decision,
        rules=rules,
        redact=redact,
        redact_map=redact_map,
    )


def _job_id(text: str) -> str:
    from logdoctor.slurm.accounting import JOB_ID

    match = JOB_ID.fullmatch(text)
    if match is None:
        raise wrong_usage("it is like 4711 or 4711_3", "JOBID")
    return match["job"].partition("+")[0]


def _find(job: str, collect: Path | None) -> tuple[Evidence, Path]:
    """Return what there is of a job, and the folder for it. Print its state and what could not be read."""
    from logdoctor.slurm.collecting import find_job, gather

    found = find_job(job)
    evidence = gather(found, found.chosen)
    lines = [evidence.headline]
    place = collect or Path()
    if len(found.rows) > 1:
        place /= evidence.job
        lines.append(f"tasks of the array {job}: {found.tell_tasks()}")
        lines += [
            f"the answer is that of {evidence.job}; ask for another task by its id: logdoctor slurm {other}"
            for other in found.failed[1:2]
        ]
    _say(*lines, *(f"not read, or in doubt: {note}" for note in evidence.notes))
    return evidence, place


def _diagnose(evidence: Evidence, folder: Path | None, **options: Any) -> Diagnosis:
    from logdoctor.pipeline.diagnosis import diagnose

    if folder:
        return diagnose(folder, name=f"job {evidence.job}", **options)
    return diagnose(evidence.inputs, name=f"job {evidence.job}", found=True, **options)


def _say(*lines: str) -> None:
    from logdoctor.model.escape import escape

    sys.stderr.write("".join(f"logdoctor: {escape(line)}\n" for line in lines))
    sys.stderr.flush()


class Teller(NamedTuple):
    """Prints a line about each job, keeps what it left behind, and calls the command of ``--on-failure``."""

    collect: Path | None
    on_failure: str | None
    lang: str

    def tell(self, job: str, state: str, knowledge: Knowledge) -> None:
        """Tell when a job was found, its id, Slurm's state, and the answer."""
        from logdoctor.model import InputError
        from logdoctor.render import render
        from logdoctor.slurm.collecting import find_job, gather

        name, diagnosis = job.partition("+")[0], None
        try:
            found = find_job(name)
            evidence = gather(found, name if name in found.rows else found.chosen)
            place = self.collect / evidence.job if self.collect else None
            if place:
                evidence.save(place)
            diagnosis = _diagnose(evidence, place, lang=self.lang, knowledge=knowledge, job_id=evidence.job)
            answer = render(diagnosis, "text", lang=self.lang, quiet=True).strip()
        except InputError as error:
            answer = "; ".join(map(str.strip, str(error).splitlines()))
        typer.echo(f"{time.strftime('%H:%M:%S')}\t{job}\t{state}\t{answer}")
        sys.stdout.flush()
        if diagnosis is not None and self.on_failure:
            subprocess.run(self.on_failure, shell=True, input=diagnosis.to_json(), text=True, check=False)  # noqa: S602 - the user's own command


def _watch(teller: Teller, user: str, every: float, notes: Path | None, rules: list[Path] | None) -> None:
    """Ask Slurm again and again. An answer that fails to come is told, and asked for at the next time."""
    from datetime import datetime

    from logdoctor.cli.progress_bar import load_with_progress
    from logdoctor.cli.rule_folders import all_folders
    from logdoctor.model import InputError
    from logdoctor.slurm.accounting import require
    from logdoctor.slurm.polling import Poller

    with report_errors():
        require("squeue")
    poller = Poller(datetime.now, user, notes)
    knowledge = load_with_progress(all_folders(rules))
    while True:
        try:
            for ended in poller.poll():
                teller.tell(ended.job, ended.state, knowledge)
        except InputError as error:
            print_error(error)
        asked = time.monotonic()
        while (left := asked + every - time.monotonic()) > 0 and not poller.take_notes():
            time.sleep(min(left, LOOK_FOR_NOTES if notes else left))
