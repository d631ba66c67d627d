"""Plug-ins for pytest, Lightning and GitHub Actions, as docs/plugins.md shows them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import types
from importlib import import_module
from pathlib import Path

import pytest
import yaml
from failing_job import LOG
from stored_schemas import validator

pytestmark = pytest.mark.usefixtures("clean_environment")

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "plugins.md").read_text("utf-8")
ACTION_FILE = ROOT / "integrations" / "github-action" / "action.yml"
ACTION = yaml.safe_load(ACTION_FILE.read_text("utf-8"))
WORKFLOW = yaml.safe_load(re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1])

# ── pytest ──

TESTS = f"""
import subprocess
LOG = {LOG!r}

def test_job_that_fails():
    subprocess.run(["cat"], input=LOG, text=True, check=True)
    assert False

def test_without_output():
    assert False

def test_of_a_calm_program():
    print("step 1 loss 3.10")
    assert False

def test_that_passes():
    print(LOG)
"""


@pytest.mark.parametrize(("options", "answers"), [(["--logdoctor"], 1), ([], 0)])
def test_failed_test_gets_the_answer_of_its_output(options, answers, tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_train.py").write_text(TESTS)
    plugins = ["-p", "logdoctor.plugins.pytest_plugin", "-p", "no:cacheprovider"]
    assert re.search(r"^    pytest --logdoctor tests/$", PAGE, re.MULTILINE)
    command = [sys.executable, "-m", "pytest", *plugins, *options, "tests/"]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # an install names the plug-in by its entry point
    done = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True, check=False, timeout=60)
    assert "3 failed, 1 passed" in done.stdout
    sections = re.findall(r"^-+ logdoctor -+\n(.*?)(?=^_{5}|^={5})", done.stdout, re.DOTALL | re.MULTILINE)
    assert len(sections) == answers
    assert all("cuda.oom · rank 3" in section for section in sections)


def test_pytest_finds_the_plugin_by_its_entry_point():
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert '[project.entry-points.pytest11]\nlogdoctor = "logdoctor.plugins.pytest_plugin"\n' in project


# ── Lightning ──


@pytest.fixture(params=["lightning", "pytorch_lightning"])
def callbacks(request, monkeypatch):
    """The module of the callback, with a stand-in for the package that it finds."""
    lightning = types.ModuleType("stand-in")
    lightning.Callback, lightning.Trainer = object, lambda callbacks, max_epochs: (*callbacks, max_epochs)
    for name in ("lightning", "lightning.pytorch", "pytorch_lightning"):
        monkeypatch.setitem(sys.modules, name, lightning if name.startswith(request.param) else None)
    monkeypatch.delitem(sys.modules, "logdoctor.plugins.lightning_callback", raising=False)
    return import_module("logdoctor.plugins.lightning_callback")


def fails(module, rank: int, *logs: str, text: str = "CUDA out of memory. Tried to allocate 2.00 GiB") -> None:
    module.LogDoctor(*logs).on_exception(types.SimpleNamespace(global_rank=rank), None, RuntimeError(text))


@pytest.mark.parametrize("rank", [0, 7])
def test_exception_of_a_rank_is_answered_without_a_log(rank, callbacks, capsys):
    fails(callbacks, rank)
    told = capsys.readouterr().err
    assert re.search(rf"cuda\.oom · rank {rank} .*Proof\n  rank{rank}\.log:", told, re.DOTALL)


def test_rank_that_is_not_to_blame_prints_one_line(callbacks, capsys, tmp_path):
    (tmp_path / "job.log").write_text(LOG)
    fails(callbacks, 1, f"{tmp_path}/*.log", text="connection closed by peer")
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.startswith("resubmit-with-changes\tfailed\tcuda.oom\t")


def test_missing_log_hides_no_exception(callbacks, capsys):
    fails(callbacks, 0, "no-such-folder/")
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("end", [KeyboardInterrupt(), SystemExit(0)])
def test_wanted_end_is_no_failure(end, callbacks, capsys):
    callbacks.LogDoctor().on_exception(types.SimpleNamespace(global_rank=0), None, end)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("callbacks", ["lightning"], indirect=True)
def test_documented_callback_can_be_made(callbacks):
    names: dict[str, object] = {}
    exec(compile(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1], "plugins.md", "exec"), names)  # noqa: S102
    assert names["trainer"][0].logs == ("slurm-48213.out",)


# ── GitHub Actions ──


def step(name: str) -> dict:
    (found,) = (step for step in ACTION["runs"]["steps"] if step["name"] == name)
    return found


def run(step: dict, folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run a step of the action as a runner does, in ``folder``."""
    given = {name: about.get("default", "") for name, about in ACTION["inputs"].items()} | inputs
    variables = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda m: given[m[1]], value) for name, value in step["env"].items()
    }
    env = {
        **os.environ,
        **variables,
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "RUNNER_TEMP": str(folder),
        "GITHUB_ACTION_PATH": str(ACTION_FILE.parent),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "GITHUB_OUTPUT": str(folder / "output"),
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=60)


