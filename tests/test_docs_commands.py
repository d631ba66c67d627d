"""Commands on the pages about ways to use logdoctor, run in the order of their page where its files are there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import RUN
from failing_job import HEALTHY, LOG

from logdoctor.cli.commands import app

pytestmark = pytest.mark.usefixtures("clean_environment")

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = ("exclude", "fleet", "install", "live", "reports", "sharing")
FAILING = ("--exit-code", "--exit-on failed", "srun")
"""Parts of commands that end with 1: they are asked to, or their job fails."""
IN_ITS_OWN_PROCESS = ("run", "watch")


def hear_interrupts() -> None:
    """Let a child hear SIGINT, which is ignored where the tests run in the background of a shell."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def commands(page: str) -> list[str]:
    """Return the commands of a page, without comments and pipes."""
    lines = re.findall(r"^ {4}(logdoctor .*)$", (DOCS / f"{page}.md").read_text("utf-8"), re.MULTILINE)
    return [re.split(r" +#| \| ", line)[0].strip() for line in lines]


@pytest.fixture
def site(tmp_path, monkeypatch) -> Path:
    """Change into a folder that holds the files which the pages name, and programs that they start."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "slurm-48213.out": HEALTHY,
        "shared/logs/48213/rank0.log": LOG,
        "job-folder/job.log": LOG,
        "JOB": LOG,
        "BAD": LOG,
        "GOOD": HEALTHY,
        "archive/a/job.log": LOG,
        "archive/b/job.log": HEALTHY,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name, script in {
        "torchrun": f"cat <<'END'\n{HEALTHY}END",
        "srun": f"cat <<'END'\n{LOG}END\nexit 1",
        "tell-us.sh": "cat > told.json",
        "logdoctor": f'exec {sys.executable} -m logdoctor "$@"',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def run(command: str) -> tuple[int, str]:
    """Run a command and return its exit code and what it printed."""
    words = shlex.split(command)
    if words[1] in IN_ITS_OWN_PROCESS:
        return run_process(words)
    result = RUN.invoke(app, words[1:], prog_name="logdoctor")
    return result.exit_code, result.output


def run_process(words: list[str]) -> tuple[int, str]:
    """Run a command as a process. One that would go on for ever is interrupted after its first line."""
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=hear_interrupts,  # noqa: PLW1509
    ) as process:
        if words[1] == "watch" and "--exit-on" not in words:
            printed = process.stdout.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 128 + signal.SIGINT
            return 0, printed
        return process.wait(60), process.stdout.read()


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page_work(page, site):
    found = commands(page)
    assert found
    for command in found:
        code, printed = run(command.replace("/shared/", f"{site}/shared/"))
        wanted = int(any(part in command for part in FAILING))
        assert code == wanted, (command, printed)
        assert "Not read" not in printed


def test_command_at_a_failure_gets_the_diagnosis(site):
    (command,) = (line for line in commands("live") if "--on-failure" in line)
    run(command.replace("/shared/", f"{site}/shared/"))
    assert '"signature": "cuda.oom"' in (site / "told.json").read_text("utf-8")


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
def test_targets_of_make_on_the_page_of_the_install_exist():
    targets = re.findall(r"^ {4}make (\w+)", (DOCS / "install.md").read_text("utf-8"), re.MULTILINE)
    assert targets == ["wheel", "pyz"]
    done = subprocess.run(["make", "-n", *targets], cwd=DOCS.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
