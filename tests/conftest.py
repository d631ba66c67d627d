"""Fixtures and hooks for all tests.

They share one cache of the compiled pack, and the pack itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from failing_job import LOG, diagnose_log
from filelock import FileLock

from logdoctor.pipeline.knowledge import Knowledge, gather
from logdoctor.ruleset import shipped_rules

LONG_NAME = 1000
LOCALES = ("LC_ALL", "LC_MESSAGES", "LANG")


def pytest_configure(config):
    config.addinivalue_line("markers", "fuzz: random inputs; LOGDOCTOR_FUZZ=nightly runs a hundred thousand of them")


def pytest_make_parametrize_id(val, argname):
    """Shorten long ids. An id becomes an environment variable of programs that the test starts."""
    return f"{argname} of {len(val)}" if isinstance(val, (bytes, str)) and len(val) > LONG_NAME else None


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory) -> Iterator[Path]:
    """Yield the cache of a test run, for all workers and processes. The user's own cache is not touched.

    Errors of ours end each diagnosis, because a test must not pass without the record that breaks a reader.
    """
    base = tmp_path_factory.getbasetemp()
    parallel = "PYTEST_XDIST_WORKER" in os.environ
    folder = (base.parent if parallel else base) / "logdoctor-cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOGDOCTOR_CACHE", str(folder))
        patch.setenv("LOGDOCTOR_DEBUG", "1")
        yield folder


@pytest.fixture(scope="session")
def cache(cache_folder) -> Path:
    """Return the cache with the shipped rules compiled, once a run."""
    with FileLock(f"{cache_folder}.lock"):  # compiling takes seconds, so the other workers wait for the first
        gather([shipped_rules()])
    return cache_folder


@pytest.fixture(scope="session")
def knowledge(cache) -> Knowledge:
    """Return the pack of the shipped rules, loaded once a session."""
    return gather([shipped_rules()])


@pytest.fixture
def clean_environment(cache, monkeypatch) -> None:
    """Set English, no colours, no settings, and the cache of this session."""
    monkeypatch.setenv("LOGDOCTOR_CACHE", str(cache))
    monkeypatch.setenv("LOGDOCTOR_CONFIG", "")
    for name in (*LOCALES, "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def cause_of(knowledge):
    """Return a function that returns the first cause of a log, given line by line."""
    return lambda *lines: diagnose_log("\n".join(lines) + "\n", knowledge).causes[0]


@pytest.fixture
def log(tmp_path) -> Path:
    """Return the failing job's log in a folder of its own."""
    path = tmp_path / "job" / "train.log"
    path.parent.mkdir()
    path.write_text(LOG)
    return path