def script(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


@pytest.fixture
def runner(tmp_path):
    """A folder of a runner in which logdoctor is installed, with the log of a job."""
    script(tmp_path / "logdoctor" / "bin" / "logdoctor", f'exec {sys.executable} -m logdoctor "$@"')
    (tmp_path / "train.log").write_text(LOG)
    return tmp_path


def test_action_and_workflow_fit_their_schemas():
    validator("github-action").validate(ACTION)
    validator("github-workflow").validate({("on" if key is True else key): value for key, value in WORKFLOW.items()})


def test_workflow_uses_the_action_with_its_inputs():
    steps = WORKFLOW["jobs"]["train"]["steps"]
    (used,) = (each for each in steps if "integrations/github-action@" in each.get("uses", ""))
    assert {*used["with"]} <= {*ACTION["inputs"]}
    assert {name for name, about in ACTION["inputs"].items() if about.get("required")} <= {*used["with"]}
    assert steps[-1]["with"]["sarif_file"] == ACTION["inputs"]["sarif"]["default"]
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == [*ACTION["inputs"]]


def test_no_script_of_the_action_holds_an_expression():
    """An input that a script held could be a command."""
    assert [each["name"] for each in ACTION["runs"]["steps"] if "${{" in each.get("run", "")] == []


@pytest.mark.parametrize("logs", ["train.log\n", "*.log\n\n"])
def test_action_answers_in_log_summary_sarif_and_outputs(logs, runner):
    done = run(step("Diagnose"), runner, logs=logs)
    assert (done.returncode, done.stderr) == (0, "")
    assert "cuda.oom · rank 3" in done.stdout
    assert "cuda.oom" in (runner / "summary.md").read_text("utf-8")
    assert json.loads((runner / "logdoctor.sarif").read_text("utf-8"))["runs"][0]["results"][0]["ruleId"] == "cuda.oom"
    outputs = dict(line.split("=", 1) for line in (runner / "output").read_text("utf-8").splitlines())
    assert outputs == {"decision": "resubmit-with-changes", "verdict": "failed", "signature": "cuda.oom"}
    assert {*outputs} == {*ACTION["outputs"]}


def test_logs_of_the_action_are_no_options_and_no_commands(runner):
    done = run(step("Diagnose"), runner, logs="--output=train.log\n$(touch hacked)\n")
    assert done.returncode == 3
    assert (runner / "train.log").read_text("utf-8") == LOG
    assert not (runner / "hacked").exists()


@pytest.mark.parametrize(("package", "wanted"), [("logdoctor==0.2.0", "logdoctor==0.2.0"), ("", "ACTION/../..")])
def test_action_installs_the_package_or_its_own_revision(package, wanted, tmp_path):
    pip = 'mkdir -p "$3/bin"; printf \'#!/bin/sh\\necho "$@" > pip\\n\' > "$3/bin/pip"; chmod +x "$3/bin/pip"'
    script(tmp_path / "bin" / "python3", pip)
    assert run(step("Install logdoctor"), tmp_path, package=package).returncode == 0
    installed = (tmp_path / "pip").read_text("utf-8").split()[-1]
    assert installed == wanted.replace("ACTION", str(ACTION_FILE.parent))
    assert package or (Path(installed).resolve() / "pyproject.toml").exists()
