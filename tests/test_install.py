"""The wheel holds all it needs, and works where nothing but it is installed."""

from __future__ import annotations

import importlib.metadata
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from email import message_from_bytes
from pathlib import Path

import pytest
from corpus_cases import CASES
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tutorial import follow

import logdoctor
from logdoctor.codes import names as catalogues
from logdoctor.pipeline.knowledge import gather, rule_folders

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "benchmarks"))
import one_file  # noqa: E402 - a folder of scripts
from install import disk_bytes, extras  # noqa: E402

RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"
VERSIONS = sorted({"3.10", RUNNING, "3.13"})
OUTSIDE = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
"""The environment without what points to the checkout."""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return next(out.glob("*.whl"))


def interpreter(version: str) -> str | None:
    """A Python of that version on this machine: on the path, or where pyenv keeps them."""
    managed = sorted(str(p) for p in Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    running = sys.executable if sys.version.startswith(version + ".") else None
    return next(iter(managed), None) or running or _works(shutil.which(f"python{version}"))


def _works(python: str | None) -> str | None:
    """The interpreter, unless it only stands in for one that is not installed (pyenv's shims)."""
    return python if python and subprocess.run([python, "-c", ""], check=False).returncode == 0 else None


@pytest.mark.xdist_group("wheel")
def test_the_wheel_holds_rules_templates_schemas_and_the_models_numbers(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert not any(name.startswith("logdoctor/formats/") for name in names)  # they are compiled
    rules = {p.relative_to(ROOT / "rules").as_posix() for p in (ROOT / "rules").rglob("*.yaml")}
    packed = zipfile.ZipFile(io.BytesIO(zipfile.ZipFile(wheel).read("logdoctor/_rules/rules.zip"))).namelist()
    assert {f"logdoctor/_rules/{r}" for r in rules.difference(packed)} <= names
    assert {r for r in rules if not r.startswith("i18n/")} == {*packed}
    beside = (
        "signatures.tsv",
        "failure_classes.tsv",
        "mechanism.tsv",
        "rule.schema.json",
        "defects.tsv",
        "packages.tsv",
    )
    assert {f"logdoctor/_rules/{name}" for name in beside} <= names
    assert "logdoctor/classifier/model.json.gz" in names
    assert {f"logdoctor/codes/data/{name}.tsv" for name in catalogues()} <= names
    assert {f"logdoctor/codes/words/{name}.tsv" for name in ("action", "blame", "page")} <= names
    assert any(n.startswith("logdoctor/render/templates/") for n in names)
    pages = {n.rpartition("/")[2] for n in names if ".data/data/share/man/man1/" in n}
    assert {"logdoctor.1", "logdoctor-diagnose.1", "logdoctor-scan.1"} <= pages
    (entry_points,) = (n for n in names if n.endswith(".dist-info/entry_points.txt"))
    assert "[pytest11]" in zipfile.ZipFile(wheel).read(entry_points).decode()


def test_one_file_is_made_for_every_python_that_we_support():
    (supported,) = re.findall(r"With Python (3\.\d+) to (3\.\d+)", (ROOT / "README.md").read_text("utf-8"))
    first, last = (int(version.partition(".")[2]) for version in supported)
    (made,) = re.findall(r"^PYTHONS := (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert made.split() == [f"cp-3.{minor}.0-cp3{minor}" for minor in range(first, last + 1)]
    assert [f"3.{minor}" for minor in range(first, last + 1)] == list(one_file.VERSIONS)


def test_page_of_the_install_tells_the_size_of_every_extra():
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    assert sorted(re.findall(r"^\| `(\w+)` \| \d+ MB", page, re.MULTILINE)) == sorted(extras())


def requirements(wheel: Path) -> list[str]:
    """Return what the wheel requires, with the markers."""
    archive = zipfile.ZipFile(wheel)
    (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
    return message_from_bytes(archive.read(name)).get_all("Requires-Dist")


def packages(lines: Iterable[str]) -> set[str]:
    """Return the names of the packages that a plain install of ``lines`` brings, by what is installed here."""
    found: set[str] = set()
    todo = [*lines]
    while todo:
        package = Requirement(todo.pop())
        name = canonicalize_name(package.name)
        if name not in found and (package.marker is None or package.marker.evaluate({"extra": ""})):
            found.add(name)
            todo += importlib.metadata.requires(name) or []
    return found


@pytest.mark.skipif(sys.version_info < (3, 11), reason="older Pythons need packages that newer ones have built in")
@pytest.mark.xdist_group("wheel")
def test_a_plain_install_brings_at_most_18_packages_and_no_table_library(wheel):
    brought = packages(requirements(wheel))
    assert not brought & {"pandas", "numpy", "scipy", "scikit-learn", "zstandard", "pyarrow"}
    assert {"regex", "typer", "jinja2", "rich"} <= brought
    assert len(brought | {"logdoctor"}) <= 18, sorted(brought)


@pytest.mark.xdist_group("wheel")
def test_extra_learn_brings_pandas_and_scikit_learn(wheel):
    markers = {Requirement(line).name: Requirement(line).marker for line in requirements(wheel)}
    assert all(markers[name].evaluate({"extra": "learn"}) for name in ("pandas", "scikit-learn"))


@pytest.fixture(scope="session")
def environments() -> dict[str, Path]:
    """Return the environments of `installed`. A parametrized fixture of the session would be made again and again."""
    return {}


@pytest.fixture
def installed(request, wheel, environments, tmp_path_factory) -> Path:
    """Return the programs of an environment outside of the checkout with nothing but the wheel and what it needs."""
    python = interpreter(request.param)
    if python is None:
        pytest.skip(f"no Python {request.param} on this machine")
    if request.param != RUNNING and not os.environ.get("CI"):
        pytest.skip("CI installs for other Pythons too")
    if request.param not in environments:
        venv = tmp_path_factory.mktemp("venv")
        subprocess.run([python, "-m", "venv", venv], check=True, timeout=120)
        pip = [venv / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, wheel], check=True, timeout=600, env=OUTSIDE)
        environments[request.param] = venv / "bin"
    return environments[request.param]


@pytest.fixture
def run(installed, tmp_path, monkeypatch):
    """Return a function that runs a line of a shell in an empty folder with the installed programs."""
    monkeypatch.chdir(tmp_path)
    path = f"{installed}{os.pathsep}{os.environ['PATH']}"
    environment = {**OUTSIDE, "PATH": path, "LOGDOCTOR_CACHE": str(installed.parent / "cache"), "LC_ALL": "C.UTF-8"}

    def run(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env=environment,
        )

    return run


def files_of_readme() -> None:
    """Lay the logs that README's commands name into the current folder."""
    corpus = ROOT / "corpus"
    shutil.copytree(corpus / "xdit-socket-abort", "job-folder")
    for place in ("BAD", "archive/a"):
        shutil.copytree(corpus / "lightning-resume-straggler", place)
    for place in ("GOOD", "archive/b"):
        shutil.copytree(corpus / "finetune-trainer", place)
    for name in ("crash.log", "slurm-4711.out", "slurm-4711.err"):
        shutil.copy(corpus / "lightning-resume-straggler" / "train.log", name)


only_running = pytest.mark.parametrize("installed", [RUNNING], indirect=True)


@only_running
@pytest.mark.xdist_group("wheel")
def test_commands_of_readme_answer_where_only_the_wheel_is_installed(run):
    files_of_readme()
    commands = re.findall(
        r"^    ((?:cat .* \| )?logdoctor\b.*)$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(commands) >= 11
    for command in commands:
        done = run(command)
        assert (done.returncode, "Not read" in done.stdout) == (0, False), (command, done.stdout, done.stderr)
        assert done.stdout + done.stderr, command


@pytest.mark.parametrize("installed", VERSIONS, indirect=True)
@pytest.mark.xdist_group("wheel")
def test_demo_and_python_example_work_where_only_the_wheel_is_installed(run):
    files_of_readme()
    assert "collective.straggler" in run("logdoctor diagnose BAD").stdout
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    Path("example.py").write_text(example)
    assert run("python example.py").stdout.startswith("failed\nnet.socket-connect ")


ANSWERS = """
import json, sys, logdoctor
from logdoctor.pipeline.knowledge import gather, rule_folders
knowledge = gather(rule_folders())
print(json.dumps([logdoctor.diagnose(case, knowledge=knowledge).to_dict() for case in sys.argv[1:]]))
"""


@only_running
@pytest.mark.xdist_group("wheel")
def test_wheel_gives_the_answers_of_the_checkout(run):
    cases = [str(case) for case in CASES[:: len(CASES) // 12]]
    Path("answers.py").write_text(ANSWERS)
    told = json.loads(run(f"python answers.py {shlex.join(cases)}").stdout)
    knowledge = gather(rule_folders())
    assert len(cases) >= 12
    for case, answer in zip(cases, told, strict=True):
        assert answer == json.loads(logdoctor.diagnose(case, knowledge=knowledge).to_json()), case


@only_running
@pytest.mark.xdist_group("wheel")
def test_bash_completes_rules_where_only_the_wheel_is_installed(run):
    asked = "COMP_WORDS='logdoctor explain cuda.gs' COMP_CWORD=2 _LOGDOCTOR_COMPLETE=complete_bash logdoctor"
    assert run(asked).stdout == "cuda.gsp\n"


@only_running
@pytest.mark.xdist_group("wheel")
def test_own_rules_work_where_only_the_wheel_is_installed(run):
    def call(arguments: str) -> str:
        done = run(f"logdoctor {arguments}")
        return done.stdout + done.stderr

    assert follow("rules.md", call) == 7
    assert json.loads(run("logdoctor --json --rules my-rules job.log").stdout)["problems"] == []


@pytest.mark.skipif(sys.version_info < (3, 11), reason="older Pythons need packages that newer ones have built in")
@only_running
@pytest.mark.xdist_group("wheel")
def test_a_plain_install_takes_at_most_50_megabytes(installed):
    assert sum(disk_bytes(installed / "python").values()) <= 50e6
