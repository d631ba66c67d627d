"""Labelled cases: folders with logs and a ``case.yaml`` or ``case.json``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from logdoctor.model import InputError

LOG_SUFFIXES = (".log", ".txt", ".out", ".err")


class Case(Struct, frozen=True):
    """A job with the right answer.

    - ``label``: the signature, ``healthy`` or ``unknown``.
    - ``also``: other right answers.
    - ``visible``: the logs contain the cause.
    - ``ranks``, ``hosts``: the culprit, if known.
    - ``hung``: the user says that the job hangs.
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
        return frozenset((self.label, *self.also))


def load_cases(folders: Iterable[Path]) -> list[Case]:
    """Load the cases below ``folders``, sorted by path. Raises `InputError` if a case is faulty or there is none."""
    cases = [_load_case(file) for folder in folders for file in sorted(_case_files(folder))]
    if not cases:
        where = ", ".join(map(str, folders))
        raise InputError("there are no cases", where, "", "a case is a folder with case.yaml or case.json, and logs")
    return cases


def _case_files(folder: Path) -> Iterator[Path]:
    yield from folder.rglob("case.yaml")
    yield from folder.rglob("case.json")


def _load_case(file: Path) -> Case:
    content = _read(file)
    culprit = content.get("culprit") or {}
    ranks, hosts = (_values(culprit, name) for name in ("rank", "host"))
    return Case(
        name=file.parent.name,
        logs=tuple(str(p) for p in sorted(file.parent.rglob("*")) if p.suffix in LOG_SUFFIXES and p.is_file()),
        label=str(content["label"]),
        also=tuple(map(str, content.get("also") or ())),
        visible=bool(content.get("visible", True)),
        ranks=tuple(r for r in ranks if isinstance(r, int)),
        hosts=tuple(map(str, hosts)),
        hung=bool(content.get("hung")),
    )


def _read(file: Path) -> Mapping[str, Any]:
    import yaml

    try:
        text = file.read_text("utf-8")
        content = json.loads(text) if file.suffix == ".json" else yaml.safe_load(text)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise InputError("a case could not be read", str(file), str(error)) from None
    if not isinstance(content, Mapping) or not isinstance(content.get("label"), str):
        raise InputError("a case has no label", str(file), "", "add 'label: SIGNATURE'")
    return content


def _values(culprit: Any, name: str) -> list[Any]:
    """Return the value of ``name`` or its plural as a list. ``{rank: 3}`` and ``{ranks: [3]}`` both give ``[3]``."""
    if not isinstance(culprit, Mapping):
        return []
    value = culprit.get(name, culprit.get(f"{name}s"))
    return value if isinstance(value, list) else [] if value is None else [value]
