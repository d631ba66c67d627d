"""Help, version and `logdoctor events`."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from command_line import call, program

from logdoctor.version import __version__

pytestmark = pytest.mark.usefixtures("clean_environment")


def test_help_names_every_command():
    out = call("--help").stdout
    assert all(f"\n  {command} " in out for command in ("diagnose", "events", "rules"))


@pytest.mark.parametrize(
    "command",
    [["diagnose"], ["events"], ["rules"], ["rules", "list"], ["rules", "test"], ["rules", "new"], ["rules", "gaps"]],
)
def test_every_command_has_help(command):
    assert "Usage:" in call(*command, "--help").stdout


def test_version_is_printed():
    assert call("--version").stdout == f"logdoctor {__version__}\n"


def test_the_module_runs_as_a_program():
    assert program("--version").stdout == f"logdoctor {__version__}\n".encode()


def test_help_loads_nothing_heavy():
    code = "import sys, logdoctor.cli; sys.exit(bool({'pandas', 'sklearn', 'jinja2', 'hyperscan', 'yaml'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_diagnosis_loads_few_packages(log, clean_environment):
    code = (
        "import sys\nfrom importlib.metadata import packages_distributions\nfrom logdoctor.__main__ import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "homes = packages_distributions()\n"
        "print('packages:', *{d for m in sys.modules for d in homes.get(m.partition('.')[0], ())})"
    )
    command = [sys.executable, "-c", code, "-q", str(log)]
    for _ in range(2):  # the packs of other tests may have pushed the shipped one out of the cache
        done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=60)
    last = done.stdout.splitlines()[-1]
    needed = {"logdoctor", "annotated-doc", "hyperscan", "msgspec", "regex", "shellingham", "typer"}
    of_this_python = {"pip", "setuptools", "typing_extensions"}  # loaded where they are there
    assert {*last.split()} - of_this_python <= needed | {"packages:"}


def test_events_are_json_lines_with_their_place(log):
    records = [json.loads(line) for line in call("events", log).stdout.splitlines()]
    assert ("python.traceback", 7, 3) in [(e["kind"], e["line"], e.get("rank")) for e in records]
    assert all(e["file"] == str(log) for e in records)
