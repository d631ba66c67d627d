"""Read what Slurm says of its jobs: rows of sacct, descriptions of scontrol, rows of squeue.

sacct is asked for columns by name in its parsable form, which each version since 2.6 has. Its JSON changes between
versions. The fields of scontrol stand on lines of their own in the text form.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from logdoctor.model import InputError

SECONDS = 60
"""Seconds in which a command of Slurm has to answer."""
SAVED = "JobID,JobIDRaw,Partition,NodeList,Submit,Start,End,Timelimit,ReqMem,MaxRSS,State,ExitCode"
"""Columns of the rows that are read as evidence. No user chose a text of them, such as the name of a job."""
PARTED = "\x1f"
"""Parts the columns of the rows that only we read. They may hold line breaks and bars."""
BAD_STATES = frozenset(
    "FAILED OUT_OF_MEMORY TIMEOUT NODE_FAIL BOOT_FAIL DEADLINE PREEMPTED CANCELLED LAUNCH_FAILED RECONFIG_FAIL".split()
)
WAITING_STATES = frozenset("PENDING CONFIGURING REQUEUED REQUEUE_HOLD REQUEUE_FED RESV_DEL_HOLD SPECIAL_EXIT".split())
JOB_ID = re.compile(r"(?P<job>\d{1,12}(?:_\d{1,9}|\+\d{1,4})?)(?:\.[\w+]{1,20})?")
_UNSET = ("", "Unknown", "None", "None assigned", "(null)", "N/A")


class Row(Struct, frozen=True):
    """A row of sacct: a job, or one of its steps."""

    id: str
    """For example ``17``, ``17.0``, ``2_3`` (a task of an array) or ``18+1`` (a part of a heterogeneous job)."""
    raw_id: str = ""
    """The id without array and parts. It is the ``%j`` of file names."""
    state: str = ""
    exit_code: str = ""
    nodes: str = ""
    start: str = ""
    end: str = ""
    user: str = ""
    name: str = ""
    folder: str = ""
    """Working directory."""
    command: str = ""
    """Command line that submitted the job or started the step."""
    stdout: str = ""
    stderr: str = ""
    """Names of the files with output, as Slurm 24.05 and later tell them."""

    @property
    def job(self) -> str:
        """Return the id of the job: ``17`` of step ``17.0`` and of the part ``17+1``."""
        return re.split(r"[.+]", self.id, maxsplit=1)[0]

    @property
    def step(self) -> str:
        return self.id.partition(".")[2]

    @property
    def is_bad(self) -> bool:
        return self.state in BAD_STATES


COLUMNS = {
    "id": "JobID",
    "raw_id": "JobIDRaw",
    "state": "State",
    "exit_code": "ExitCode",
    "nodes": "NodeList",
    "start": "Start",
    "end": "End",
    "user": "User",
    "name": "JobName",
    "folder": "WorkDir",
    "command": "SubmitLine",
    "stdout": "StdOut",
    "stderr": "StdErr",
}
"""Columns of sacct by our names. Versions of Slurm lack some of the last ones."""


def require(command: str, where: str = "") -> None:
    """Raise `InputError` if there is no such command of Slurm here."""
    if shutil.which(command) is None:
        cure = "start logdoctor on a host that has Slurm's commands"
        raise InputError("Slurm cannot be asked", where or command, f"there is no {command} here", cure)


def run(*command: str) -> str:
    """Return what a command of Slurm prints. Raise `InputError` if it fails."""
    settings = {key: value for key, value in os.environ.items() if not key.startswith(("SACCT_", "SQUEUE_"))}
    settings |= {"SLURM_TIME_FORMAT": "standard", "LC_ALL": "C.UTF-8"}
    where = " ".join(command[:1] + tuple(part for part in command[1:] if len(part) < 40))
    require(command[0], where)
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS, env=settings)
    except (OSError, subprocess.TimeoutExpired) as error:
        why = f"it gave no answer in {SECONDS} s" if isinstance(error, subprocess.TimeoutExpired) else str(error)
        raise InputError("Slurm cannot be asked", where, why) from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InputError("Slurm gave no answer", where, said[0] if said else f"exit code {done.returncode}")
    return done.stdout.decode("utf-8", "replace")


def ask_accounting(job: str) -> list[Row]:
    """Return the rows of a job and its steps, for an array those of all tasks. There are none of an unknown job."""
    known = set(run("sacct", "--helpformat").split())
    columns = {ours: theirs for ours, theirs in COLUMNS.items() if theirs in known}
    asked = run("sacct", "-j", job, "-n", "-p", f"--delimiter={PARTED}", "-o", ",".join(columns.values()))
    return [*read_rows(asked, [*columns])]


def read_rows(text: str, names: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of ``sacct -p``. Each column, also the last, ends with `PARTED`."""
    cells = text.split(PARTED)
    for start in range(0, len(cells) - len(names), len(names)):
        values = dict(zip(names, cells[start : start + len(names)], strict=True))
        values["id"] = values["id"].lstrip("\n")
        values["state"] = values["state"].split(" ", 1)[0]  # CANCELLED by 1000
        yield Row(**{key: "" if value in _UNSET else value for key, value in values.items()})


def saved_rows(job: str) -> str:
    """Return the rows of a job as sacct prints them, with a heading. They are evidence."""
    return run("sacct", "-j", job, "-P", "-o", SAVED)


class Described(Struct, frozen=True):
    """A job or node in the text of scontrol."""

    text: str
    fields: Mapping[str, str]


def describe_job(job: str) -> list[Described]:
    """Return what the controller says of the job: of each task of an array, and each part of a heterogeneous job."""
    return read_descriptions(run("scontrol", "show", "job", job))


def describe_nodes(nodes: str) -> list[Described]:
    return read_descriptions(run("scontrol", "show", "node", nodes))


_OWN_LINE = re.compile(
    r"(?:^ *(?!JobName)|(?<= )(?=JobName))(StdOut|StdErr|WorkDir|JobName|Reason)=(.*)$", re.MULTILINE
)
_FIELD = re.compile(r"(?:^|(?<= ))(\w+)=(\S*)", re.MULTILINE)


def read_descriptions(text: str) -> list[Described]:
    """Return the parts of scontrol's text. A part begins at ``JobId=`` or ``NodeName=``."""
    parts = re.split(r"^(?=(?:JobId|NodeName)=)", text, flags=re.MULTILINE)
    return [Described(part.rstrip() + "\n", _fields_of(part)) for part in parts if "=" in part]


def _fields_of(part: str) -> dict[str, str]:
    fields = dict[str, str]()
    for key, value in _FIELD.findall(part):
        fields.setdefault(key, value)
    fields |= dict(_OWN_LINE.findall(part))  # these hold blanks
    return {key: "" if value in _UNSET else value for key, value in fields.items()}


def row_of(described: Described) -> Row:
    """Return a job as the controller describes it, in the form of a row of sacct."""
    get = described.fields.get
    job, task = get("ArrayJobId", ""), get("ArrayTaskId", "")
    return Row(
        id=f"{job}_{task}" if job and task else get("JobId", ""),
        raw_id=get("JobId", ""),
        state=get("JobState", ""),
        exit_code=get("ExitCode", ""),
        nodes=get("NodeList", ""),
        start=get("StartTime", ""),
        end=get("EndTime", ""),
        user=get("UserId", "").partition("(")[0],
        name=get("JobName", ""),
        folder=get("WorkDir", ""),
    )
