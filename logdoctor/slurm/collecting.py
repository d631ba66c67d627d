"""All that a job of Slurm left behind, as inputs of `diagnose` or as a folder that `diagnose` reads later.

The folder holds ``sacct.txt`` and ``scontrol-job.txt`` (the commands' own text), ``scontrol-node.txt`` (nodes that went
out of service while the job ran), ``output/`` (the files that the job wrote) and ``collected.md`` (for people).
"""

# Names are used exactly as Slurm writes them, which pathlib does not do. Its times are local ones, without a zone.
# ruff: noqa: DTZ006, DTZ901, PTH100, PTH112, PTH116, PTH118, PTH120

from __future__ import annotations

import io
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from logdoctor.inputs.many_jobs import COLLECTED
from logdoctor.model import InputError
from logdoctor.slurm.accounting import (
    WAITING_STATES,
    Described,
    Row,
    ask_accounting,
    describe_job,
    describe_nodes,
    row_of,
    saved_rows,
)
from logdoctor.slurm.output_files import output_files

AFTER_END = timedelta(minutes=10)
"""A file that was changed later than this after the end of the job may be that of another run."""
MOST_TASKS = 8
_BESIDE = re.compile(
    r"(?i:.*(?:nccl_trace|flight_?recorder|fr_trace)[\w.-]*|(?:nccl|ncclras|ras)[._-][\w.-]*\.(?:log|txt|json|out)|"
    r"py-?spy[\w.-]*|hs_err_pid\d+\.log)"
)
"""Files of diagnostics that programs write beside their output: Flight Recorder, NCCL, py-spy, a JVM."""
_CORE = re.compile(r"core(?:\.[\w.-]+)?|[\w.-]+\.core")
_OUT_OF_SERVICE = re.compile(r"DOWN|DRAIN|FAIL|NOT_RESPONDING|INVAL")
_SINCE = re.compile(r"\[\w[^@\]]*@(?P<time>[\dT:-]+)\]\s*$")


class Source(Struct, frozen=True):
    """A text, or a file of the job, and its name in a collected folder."""

    name: str
    path: str = ""
    text: str = ""

    def as_input(self) -> Any:
        """Return it as an input of `diagnose`."""
        if self.path:
            return self.path
        file: Any = io.BytesIO(self.text.encode())
        file.name = self.name
        return file


