"""What the lab has made so far: a run that was interrupted goes on where it stopped, a second one has little to do."""

from __future__ import annotations

import hashlib
from pathlib import Path

from bench import LAB
from experiment import Experiment


class Journal:
    """A line a case: its folder, and the digest of the experiment that has made it."""

    def __init__(self, path: Path) -> None:
        """Read what earlier runs have written."""
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lines = set(path.read_text("utf-8").splitlines()) if path.exists() else set()

    def has(self, experiment: Experiment) -> bool:
        """Whether this experiment, as it reads now, has made its case in the working directory."""
        return _line(experiment) in self._lines

    def add(self, experiment: Experiment) -> None:
        """Note that the case is made."""
        self._lines.add(_line(experiment))
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{_line(experiment)}\n")


def _line(experiment: Experiment) -> str:
    return f"{Path(experiment.case).resolve()} {_digest(experiment)}"


def _digest(experiment: Experiment) -> str:
    """What the experiment is: the text of its suite, and the versions of its environment."""
    environment = experiment.needs.environment
    paths = [LAB / "experiments" / f"{experiment.suite}.py"]
    paths += [LAB / "environments" / f"{environment}.txt"] if environment else []
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]
