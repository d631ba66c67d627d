"""The nouns of the failure lab: an experiment, what it needs, and the case that is written from it."""

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
    """What must be there to run an experiment; what lacks is named and the experiment skipped."""

    environment: str = ""
    """A file of environments/, without its ending."""
    root: bool = False
    gpu: bool = False
    programs: tuple[str, ...] = ()
    """Programs on the PATH: gdb, mpirun.openmpi …"""
    packages: tuple[str, ...] = ()
    """Debian packages that hold them (installed by root with --install)."""
    paths: tuple[str, ...] = ()
    """What must be there in the file system: a controller of cgroups …"""


@dataclass(frozen=True)
class Experiment:
    """One program, one fault that is put into it, and the truth about what then happens."""

    case: str
    """Its folder in corpus/, such as ``killed-rank-gloo``."""
    label: str
    """The signature of the fault that is made, healthy, or unknown where the log does not let anybody know."""
    title: str
    story: str
    """Two to four sentences: the program, the fault put into it, and what one sees."""
    run: Callable[[Bench], None]
    needs: Needs = field(default_factory=Needs)
    culprit: Mapping[str, Any] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    """Signatures that are right too."""
    evidence: tuple[str, ...] = ()
    """Pieces of the log; one of them must be among the proofs."""
    hung: bool = False
    seconds: float = 300
    """The hard limit; everything still running is killed then."""
    expected_wrong: str = ""
    """Why logdoctor cannot say it yet; such a case is not written."""
    suite: str = ""
    """The file it stands in; filled in by `experiments`."""

    @property
    def family(self) -> str:
        """The first word of its suite: torch, mpi, slurm …"""
        return self.suite.partition("_")[0]

    def about(self, versions: Mapping[str, str]) -> dict[str, Any]:
        """What its ``case.yaml`` says."""
        told: dict[str, Any] = {"label": self.label, "title": self.title}
        if self.also:
            told["also"] = list(self.also)
        told |= {"culprit": dict(self.culprit), "evidence": list(self.evidence), "made": "captured"}
        told |= {"versions": dict(versions), "licence": "Apache-2.0", "story": " ".join(self.story.split()) + "\n"}
        if self.hung:
            told["hung"] = True
        return told


def write(folder: Path, about: Mapping[str, Any]) -> None:
    """Write ``case.yaml`` into the folder of a case."""
    text = yaml.dump(dict(about), Dumper=_Prose, sort_keys=False, allow_unicode=True, width=118)
    (folder / "case.yaml").write_text(text, "utf-8")


class _Prose(yaml.SafeDumper):
    """YAML in which a text that ends in a newline is folded, to be read as prose."""


def _prose(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=">" if text.endswith("\n") else None)


_Prose.add_representer(str, _prose)


def experiments(folder: Path = LAB / "experiments") -> Iterator[Experiment]:
    """The experiments of all files in the folder, by the name of the file and as they stand in it."""
    for path in sorted(folder.glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"experiments_{path.stem}", path)
        if spec is None or spec.loader is None:
            raise ImportError(path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield from (replace(e, suite=path.stem) for e in module.EXPERIMENTS)
