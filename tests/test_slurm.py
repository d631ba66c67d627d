"""`logdoctor slurm`, with answers of Slurm 22.05 that were recorded by corpus/lab/slurm_answers.py."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from command_line import call

from logdoctor.model import InputError
from logdoctor.slurm import accounting, output_files, polling
from logdoctor.slurm.accounting import PARTED, read_rows
from logdoctor.slurm.collecting import find_job, gather

ROOT = Path(__file__).parent.parent
RECORDED = Path(__file__).parent / "slurm"
FAKE = """\
#!{python} -SE
import json, os, sys
from pathlib import Path
here = Path(__file__)
asked = [here.name, *sys.argv[1:]]
for call in json.loads((here.parent / "calls.json").read_text("utf-8")):
    if call["call"] == asked:
        sys.stdout.write(call["stdout"])
        sys.stderr.write(call["stderr"])
        sys.exit(call["code"])
sys.exit(f"never recorded: {{asked}}")
"""


@pytest.fixture
def site(tmp_path, monkeypatch, cache):
    """Return a function that installs recorded answers as Slurm's commands, and writes the files of the job."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    programs, folder = tmp_path / "bin", tmp_path / "jobs"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")

    def install(name: str, without: tuple[str, ...] = ()) -> str:
        text = (RECORDED / f"{name}.json").read_text("utf-8").replace("@FOLDER@", str(folder))
        recorded = json.loads(text)
        (programs / "calls.json").write_text(json.dumps(recorded["calls"]), "utf-8")
        for program in {"sacct", "scontrol", "squeue"} - {*without}:
            (programs / program).write_text(FAKE.format(python=sys.executable))
            (programs / program).chmod(0o755)
        for path, (changed, content) in recorded["files"].items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, "utf-8")
            os.utime(file, (changed, changed))
        return recorded["job"]

    yield install
    monkeypatch.undo()
    time.tzset()


def asked(job: str, *options: object, code: int = 0) -> dict:
    return json.loads(call("slurm", job, "--json", *options, code=code).stdout)


def told(diagnosis: dict) -> tuple:
    """Return what two ways of asking must agree on."""
    cause = (diagnosis["causes"] or [{}])[0]
    proof = [(Path(e["file"]).name, e["line"], e["text"]) for e in cause.get("evidence", ())]
    culprit = cause.get("culprit", {})
    return (
        *(diagnosis["verdict"], diagnosis["decision"]["do"], cause.get("signature"), cause.get("confidence")),
        *(culprit.get("ranks"), culprit.get("hosts"), proof, diagnosis["job"]["id"]),
    )


ANSWERS = {
    "array": ("fix-first", "failed", "app.exception"),
    "array-task": ("do-nothing", "finished", None),
    "cancelled": ("do-nothing", "stopped", "job.preempted"),
    "completed": ("do-nothing", "finished", None),
    "held": ("resubmit-with-changes", "failed", "job.resources"),
    "memory": ("resubmit-with-changes", "failed", "host.oom-kill"),
    "never-satisfied": ("resubmit-with-changes", "failed", "job.resources"),
    "no-folder": ("resubmit-with-changes", "failed", "job.launch"),
    "node-lost": ("requeue-without-host", "failed", "host.node-failure"),
    "parts": ("investigate", "unknown", None),
    "requeued": ("fix-first", "failed", "app.exception"),
    "running": ("investigate", "no-end-seen", None),
    "steps": ("fix-first", "failed", "app.exception"),
    "swallowed": ("fix-first", "failed", "app.exception"),
    "time-limit": ("resubmit-with-changes", "stopped", "job.time-limit"),
}


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_recorded_job_gets_its_answer_and_the_collected_folder_the_same(site, tmp_path, name):
    job = site(name)
    at_once = asked(job)
    cause = (at_once["causes"] or [{}])[0]
    assert (at_once["decision"]["do"], at_once["verdict"], cause.get("signature")) == ANSWERS[name]
    kept = asked(job, "--collect", tmp_path / "kept")
    (folder,) = {page.parent for page in (tmp_path / "kept").rglob("collected.md")}
    later = json.loads(call("diagnose", "--json", folder).stdout)
    assert told(at_once) == told(kept) == told(later)


def test_every_recorded_job_has_an_answer():
    assert {path.stem for path in RECORDED.glob("*.json")} == {*ANSWERS, "unknown"}
