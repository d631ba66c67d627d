"""pytest plug-in: ``pytest --logdoctor`` shows the answer beside a failed test whose output tells of a failure.

It is installed with logdoctor, and does nothing without the option.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress

import pytest

import logdoctor


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "Show what went wrong first in the output of a failed test, such as that of the ranks that it started."
    parser.getgroup("logdoctor").addoption("--logdoctor", action="store_true", help=text)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    printed = f"{report.capstdout}\n{report.capstderr}"
    if report.failed and printed.strip() and item.config.getoption("--logdoctor"):
        with suppress(Exception):  # a fault of ours must not end the tests
            diagnosis = logdoctor.diagnose(text=printed)
            if diagnosis.answer:
                report.sections.append(("logdoctor", str(diagnosis)))
    return report
