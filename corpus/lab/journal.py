"""The cases made so far, so that an interrupted run can go on."""

from __future__ import annotations

import hashlib
from pathlib import Path

from bench import LAB
from experiment import Experiment


class Journal:
    """A file with the folder of each case and the digest of its experiment."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lines = set(path.read_text("utf-8").splitlines()) if path.exists() else set()

    def has(self, experiment: Experiment) -> bool:
        """Tell whether the case was made from this text of the experiment."""
        return _line(experiment) in self._lines

    def add(self, experiment: Experiment) -> None:
        self._lines.add(_line(experiment))
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{_line(experiment)}\n")


def _line(experiment: Experiment) -> str:
    return f"{Path(experiment.case).resolve()} {_digest(experiment)}"


def _digest(experiment: Experiment) -> str:
    """Return a digest of the suite and of its environment."""
    environment = experiment.needs.environment
    paths = [LAB / "experiments" / f"{experiment.suite}.py"]
    paths += [LAB / "environments" / f"{environment}.txt"] if environment else []
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]