class Evidence(Struct, frozen=True):
    """All that is known of one job."""

    job: str
    row: Row
    headline: str
    """State, nodes and times, for people."""
    sources: tuple[Source, ...]
    notes: tuple[str, ...] = ()
    """Files that are not there, may not be read, or may be those of another run."""

    @property
    def inputs(self) -> list[Any]:
        return [source.as_input() for source in self.sources]

    def save(self, folder: Path) -> None:
        """Copy all into a new or empty folder. Raise `InputError` if that fails."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise InputError("is not empty", str(folder), "what lies in it would become evidence", "name a new one")
            for source in self.sources:
                target = folder / source.name
                target.parent.mkdir(parents=True, exist_ok=True)
                if source.path:
                    shutil.copyfile(source.path, target)
                    shutil.copystat(source.path, target)
                else:
                    target.write_text(source.text, "utf-8", newline="")
            (folder / COLLECTED).write_text(self._page(), "utf-8")
        except OSError as error:
            raise InputError(
                "cannot be collected", str(error.filename or folder), error.strerror or str(error)
            ) from None

    def _page(self) -> str:
        rows = [f"| {s.name} | {s.path or 'asked of Slurm'} |" for s in self.sources]
        notes = [f"- {note}" for note in self.notes] or ["- nothing"]
        head = [f"# Job {self.job}", "", self.headline, "", "| file | from |", "| --- | --- |"]
        return "\n".join([*head, *rows, "", "Not collected, or in doubt:", "", *notes, ""])


class SlurmJob(Struct):
    """A job as its user submitted it: one job, or the tasks of an array."""

    id: str
    rows: dict[str, list[Row]] = field(default_factory=dict)
    """Rows of each job, by its id. The parts of a heterogeneous job are one job."""
    described: list[Described] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def failed(self) -> list[str]:
        """Return the jobs that ended badly, the first end first."""
        bad = [rows[0] for rows in self.rows.values() if rows[0].is_bad]
        return [row.job for row in sorted(bad, key=lambda row: row.end or "9")]

    @property
    def chosen(self) -> str:
        """Return the job to diagnose: the first that ended badly, else one that started, else the first."""
        started = [job for job, rows in self.rows.items() if rows[0].state not in WAITING_STATES]
        return next(iter((*self.failed, *started, *self.rows)))

    def tell_tasks(self) -> str:
        """Return how many tasks of an array are in each state: ``1 FAILED (2), 3 COMPLETED (0, 1, 3)``."""
        tasks: dict[str, list[str]] = {}
        for job, rows in self.rows.items():
            tasks.setdefault(rows[0].state, []).append(job.partition("_")[2])
        return ", ".join(
            f"{len(ids)} {state} ({', '.join(ids[:MOST_TASKS])}{', ...' * (len(ids) > MOST_TASKS)})"
            for state, ids in tasks.items()
        )


def find_job(job: str) -> SlurmJob:
    """Ask sacct and scontrol about a job. Raise `InputError` if neither of them knows it."""
    found, errors = SlurmJob(job), list[InputError]()
    rows = list[Row]()
    try:
        rows = ask_accounting(job)
    except InputError as error:
        errors.append(error)
    try:
        found.described = describe_job(job)
    except InputError as error:
        errors.append(error)
        if rows:
            found.notes.append("the controller does not know the job any more (scontrol show job)")
    if not rows and found.described:
        rows = [row_of(described) for described in found.described]
        found.notes.append(f"sacct does not tell the job{f': {errors[0].why}' if errors else ''}")
    if not rows:
        raise (
            errors[0]
            if len(errors) > 1
            else InputError(
                "Slurm does not know this job",
                job,
                "neither sacct nor scontrol tell it",
                "see the id in squeue or sacct",
            )
        )
    for row in rows:
        found.rows.setdefault(row.job, []).append(row)
    return found


def gather(slurm_job: SlurmJob, job: str) -> Evidence:
    """Return what there is of one job: its rows, the states of its nodes, and the files that it wrote."""
    rows, notes = slurm_job.rows[job], [*slurm_job.notes]
    raw_ids = {row.raw_id for row in rows}
    described = [d for d in slurm_job.described if d.fields.get("JobId") in raw_ids]
    texts = list[Source]()
    with suppress(InputError):  # `find_job` told it
        texts.append(Source("sacct.txt", text=saved_rows(rows[0].raw_id if "[" in job else job)))
    if described:
        texts.append(Source("scontrol-job.txt", text="\n".join(d.text for d in described)))
    nodes, more = _nodes_out_of_service(rows[0])
    if nodes:
        texts.append(Source("scontrol-node.txt", text="\n".join(nodes)))
    has_started = rows[0].state not in WAITING_STATES
    paths, missing = output_files(rows, described) if has_started else ([], [])
    notes += [*more, *missing]
    files = [path for path in paths if _is_readable(path, rows[0], notes)]
    beside = _files_beside(files, rows, notes) if has_started else []
    sources = [*texts, *_named_below(dict.fromkeys((*files, *beside)))]
    return Evidence(job, rows[0], _headline(job, rows[0], described), tuple(sources), tuple(dict.fromkeys(notes)))


def _headline(job: str, row: Row, described: Sequence[Described]) -> str:
    restarts = next((d.fields["Restarts"] for d in described if d.fields.get("Restarts", "0") != "0"), "")
    reason = next((d.fields["Reason"] for d in described if d.fields.get("Reason")), "")
    parts = [
        f"job {job}{f' ({row.name})' if row.name else ''}: {row.state or 'in no state'}",
        f"reason {reason}" if reason and row.state != "COMPLETED" else "",
        f"exit code {row.exit_code}" if row.exit_code not in ("", "0:0") else "",
        row.nodes,
        f"{row.start} to {row.end}" if row.end else f"since {row.start}" if row.start else "never started",
        f"restarted {restarts} times" if restarts else "",
    ]
    return ", ".join(part for part in parts if part)


def _is_readable(path: str, row: Row, notes: list[str]) -> bool:
    """Report whether a file can be read. Tell in ``notes`` why not, or why it may be that of another run."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            notes.append(f"{path} is no file")
            return False
        os.close(os.open(path, os.O_RDONLY))
    except FileNotFoundError:
        parent = os.path.dirname(path)
        notes.append(
            f"{path} is not there"
            + ("" if os.path.isdir(parent) else f": the folder {parent} is not there, so Slurm could not open the file")
        )
        return False
    except OSError as error:
        notes.append(f"{path} cannot be read: {error.strerror}")
        return False
    end = _time(row.end)
    changed = datetime.fromtimestamp(status.st_mtime)
    if end and changed > end + AFTER_END:
        notes.append(f"{path} was changed at {changed:%Y-%m-%dT%H:%M:%S}: a later run may have written it")
    return True


