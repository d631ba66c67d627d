"""What all tests share: the fuzz marker, one cache of compiled knowledge, and that knowledge itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from failing_job import LOG
from filelock import FileLock

from logdoctor.knowledge import Knowledge, gather
from logdoctor.rulebook import shipped_rules

LOCALES = ("LC_ALL", "LC_MESSAGES", "LANG")


def pytest_configure(config):
    config.addinivalue_line("markers", "fuzz: random inputs; LOGDOCTOR_FUZZ=nightly runs a hundred thousand of them")


@pytest.fixture(scope="session")
def cache(tmp_path_factory) -> Path:
    """One folder for compiled knowledge: rules are compiled once a run, whichever worker or process comes first."""
    base = tmp_path_factory.getbasetemp()
    parallel = "PYTEST_XDIST_WORKER" in os.environ
    folder = (base.parent if parallel else base) / "logdoctor-cache"
    with FileLock(f"{folder}.lock"):  # compiling takes seconds: the other workers wait for the first
        _gathered(folder)
    return folder


@pytest.fixture(scope="session")
def knowledge(cache) -> Knowledge:
    """The shipped rules and all parsers, loaded once a session."""
    return _gathered(cache)


def _gathered(cache: Path) -> Knowledge:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOGDOCTOR_CACHE", str(cache))
        return gather([shipped_rules()])


@pytest.fixture
def surroundings(cache, monkeypatch) -> None:
    """English, no colours asked for, no settings, and compiled knowledge of this session only."""
    monkeypatch.setenv("LOGDOCTOR_CACHE", str(cache))
    monkeypatch.setenv("LOGDOCTOR_CONFIG", "")
    for name in (*LOCALES, "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def log(tmp_path) -> Path:
    """The failing job's log in a folder of its own."""
    path = tmp_path / "job" / "train.log"
    path.parent.mkdir()
    path.write_text(LOG)
    return path
