"""The wheel holds all it needs, and works where nothing but it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

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
    assert {"logdoctor/_rules/signatures.tsv", "logdoctor/_rules/rule.schema.json"} <= names
    assert "logdoctor/classifier/model.json" in names
    assert {f"logdoctor/codes/data/{name}.tsv" for name in catalogues()} <= names
    assert {f"logdoctor/codes/words/{name}.tsv" for name in ("action", "blame", "page")} <= names
    assert any(n.startswith("logdoctor/render/templates/") for n in names)


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