def _files_beside(files: Sequence[str], rows: Sequence[Row], notes: list[str]) -> list[str]:
    """Return files of diagnostics in the folders of the job that were written while it ran."""
    start, end = _time(rows[0].start), _time(rows[0].end)
    if start is None:
        return []
    until = (end or datetime.max - AFTER_END) + AFTER_END
    folders = dict.fromkeys([*(row.folder for row in rows if row.folder), *map(os.path.dirname, files)])
    found = []
    for folder in folders:
        try:
            entries = [e for e in os.scandir(folder) if _BESIDE.fullmatch(e.name) or _CORE.fullmatch(e.name)]
        except OSError:
            continue
        for entry in sorted(entries, key=lambda e: e.name):
            if not entry.is_file() or not start <= datetime.fromtimestamp(entry.stat().st_mtime) <= until:
                continue
            if _CORE.fullmatch(entry.name):
                notes.append(f"{entry.path} is a core file of the job: read it with gdb, and add what 'bt' prints")
            else:
                found.append(entry.path)
    return found


def _named_below(paths: Iterable[str]) -> Iterator[Source]:
    """Yield the files with their names in a collected folder: those below the folder that all of them share."""
    paths = [*paths]
    top = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in paths]) if paths else ""
    for path in sorted(paths):
        yield Source(os.path.join("output", os.path.relpath(os.path.abspath(path), top)), path)


def _nodes_out_of_service(row: Row) -> tuple[list[str], list[str]]:
    """Return the nodes that went out of service while the job ran, and notes about those that did soon after.

    The latter may have ended the job too, as Slurm notices it after minutes. They are no evidence, because that a node
    is lost would outweigh what the program says.
    """
    start, end = _time(row.start), _time(row.end)
    if not row.nodes or start is None:
        return [], []
    try:
        nodes = describe_nodes(row.nodes)
    except InputError as error:
        return [], [f"the states of its nodes are not known: {error.why}"]
    texts, notes = list[str](), list[str]()
    for node in nodes:
        name, state, reason = (node.fields.get(key, "") for key in ("NodeName", "State", "Reason"))
        if not _OUT_OF_SERVICE.search(state):
            continue
        since = _SINCE.search(reason)
        time = _time(since["time"]) if since else None
        if time and start <= time <= (end or datetime.max):
            texts.append(node.text)
        elif time and end and end < time <= end + AFTER_END:
            minutes = (time - end).total_seconds() / 60
            notes.append(f"node {name} went out of service {minutes:.0f} minutes after the job's end: {reason}")
    return texts, notes


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
