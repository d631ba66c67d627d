"""What all tests share: the fuzz marker, one cache of compiled knowledge, and that knowledge itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from failing_job import LOG
from filelock import FileLock

from logdoctor.knowledge import Knowledge, gather
from logdoctor.rulebook import shipped_rules

LONG_NAME = 1000
LOCALES = ("LC_ALL", "LC_MESSAGES", "LANG")


def pytest_configure(config):
    config.addinivalue_line("markers", "fuzz: random inputs; LOGDOCTOR_FUZZ=nightly runs a hundred thousand of them")


def pytest_make_parametrize_id(val, argname):
    """A test is named in an environment variable of every program that it starts: long texts do not fit there."""
    return f"{argname} of {len(val)}" if isinstance(val, (bytes, str)) and len(val) > LONG_NAME else None


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory) -> Iterator[Path]:
    """Where compiled knowledge is kept during a run, by all workers and processes: never in the user's own cache."""
    base = tmp_path_factory.getbasetemp()
    parallel = "PYTEST_XDIST_WORKER" in os.environ
    folder = (base.parent if parallel else base) / "logdoctor-cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOGDOCTOR_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def cache(cache_folder) -> Path:
    """The same folder with the shipped rules compiled, once a run, whichever worker comes first."""
    with FileLock(f"{cache_folder}.lock"):  # compiling takes seconds: the other workers wait for the first
        gather([shipped_rules()])
    return cache_folder


@pytest.fixture(scope="session")
def knowledge(cache) -> Knowledge:
    """The shipped rules and all parsers, loaded once a session."""
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
