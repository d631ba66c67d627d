"""Tables beside the rules: ``signatures.tsv``, ``failure_classes.tsv``, ``mechanism.tsv``."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

from msgspec import Struct

from logdoctor.model import CLAIMS, Action, Arrow, Claim, FailureClass, Mechanism, RuleError, Side, Where, Who
from logdoctor.model.own_files import read_source
from logdoctor.ruleset.durations import seconds

SIGNATURES, CLASSES, MECHANISM = "signatures.tsv", "failure_classes.tsv", "mechanism.tsv"
ACTIONS: tuple[Action, ...] = ("stop", "retry", "exclude", "none")
VERDICTS = ("healthy", "unknown")
END_OF_LIFE = "process ends"
"""Class that no signature has: the end of a process, whatever ended it."""
MAX_FAULTS = 100


class Signature(Struct, frozen=True):
    """A way in which a job fails, with the action of all its rules."""

    id: str
    family: str
    action: Action
    failure_class: str
    kind_of: str
    """The wider signature that this one tells more exactly, or ""."""
    meaning: str
    near: tuple[str, ...]
    """Signatures that a log often cannot tell from this one. Each of them names this one."""
    where: str
    """``file:line`` of its row."""


def read_signatures(path: Path, errors: list[RuleError]) -> dict[str, Signature]:
    """Read the table by id. A missing file is an empty table. Faulty lines are added to ``errors``."""

    def read(cells: list[str], where: str) -> Signature:
        name, family, action, failure_class, kind_of, meaning, near = cells if len(cells) > 6 else [*cells, ""]
        return Signature(name, family, _one_of(action, ACTIONS), failure_class, kind_of, meaning, _list(near), where)

    columns = f"id, family, action ({', '.join(ACTIONS)}), failure_class, kind_of, meaning, near (may be left out)"
    return {row.id: row for row in read_rows(path, columns, read, errors)}


class Tables(Struct, frozen=True):
    """The tables of several folders. Rows of later folders replace earlier ones."""

    signatures: dict[str, Signature]
    mechanism: Mechanism


def read_tables(folders: Sequence[Path], errors: list[RuleError]) -> Tables:
    """Read all tables below ``folders``. Faults are added to ``errors``."""
    signatures: dict[str, Signature] = {}
    classes: dict[str, FailureClass] = {}
    rows: list[tuple[list[Arrow], str]] = []
    for folder in folders:
        signatures |= read_signatures(folder / SIGNATURES, errors)
        classes |= {c.id: c for c in read_rows(folder / CLASSES, _CLASS_COLUMNS, _read_class, errors)}
        rows += read_rows(folder / MECHANISM, _ARROW_COLUMNS, _read_arrows, errors)
    errors += _faults(signatures, classes, rows)
    wider = {s.id: s.kind_of for s in signatures.values() if s.kind_of}
    return Tables(signatures, Mechanism(classes, tuple(a for row, _ in rows for a in row), wider))


OWNERS: tuple[str, ...] = (*get_args(Who), "frames")
"""Owners that a table may name. ``frames`` stands for the proof."""
_CLASS_COLUMNS = "id, side (own, seen), scope, ends (yes, mostly, no), owner, claims"
_ARROW_COLUMNS = f"from, to, where ({', '.join(get_args(Where))}), within (- or a time such as 5m)"


def _read_class(cells: list[str], _where: str) -> FailureClass:
    name, side, scope, ends, owner, claims = cells
    sides: tuple[Side, ...] = get_args(Side)
    ends_values = ("yes", "mostly", "no")
    owners = tuple(_one_of(who, OWNERS) for who in _list(owner) if who != "-")
    return FailureClass(name, _one_of(side, sides), scope, _one_of(ends, ends_values), owners, _claims(claims))


def read_claim(text: str) -> Claim:
    """Read ``ended:9|137``. Raise ValueError for an unknown name."""
    name, _, wanted = text.partition(":")
    return Claim(_one_of(name.strip(), CLAIMS), wanted.strip())


def _claims(cell: str) -> tuple[Claim, ...]:
    return tuple(map(read_claim, _list(cell)))


def _read_arrows(cells: list[str], where: str) -> tuple[list[Arrow], str]:
    source, targets, place, within = cells
    limit = seconds(within) if within else None
    place = _one_of(place, get_args(Where))
    return [Arrow(source, target, place, limit) for target in _list(targets)], where


def read_rows(path: Path, columns: str, read: Callable[[list[str], str], Any], errors: list[RuleError]) -> list[Any]:
    """Return what ``read`` makes of each row. It raises ValueError for a faulty row. ``-`` is an empty cell."""
    if not os.path.lexists(path):
        return []
    try:
        lines = read_source(path, "the table could not be read").splitlines()
    except RuleError as error:
        errors.append(error)
        return []
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = ["" if cell == "-" else cell for cell in line.split("\t")]
        try:
            rows.append(read(cells, f"{path}:{number}"))
        except ValueError:
            if len(errors) < MAX_FAULTS:
                what = "the row is not understood"
                errors.append(RuleError(what, f"{path}:{number}", line[:80], f"the columns are {columns}"))
    return rows


def _one_of(value: str, allowed: Sequence[Any]) -> Any:
    if value not in allowed:
        raise ValueError(value)
    return value


def _list(cell: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in cell.split(",") if part.strip())


def _faults(
    signatures: dict[str, Signature], classes: dict[str, FailureClass], rows: list[tuple[list[Arrow], str]]
) -> list[RuleError]:
    """Return what the tables say of classes or signatures that do not exist, and circles of kinds."""
    faults = []
    for row in signatures.values():
        if row.id in VERDICTS:
            continue
        if classes and (row.failure_class not in classes or row.failure_class == END_OF_LIFE):
            what = f"{row.id} has the failure class '{row.failure_class}', which is none"
            faults.append(RuleError(what, row.where, "", f"see {CLASSES}"))
        if row.kind_of and row.kind_of not in signatures:
            faults.append(RuleError(f"{row.id} is a kind of '{row.kind_of}', which nothing has", row.where, "", ""))
        elif row.id in _wider(row, signatures):
            faults.append(RuleError(f"{row.id} is a kind of itself", row.where, "", "take one kind_of out"))
        for name in row.near:
            if name not in signatures or row.id not in signatures[name].near:
                cure = f"{name} must be a signature that names {row.id} as near"
                faults.append(RuleError(f"{row.id} is near '{name}', but not the other way round", row.where, "", cure))
    for arrows, where in rows:
        for name in {arrow.source for arrow in arrows} | {arrow.target for arrow in arrows}:
            if name not in classes:
                faults.append(RuleError(f"there is no failure class '{name}'", where, "", f"see {CLASSES}"))
    return faults


def _wider(row: Signature, signatures: dict[str, Signature]) -> list[str]:
    """Return all wider signatures, with the signature itself if they lead back to it."""
    names: list[str] = []
    while row.kind_of in signatures and row.kind_of not in names:
        names.append(row.kind_of)
        row = signatures[row.kind_of]
    return names
