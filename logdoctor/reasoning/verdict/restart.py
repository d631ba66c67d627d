"""Steps that carry out a decision: the commands that start the job again, if the log tells all that they need."""

from __future__ import annotations

import posixpath
import re

from logdoctor.model import ONCE, Decision, Diagnosis, Step, Suspect
from logdoctor.model.catalogue import Catalogue
from logdoctor.model.numbers import numbers_in
from logdoctor.reasoning.verdict.decision_texts import goes_on, restart_step

SLURM = "slurm"
MOST_ASKED = 3
"""Processes to ask, and files that a command repeats."""
_JOB_ID = re.compile(r"\d+(?:_\d+)?")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+-]*")
"""Names that a shell takes as they are. A name comes from a log, so no other name gets into a command."""
_PLAIN_PATH = re.compile(r"[A-Za-z0-9._/][A-Za-z0-9._@+/-]*")
_HOUR = 3600


def restart_steps(
    decision: Decision, diagnosis: Diagnosis, words: Catalogue, *, once: str = "", older: str = ""
) -> tuple[Step, ...]:
    """Return the steps of ``decision``, without those of the cause.

    ``once``: the thing that makes the next failure tell more. ``older`` tells the older names of its settings.
    """
    job = diagnosis.job
    slurm_job = job.id if job.scheduler == SLURM and job.id and _JOB_ID.fullmatch(job.id) else ""
    match decision.do:
        case "requeue":
            return (_requeue(slurm_job, diagnosis, words), *_remaining(diagnosis, words))
        case "requeue-without-host":
            return (_requeue_without(decision.hosts, slurm_job, diagnosis, words),)
        case "resubmit-with-changes" if once in ONCE:
            settings = " ".join(f"{change.name}={change.to}" for change in decision.changes)
            return (Step(words(f"restart.once.{once}", settings=settings, older=older)),)
        case "do-nothing" if slurm_job and diagnosis.verdict == "stopped" and not goes_on(diagnosis):
            return (Step(words("restart.ask"), (f"sacct -X -j {slurm_job} -o JobID,State%30,End",)),)
        case "investigate" if slurm_job and diagnosis.verdict == "no-end-seen":
            return (Step(words("restart.state"), (f"sacct -X -j {slurm_job} -o JobID,State,ExitCode,End",)),)
    return _ask_processes(diagnosis, words) if decision.running else ()


def _ask_processes(diagnosis: Diagnosis, words: Catalogue) -> tuple[Step, ...]:
    """Return the commands that take stack and kernel log of the processes that stand apart, and ask again."""
    commands: list[str] = []
    collected: list[str] = []
    for suspect in _apart(diagnosis)[:MOST_ASKED]:
        host, pid = suspect.host or "", suspect.pid
        if pid and _PLAIN.fullmatch(host):
            stack, kernel = f"stack-{pid}.txt", f"dmesg-{host}.txt"
            commands.append(f"ssh {host} py-spy dump --pid {pid} > {stack}")
            commands.append(f"ssh {host} dmesg -T > {kernel}")
            collected += [stack, kernel]
    files = [source.file for source in diagnosis.coverage.inputs]
    if not commands:
        return ()
    if len(files) <= MOST_ASKED and all(map(_PLAIN_PATH.fullmatch, files)):
        commands.append(f"logdoctor --hung {' '.join((*files, *dict.fromkeys(collected)))}")
    return (Step(words("restart.ask-processes"), tuple(dict.fromkeys(commands))),)


def _apart(diagnosis: Diagnosis) -> tuple[Suspect, ...]:
    """Return the suspects, else the culprit of an answer about a job that still runs."""
    if diagnosis.suspects or not diagnosis.answer:
        return diagnosis.suspects
    culprit = diagnosis.answer.culprit
    hosts = culprit.hosts * len(culprit.pids) if len(culprit.hosts) == 1 else culprit.hosts
    return tuple(Suspect(host=host, pid=pid) for host, pid in zip(hosts, culprit.pids, strict=False))


def _requeue(job: str, diagnosis: Diagnosis, words: Catalogue) -> Step:
    if job:
        return Step(words("restart.requeue.slurm"), (*_keep_log(job, diagnosis), f"scontrol requeue {job}"))
    step = restart_step(diagnosis)
    return Step(words("restart.requeue") if step is None else words("restart.requeue.step", step=f"{step:,}"))


def _requeue_without(hosts: tuple[str, ...], job: str, diagnosis: Diagnosis, words: Catalogue) -> Step:
    names = ",".join(hosts)
    if not all(map(_PLAIN.fullmatch, hosts)):
        return Step(words("restart.without", hosts=words("joint").join(hosts)))
    if job:
        commands = (
            *_keep_log(job, diagnosis),
            f"scontrol requeuehold {job}",
            f"scontrol update JobId={job} ExcNodeList={names}",
            f"scontrol release {job}",
        )
        return Step(words("restart.without.slurm", hosts=words("joint").join(hosts)), commands)
    if diagnosis.job.scheduler in (SLURM, None):
        return Step(words("restart.without.sbatch", hosts=words("joint").join(hosts), names=names))
    return Step(words("restart.without", hosts=words("joint").join(hosts)))


def _keep_log(job: str, diagnosis: Diagnosis) -> tuple[str, ...]:
    """Return the command that copies the log of a batch job. Slurm empties it when it starts the job again."""
    for source in diagnosis.coverage.inputs:
        stem, suffix = posixpath.splitext(source.file)
        if job in posixpath.basename(stem) and suffix == ".out" and _PLAIN_PATH.fullmatch(source.file):
            return (f"cp {source.file} {stem}.run{diagnosis.job.attempts}{suffix}",)
    return ()


def _remaining(diagnosis: Diagnosis, words: Catalogue) -> tuple[Step, ...]:
    """Return how many steps remain after a checkpoint, and how long they take."""
    progress, seconds, start = diagnosis.job.last_progress, diagnosis.job.step_seconds, restart_step(diagnosis)
    numbers = numbers_in(progress.value) if progress else []
    if start is None or not seconds or len(numbers) != 2 or not start <= numbers[0] <= numbers[1]:
        return ()
    last, total = numbers
    hours = (total - start) * seconds / _HOUR
    duration = words("hours", n=f"{hours:,.0f}") if hours >= 2 else words("minutes", n=f"{hours * 60:,.0f}")
    places = {
        "steps": f"{total - start:,}",
        "duration": duration,
        "seconds": f"{seconds:.3g}",
        "again": f"{last - start:,}",
    }
    return (Step(words("restart.remain", **places)),)
