"""Commands whose extra is missing name the command that installs it. All others work without any extra."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from failing_job import HEALTHY, LOG
from test_scan_bad_hosts import fleet

from logdoctor.archive.checkpoint_log import CheckpointWriter
from logdoctor.archive.clusters import EXTRAS
from logdoctor.classifier import SHIPPED_MODEL
from logdoctor.classifier.linear_model import load_model
from logdoctor.model import InputError
from logdoctor.model.extras import needs_extra

pytestmark = pytest.mark.usefixtures("clean_environment")

ROOT = Path(__file__).parent.parent
OF_EXTRAS = (
    *("pandas", "numpy", "scipy", "sklearn", "threadpoolctl", "joblib"),
    *("apprise", "fsspec", "pyarrow", "duckdb"),
    *("distributed", "dask", "dask_jobqueue", "dask_kubernetes"),
)
WITHOUT = f"import sys; sys.modules.update(dict.fromkeys({OF_EXTRAS}))\n"
COMMAND = WITHOUT + "from logdoctor.__main__ import main; main()"


def run(code: str, *args: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    """Make a folder of two jobs, one of them labelled, and results of a scan."""
    for name, text in (("bad", LOG), ("good", HEALTHY)):
        (tmp_path / "jobs" / name).mkdir(parents=True)
        (tmp_path / "jobs" / name / "job.log").write_text(text)
    (tmp_path / "jobs" / "good" / "case.yaml").write_text("label: healthy\n")
    (tmp_path / "results").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("extra", "command", "what"),
    [
        ("learn", "train -o model.json", "no classifier can be trained"),
        ("learn", "evaluate jobs", "answers cannot be scored"),
        ("scan", "events jobs -f parquet -o events.parquet", "Parquet cannot be written"),
        ("scan", "history results", "the history cannot be asked"),
        ("remote", "scan s3://bucket/jobs", "s3://bucket/jobs: cannot be opened"),
        ("remote", "diagnose s3://bucket/jobs", "s3://bucket/jobs: cannot be opened"),
        ("cluster", "scan jobs --scheduler tcp://127.0.0.1:9", "the cluster cannot be used"),
        ("cluster", "scan jobs --slurm", "slurm: the cluster cannot be used"),
        ("kubernetes", "scan jobs --kubernetes", "kubernetes: the cluster cannot be used"),
    ],
)
def test_command_without_its_extra_names_the_command_that_installs_it(extra, command, what, jobs):
    done = run(COMMAND, *command.split(), folder=jobs)
    assert done.returncode == 3, done
    assert f"help: pip install 'logdoctor[{extra}]'" in done.stderr
    assert f"{what}\n  why: " in done.stderr
    assert "is not installed" in done.stderr
    assert "Traceback" not in done.stderr


def test_data_frame_without_its_extra_names_the_command_that_installs_it():
    code = "import logdoctor, io; from logdoctor.notebook import ranks_frame\n"
    code += f"ranks_frame(logdoctor.diagnose(io.BytesIO({LOG.encode()!r})))"
    assert "help: pip install 'logdoctor[learn]'" in run(WITHOUT + code).stderr


@pytest.mark.parametrize(
    "command",
    [
        "diagnose jobs/bad",
        "report jobs/bad -o page.html",
        "events jobs/bad -f csv",
        "diff jobs/good jobs/bad",
        "explain 79",
        "rules list",
        "rules gaps jobs",
        "rules test cuda.oom",
        "scan jobs --out scanned --workers 1",
        "schema diagnosis",
    ],
)
def test_command_works_without_any_extra(command, jobs):
    done = run(COMMAND, *command.split(), folder=jobs)
    assert done.returncode == 0, done.stderr


def test_bad_hosts_are_found_without_any_extra(jobs):
    records, (name,) = fleet(3, 1, times=30)
    writer = CheckpointWriter(jobs / "results")
    for record in records:
        writer.add(record)
    writer.close()
    assert run(COMMAND, "fleet", "results", folder=jobs).returncode == 0
    assert name in (jobs / "fleet.html").read_text()


def test_classifier_gives_the_same_probabilities_without_any_extra():
    features = dict.fromkeys(range(0, 8192, 41), 0.1)
    code = "import json; from logdoctor.classifier import SHIPPED_MODEL as file\n"
    code += "from logdoctor.classifier.linear_model import load_model\n"
    code += f"print(json.dumps(load_model(file).probabilities({features})))"
    assert json.loads(run(WITHOUT + code).stdout) == load_model(SHIPPED_MODEL).probabilities(features)


def test_package_that_is_installed_but_broken_is_told_from_a_missing_one():
    with pytest.raises(InputError, match="why: libfoo cannot be opened"), needs_extra("learn", "no frame"):
        raise ImportError("libfoo cannot be opened", name="pandas")


def test_every_extra_that_is_asked_for_exists():
    extras = {*re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)}
    sources = "".join(path.read_text() for path in (ROOT / "logdoctor").rglob("*.py"))
    asked = {*re.findall(r'needs_extra\("(\w+)"', sources), *EXTRAS.values()}
    assert asked == {"learn", "scan", "remote", "cluster", "kubernetes"}
    assert asked <= extras
