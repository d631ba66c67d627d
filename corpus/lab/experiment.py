"""Experiments of the failure lab, their needs, and the case.yaml of an experiment."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml
from bench import Bench

LAB = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Needs:
    """The needs of an experiment. The lab skips an experiment, and says why, if a need is missing."""

    environment: str = ""
    """A file of environments/, without its ending."""
    root: bool = False
    gpu: bool = False
    programs: tuple[str, ...] = ()
    """Programs on the PATH: gdb, mpirun.openmpi …"""
    packages: tuple[str, ...] = ()
    """Debian packages that hold them (installed by root with --install)."""
    paths: tuple[str, ...] = ()
    """Paths that must exist, such as a controller of cgroups."""


@dataclass(frozen=True)
class Experiment:
    """A program, a fault put into it, and the truth about the failure."""

    case: str
    """The folder in corpus/, such as ``killed-rank-gloo``."""
    label: str
    """The signature of the fault, or healthy, or unknown if the log does not hold the cause."""
    title: str
    story: str
    """Two to four sentences: the program, the fault put into it, and the visible effect."""
    run: Callable[[Bench], None]
    needs: Needs = field(default_factory=Needs)
    culprit: Mapping[str, Any] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    """Signatures that are right too."""
    evidence: tuple[str, ...] = ()
    """Pieces of the log. The evidence of the diagnosis must hold one of them."""
    hung: bool = False
    seconds: float = 300
    """The hard limit. The lab kills all processes that still run."""
    expected_wrong: str = ""
    """Why logdoctor does not find the truth yet. The lab writes no such case."""
    suite: str = ""
    """The file of the experiment; filled in by `experiments`."""

    @property
    def family(self) -> str:
        """The first word of the suite: torch, mpi, slurm …"""
        return self.suite.partition("_")[0]

    def about(self, versions: Mapping[str, str]) -> dict[str, Any]:
        """Return the content of ``case.yaml``, without ``expect``."""
        content: dict[str, Any] = {"label": self.label, "title": self.title}
        if self.also:
            content["also"] = list(self.also)
        content |= {"culprit": dict(self.culprit), "evidence": list(self.evidence), "made": "captured"}
        content |= {"versions": dict(versions), "licence": "Apache-2.0", "story": " ".join(self.story.split()) + "\n"}
        if self.hung:
            content["hung"] = True
        return content


def write(folder: Path, about: Mapping[str, Any]) -> None:
    """Write ``case.yaml`` into the folder of a case."""
    text = yaml.dump(dict(about), Dumper=_Prose, sort_keys=False, allow_unicode=True, width=118)
    (folder / "case.yaml").write_text(text, "utf-8")


class _Prose(yaml.SafeDumper):
    """YAML that folds a text which ends in a newline, such as the story."""


def _prose(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=">" if text.endswith("\n") else None)


_Prose.add_representer(str, _prose)


def experiments(folder: Path = LAB / "experiments") -> Iterator[Experiment]:
    """Return the experiments of all files in the folder."""
    for path in sorted(folder.glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"experiments_{path.stem}", path)
        if spec is None or spec.loader is None:
            raise ImportError(path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield from (replace(e, suite=path.stem) for e in module.EXPERIMENTS)
