"""The wheel holds all it needs, and works where nothing but it is installed."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from email import message_from_bytes
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from logdoctor.codes import names as catalogues

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.10", "3.13")


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
    rules = {p.relative_to(ROOT / "rules").as_posix() for p in (ROOT / "rules").rglob("*.yaml")}
    assert {f"logdoctor/_rules/{r}" for r in rules} <= names
    beside = ("signatures.tsv", "failure_classes.tsv", "mechanism.tsv", "rule.schema.json")
    assert {f"logdoctor/_rules/{name}" for name in beside} <= names
    assert "logdoctor/classifier/model.json" in names
    assert {f"logdoctor/codes/data/{name}.tsv" for name in catalogues()} <= names
    assert {f"logdoctor/codes/words/{name}.tsv" for name in ("action", "blame", "page")} <= names
    assert any(n.startswith("logdoctor/render/templates/") for n in names)
    pages = {n.rpartition("/")[2] for n in names if ".data/data/share/man/man1/" in n}
    assert {"logdoctor.1", "logdoctor-diagnose.1", "logdoctor-scan.1"} <= pages


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


@pytest.mark.skipif(not os.environ.get("CI"), reason="installs from the package index; CI does it")
@pytest.mark.xdist_group("wheel")
@pytest.mark.parametrize("version", VERSIONS)
def test_an_installed_wheel_diagnoses_a_shipped_case(wheel, version, tmp_path):
    python = interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version} on this machine")
    subprocess.run([python, "-m", "venv", tmp_path / "venv"], check=True, timeout=120)
    binaries = tmp_path / "venv" / "bin"
    install = [binaries / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel]
    subprocess.run(install, check=True, timeout=600)
    case = ROOT / "corpus" / "lightning-resume-straggler" / "train.log"
    environment = {**os.environ, "LOGDOCTOR_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [binaries / "logdoctor", "diagnose", "-q", case],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )
    assert "collective.straggler" in done.stdout
