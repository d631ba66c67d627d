"""`logdoctor slurm`, with answers of Slurm 22.05 that were recorded by corpus/lab/slurm_answers.py."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from command_line import call

from logdoctor.model import Diagnosis, InputError
from logdoctor.pipeline.diagnosis import diagnose
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


def hear_interrupts() -> None:
    """Let a child hear SIGINT, which is ignored where the tests run in the background of a shell."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def site(tmp_path, monkeypatch, cache):
    """Return a function that installs recorded answers as Slurm's commands, and writes the files of the job."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    programs, folder = tmp_path / "bin", tmp_path / "jobs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))

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


def told(diagnosis: Diagnosis) -> tuple:
    """Return what two ways of asking must agree on."""
    cause, decision = diagnosis.answer, diagnosis.decision.do
    if cause is None:
        return decision, diagnosis.verdict, None, diagnosis.job.id
    proof = [(Path(e.line.file).name, e.line.number, e.line.text) for e in cause.evidence]
    about = cause.confidence, cause.culprit.ranks, cause.culprit.hosts, proof
    return decision, diagnosis.verdict, cause.signature, diagnosis.job.id, about


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
def test_recorded_job_gets_its_answer_and_the_collected_folder_the_same(site, tmp_path, knowledge, name):
    job = find_job(site(name))
    evidence = gather(job, job.chosen)
    evidence.save(tmp_path / "kept")
    at_once = diagnose(evidence.inputs, knowledge=knowledge, job_id=evidence.job, found=True)
    later = diagnose(tmp_path / "kept", knowledge=knowledge)
    assert told(at_once)[:3] == ANSWERS[name]
    assert told(at_once) == told(later)


def test_every_recorded_job_has_an_answer():
    assert {path.stem for path in RECORDED.glob("*.json")} == {*ANSWERS, "unknown"}


# ── the command ──


def test_command_tells_state_and_answer(site):
    said = call("slurm", site("memory"), "-q")
    assert said.stderr == (
        "logdoctor: job 6 (job.sbatch): FAILED, reason NonZeroExitCode, exit code 1:0, node01, 2026-11-29T09:32:09 to "
        "2026-11-29T09:32:10\n"
    )
    assert said.stdout.startswith("resubmit-with-changes\tfailed\thost.oom-kill\t")


def test_collected_folder_holds_all_that_was_read(site, tmp_path):
    kept = tmp_path / "kept"
    call("slurm", site("steps"), "--collect", kept, "-q")
    names = {str(path.relative_to(kept)) for path in kept.rglob("*") if path.is_file()}
    tasks = {f"output/tokenize-1-1-{n}-node0{1 + (n == 3)}.log" for n in range(4)}
    assert names == {
        "sacct.txt",
        "scontrol-job.txt",
        "collected.md",
        "output/tokenize-1.out",
        "output/tokenize-1.err",
        *tasks,
    }


def test_page_of_a_collected_folder_tells_where_its_files_come_from(site, tmp_path):
    call("slurm", site("no-folder"), "--collect", tmp_path / "kept", "-q")
    page = (tmp_path / "kept" / "collected.md").read_text("utf-8")
    assert "| sacct.txt | asked of Slurm |" in page
    assert f"- {tmp_path}/jobs/missing/7.out is not there: the folder {tmp_path}/jobs/missing is not there" in page


def test_task_that_failed_first_answers_for_its_array(site, tmp_path):
    said = call("slurm", site("array"), "--collect", tmp_path / "kept", "-q")
    assert "tasks of the array 2: " in said.stderr
    assert "1 FAILED (2)" in said.stderr
    assert "KeyError" in said.stdout
    assert (tmp_path / "kept" / "2_2" / "output" / "2_2.out").is_file()


def test_task_of_an_array_is_asked_for_by_its_id(site):
    assert call("slurm", site("array-task"), "-q").stdout.startswith("do-nothing\tfinished\t")


def test_job_that_never_started_reads_no_file(site):
    said = call("slurm", site("never-satisfied"))
    assert "PENDING, reason DependencyNeverSatisfied, never started" in said.stderr
    assert "The job waits with the reason DependencyNeverSatisfied" in said.stdout


def test_exit_code_tells_the_verdict_if_asked(site):
    call("slurm", site("memory"), "-q", "--exit-code", code=1)


def test_job_that_slurm_does_not_know_is_told(site):
    said = call("slurm", site("unknown"), code=3)
    assert said.stderr.startswith("logdoctor: 99999: Slurm does not know this job\n")


def test_host_without_slurm_is_told(site):
    job = site("memory", without=("sacct", "scontrol", "squeue"))
    assert "there is no sacct here" in call("slurm", job, code=3).stderr
    assert "there is no squeue here" in call("slurm", "--watch", code=3).stderr


def test_controller_answers_where_there_is_no_accounting(site):
    said = call("slurm", site("memory", without=("sacct",)), "-q")
    assert "sacct does not tell the job: there is no sacct here" in said.stderr
    assert said.stdout.startswith("resubmit-with-changes\tfailed\thost.oom-kill\t")


def test_sacct_answers_where_the_controller_forgot_the_job(site):
    said = call("slurm", site("memory", without=("scontrol",)), "-q")
    assert "the controller does not know the job any more" in said.stderr
    assert "slurm-6.out is Slurm's usual name" not in said.stdout
    assert said.stdout.startswith("resubmit-with-changes\tfailed\thost.oom-kill\t")


def test_file_that_was_changed_long_after_the_job_is_in_doubt(site, tmp_path):
    job = site("memory")
    os.utime(tmp_path / "jobs" / "slurm-6.out")
    assert "a later run may have written it" in call("slurm", job, "-q").stderr


def test_diagnostics_beside_the_output_are_read_if_they_were_written_while_the_job_ran(site, tmp_path):
    job, folder = site("memory"), tmp_path / "jobs"
    at = (folder / "slurm-6.out").stat().st_mtime
    for name, changed in (("nccl_debug.node01.log", at), ("nccl_old.node01.log", at - 86400), ("core.4711", at)):
        (folder / name).write_text("NCCL INFO\n")
        os.utime(folder / name, (changed, changed))
    said = call("slurm", job, "--collect", tmp_path / "kept", "-q")
    assert {path.name for path in (tmp_path / "kept" / "output").iterdir()} == {"slurm-6.out", "nccl_debug.node01.log"}
    assert "core.4711 is a core file of the job" in said.stderr


def test_folder_that_holds_something_is_refused(site, tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "other.log").write_text("step 1\n")
    assert "is not empty" in call("slurm", site("memory"), "--collect", tmp_path / "kept", code=3).stderr


@pytest.mark.parametrize(
    "words", [("abc",), ("1; true",), (), ("6", "--watch"), ("6", "--user", "ada"), ("6", "--notes", ".")]
)
def test_wrong_usage_is_refused(words):
    call("slurm", *words, code=2)


def test_state_of_a_node_counts_only_if_it_began_while_the_job_ran(site, tmp_path):
    job = site("node-lost")
    calls = tmp_path / "bin" / "calls.json"
    later = calls.read_text("utf-8").replace(
        "Not responding [root@2026-11-29T09:3", "Not responding [root@2026-11-29T09:4"
    )
    assert later != calls.read_text("utf-8")
    calls.write_text(later, "utf-8")
    evidence = gather(find_job(job), job)
    assert "scontrol-node.txt" not in {source.name for source in evidence.sources}
    assert any("minutes after the job's end" in note for note in evidence.notes)


# ── rows, commands and patterns ──


def test_rows_may_hold_line_breaks_and_bars():
    rows = [("17", "FAILED", "sbatch --wrap=echo 'x\ny'"), ("17.0", "", "srun -o l.log\nx")]
    text = "".join("".join(cell + PARTED for cell in row) + "\n" for row in rows)
    read = [*read_rows(text, ("id", "state", "command"))]
    assert [(row.id, row.state, row.command) for row in read] == rows
    assert [(row.job, row.step) for row in read] == [("17", ""), ("17", "0")]


@pytest.mark.parametrize(
    ("id", "job"), [("7", "7"), ("7.batch", "7"), ("7_3", "7_3"), ("7_3.0", "7_3"), ("7+1.0", "7")]
)
def test_row_tells_its_job(id, job):
    assert accounting.Row(id).job == job


@pytest.mark.parametrize(
    ("command", "patterns", "program"),
    [
        ("sbatch -N 2 -o out/%j.log job.sh -o not-slurm", {"stdout": "out/%j.log"}, "job.sh"),
        ("sbatch --output=a.%A_%a -e e.log --mem 10G --hold x", {"stdout": "a.%A_%a", "stderr": "e.log"}, "x"),
        ("srun -oa-%t.log -l --label python train.py -o results", {"stdout": "a-%t.log"}, "python"),
        ("srun python train.py --output=model", {}, "python"),
        ("srun -n4 -W 30 --kill-on-bad-exit=1 --error e-%t python", {"stderr": "e-%t"}, "python"),
        ("sbatch -o first.log : -o second.log job.sh", {"stdout": "first.log"}, ":"),
        ("srun 'unclosed", {}, "'unclosed"),
        ("", {}, ""),
    ],
)
def test_options_of_a_command_end_at_its_program(command, patterns, program):
    assert output_files.read_command(command) == (patterns, program)


def test_script_tells_its_patterns(tmp_path):
    (tmp_path / "job.sh").write_text("#!/bin/bash\n#SBATCH -N2 # two\n#SBATCH --output=logs/%x.out\n#SBATCH -e e.log\n")
    assert output_files.read_script("job.sh", str(tmp_path)) == {"stdout": "logs/%x.out", "stderr": "e.log"}
    assert output_files.read_script("missing.sh", str(tmp_path)) == {}


KNOWN = {"j": "17", "A": "17", "a": "3", "x": "train+1", "u": "ada"}
PATTERNS = [
    ("slurm-%j.out", ["slurm-17.out"]),
    ("%x-%6j.log", ["train+1-000017.log"]),
    ("%A_%a.out", ["17_3.out"]),
    ("100%%.log", ["100%.log"]),
    ("a\\%j.log", ["a%j.log"]),
    ("r/%t.log", ["r/0.log", "r/11.log"]),
    ("r/%3t.log", ["r/007.log", "r/0.log", "r/11.log"]),
    ("%N/%t.err", ["cn01/0.err", "cn02/1.err"]),
    ("%N/none-%t", []),
]


@pytest.mark.parametrize(("pattern", "names"), PATTERNS)
def test_pattern_finds_its_files(tmp_path, pattern, names):
    for _, all_names in PATTERNS:
        for name in (*all_names, "r/x.log", "r/0.log.bak", "other/9.err.x"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("")
    found = output_files.find_files(pattern, KNOWN, str(tmp_path))
    assert {str(Path(path).relative_to(tmp_path)) for path in found} == {*names} | (
        {"r/007.log"} if "%t" in pattern and "r/" in pattern else set()
    )


def test_file_without_open_specifiers_is_told_even_if_it_is_not_there(tmp_path):
    assert output_files.find_files("missing/%j.out", KNOWN, str(tmp_path)) == [f"{tmp_path}/missing/17.out"]


# ── the poller ──


class Clock:
    def __init__(self) -> None:
        self.now = datetime.fromisoformat("2026-03-01T12:00:00")

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def slurm(monkeypatch):
    """Return the answers of Slurm by program and the state asked for. An answer that is None fails."""
    answers = {"sacct": "", "PD": "", "F": ""}

    def run(*command: str) -> str:
        key = command[0] if command[0] == "sacct" else command[command.index("-t") + 1].split(",")[0]
        if answers[key] is None:
            raise InputError("Slurm gave no answer", command[0])
        return answers[key]

    monkeypatch.setattr(polling, "run", run)
    return answers


def rows(*ends: tuple[str, str, str]) -> str:
    cells = ((job, job, state, "1:0", "2026-03-01T11:00:00", end) for job, state, end in ends)
    return "\n".join("".join(cell + PARTED for cell in row) for row in cells) + "\n"


def test_each_bad_end_is_told_once(slurm):
    clock = Clock()
    poller = polling.Poller(clock)
    slurm["sacct"] = rows(("7", "FAILED", "2026-03-01T12:00:30"), ("8", "CANCELLED by 1000", "2026-03-01T12:00:40"))
    clock.now += timedelta(minutes=1)
    assert [(e.job, e.state) for e in poller.poll()] == [("7", "FAILED"), ("8", "CANCELLED")]
    clock.now += timedelta(minutes=1)
    slurm["sacct"] += rows(("7", "TIMEOUT", "2026-03-01T12:01:50"))
    assert [(e.job, e.state) for e in poller.poll()] == [("7", "TIMEOUT")]  # it was put back, and ended again


def test_ends_before_the_first_look_and_jobs_that_never_started_are_not_told(slurm):
    clock = Clock()
    poller = polling.Poller(clock)
    slurm["sacct"] = rows(("7", "FAILED", "2026-03-01T11:59:59")) + rows(
        ("8", "CANCELLED", "2026-03-01T12:00:10")
    ).replace("2026-03-01T11:00:00", "None")
    clock.now += timedelta(minutes=1)
    assert [*poller.poll()] == []


def test_controller_is_asked_where_there_is_no_accounting(slurm):
    clock = Clock()
    poller = polling.Poller(clock)
    slurm |= {"sacct": None, "F": "7|7|TIMEOUT|2026-03-01T11:00:00|2026-03-01T12:00:30\n"}
    clock.now += timedelta(minutes=1)
    assert [(e.job, e.state) for e in poller.poll()] == [("7", "TIMEOUT")]


@pytest.mark.parametrize(
    ("reason", "told"), [("DependencyNeverSatisfied", 1), ("JobHeldUser", 1), ("Priority", 0), ("Resources", 0)]
)
def test_job_is_told_if_it_waits_for_what_never_comes(slurm, reason, told):
    slurm["PD"] = f"9|{reason}\n"
    poller = polling.Poller(Clock())
    assert len([*poller.poll()]) == told
    assert [*poller.poll()] == []


def test_notes_of_the_epilog_are_taken_and_other_files_left(tmp_path):
    poller = polling.Poller(Clock(), notes=tmp_path)
    (tmp_path / "README").write_text("")
    assert not poller.take_notes()
    (tmp_path / "4711").write_text("")
    assert poller.take_notes()
    assert [path.name for path in tmp_path.iterdir()] == ["README"]


# ── watching, and what lies in integrations/slurm ──


@pytest.fixture
def programs(site, tmp_path, monkeypatch):
    """Return the folder of the commands, with a logdoctor in it."""
    (tmp_path / "bin" / "logdoctor").write_text(f'#!/bin/sh\nexec {sys.executable} -m logdoctor "$@"\n')
    (tmp_path / "bin" / "logdoctor").chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    return tmp_path / "bin"


PAGE = (ROOT / "docs" / "slurm.md").read_text("utf-8")
COMMANDS = re.findall(r"^ {4}(\S.*)$", PAGE, re.MULTILINE)
WATCH = [command for command in COMMANDS if "--watch" in command]
SBATCH = """\
#!/bin/bash
while [[ $1 == -* ]]; do shift; done
exec bash "{root}/$1" "${{@:2}}"
"""


def test_commands_of_the_page_answer_by_id_and_from_the_folder(site, programs, tmp_path):
    job = site("memory")
    (programs / "sbatch").write_text(SBATCH.format(root=ROOT))
    (programs / "sbatch").chmod(0o755)
    for command in (command for command in COMMANDS if command not in WATCH):
        done = subprocess.run(
            ["bash", "-c", command.replace("48213", job)],
            env={**os.environ, "SLURM_SUBMIT_DIR": str(tmp_path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "memory ran out on node01" in done.stdout, (command, done.stderr)
    assert (tmp_path / "case-6" / "sacct.txt").is_file()
    assert (tmp_path / "logdoctor-6" / "sacct.txt").is_file()


@pytest.mark.parametrize("command", WATCH)
def test_watch_of_the_page_prints_a_line_keeps_the_job_and_calls_the_command(site, programs, tmp_path, command):
    job = site("memory")
    (programs / "sacct").rename(programs / "real-sacct")
    (programs / "real-sacct").write_text(FAKE.format(python=sys.executable).replace("here.name", '"sacct"'))
    (programs / "sacct").write_text('#!/bin/sh\ncase "$*" in *" -S "*) exit 1 ;; esac\nexec real-sacct "$@"\n')
    (programs / "squeue").write_text('#!/bin/sh\ncase "$*" in *PD*) ;; *) cat ended ;; esac\n')
    (tmp_path / "ended").write_text(f"{job}|{job}|FAILED|2026-11-29T09:32:09|2999-11-29T09:32:10\n")
    (tmp_path / "tell-us.sh").write_text("#!/bin/sh\ncat > answer.json\n")
    (tmp_path / "tell-us.sh").chmod(0o755)
    words = shlex.split(command.replace("/var/spool/logdoctor", ".").replace("$USER", "ada"))
    with subprocess.Popen(
        words,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,  # noqa: PLW1509
    ) as watching:
        line = watching.stdout.readline()
        limit = time.monotonic() + 30
        while "tell-us" in command and not (tmp_path / "answer.json").exists() and time.monotonic() < limit:
            time.sleep(0.05)
        watching.send_signal(signal.SIGINT)
        watching.communicate(timeout=30)
    assert line.split("\t")[1:5] == [job, "FAILED", "resubmit-with-changes", "failed"]
    assert "--collect" not in command or (tmp_path / "cases" / job / "output" / "slurm-6.out").is_file()


def test_epilog_drops_a_note_and_calls_no_command(tmp_path):
    epilog = (ROOT / "integrations" / "slurm" / "epilog.sh").read_text("utf-8")
    done = subprocess.run(
        ["/bin/sh", "-c", epilog],
        env={"PATH": "", "SLURM_JOB_ID": "4711", "LOGDOCTOR_NOTES": str(tmp_path)},
        check=False,
    )
    assert (done.returncode, [path.name for path in tmp_path.iterdir()]) == (0, ["4711"])
