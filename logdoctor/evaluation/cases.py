"""Labelled cases: folders with a ``case.yaml`` (as in a corpus) or a ``case.json``, and logs beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from logdoctor.evaluation.training_data import LOG_NAMES
from logdoctor.model import InputError


class Case(Struct, frozen=True):
    """One job and the truth about it: the ``label``, what else is a right answer, and who did it, where known.

    ``visible``: its logs hold the cause; ``hung``: the user says that it hangs.
    """

    name: str
    logs: tuple[str, ...]
    label: str
    also: tuple[str, ...] = ()
    visible: bool = True
    ranks: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    hung: bool = False

    @property
    def accepted(self) -> frozenset[str]:
        """All right answers."""
        return frozenset((self.label, *self.also))


def cases_of(folders: Iterable[Path]) -> list[Case]:
    """The cases below ``folders``, in the order of their names.  Raises `InputError` for a faulty one or for none."""
    found = [_case(file) for folder in folders for file in sorted(_files(folder))]
    if not found:
        where = ", ".join(map(str, folders))
        raise InputError("there are no cases", where, "", "a case is a folder with case.yaml or case.json, and logs")
    return found


def _files(folder: Path) -> Iterator[Path]:
    yield from folder.rglob("case.yaml")
    yield from folder.rglob("case.json")


def _case(file: Path) -> Case:
    told = _read(file)
    culprit = told.get("culprit") or {}
    ranks, hosts = (_values(culprit, one) for one in ("rank", "host"))
    return Case(
        name=file.parent.name,
        logs=tuple(str(p) for p in sorted(file.parent.rglob("*")) if p.suffix in LOG_NAMES and p.is_file()),
        label=str(told["label"]),
        also=tuple(map(str, told.get("also") or ())),
        visible=bool(told.get("visible", True)),
        ranks=tuple(r for r in ranks if isinstance(r, int)),
        hosts=tuple(map(str, hosts)),
        hung=bool(told.get("hung")),
    )


def _read(file: Path) -> Mapping[str, Any]:
    import yaml

    try:
        text = file.read_text("utf-8")
        told = json.loads(text) if file.suffix == ".json" else yaml.safe_load(text)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise InputError("a case could not be read", str(file), str(error)) from None
    if not isinstance(told, Mapping) or not isinstance(told.get("label"), str):
        raise InputError("a case has no label", str(file), "", "add 'label: SIGNATURE'")
    return told


def _values(culprit: Any, name: str) -> list[Any]:
    """What is told under ``rank`` or ``ranks``, as a list."""
    if not isinstance(culprit, Mapping):
        return []
    value = culprit.get(name, culprit.get(f"{name}s"))
    return value if isinstance(value, list) else [] if value is None else [value]
