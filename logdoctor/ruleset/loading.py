"""Folders of YAML files become a `Ruleset`, with all faults of all files."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from logdoctor.model import Defects, Mechanism, OwnerRow, Role, Rule, RuleError, RulesError
from logdoctor.pack.yaml_lines import Document, Faults
from logdoctor.ruleset import RuleFile
from logdoctor.ruleset.decisions import (
    DECISIONS_FILE,
    OWNERS_FILE,
    THINGS_FILE,
    Decisions,
    Owners,
    Things,
    read_decisions,
    read_owners,
    read_things,
    with_things,
)
from logdoctor.ruleset.defects import read_defects
from logdoctor.ruleset.documents import read_documents
from logdoctor.ruleset.mends import read_mends, with_mends
from logdoctor.ruleset.reader import read_rule
from logdoctor.ruleset.tables import ACTIONS, CLASSES, END_OF_LIFE, VERDICTS, Signature, Tables, read_tables

UNLISTED = "program fails"
"""Failure class of a signature that no table lists."""


class Ruleset(Struct, frozen=True):
    """All readable rules sorted by id, the tables beside them, and all faults.

    ``documents`` holds each file by the id of its rule, with the line of each part.
    """

    rules: tuple[Rule, ...] = ()
    signatures: dict[str, Signature] = field(default_factory=dict)
    mechanism: Mechanism = Mechanism()
    defects: Defects = Defects()
    faults: tuple[RuleError, ...] = ()
    documents: dict[str, Document] = field(default_factory=dict)

    def rule(self, name: str) -> Rule | None:
        return next((r for r in self.rules if r.id == name), None)


def load(folders: Sequence[Path]) -> Ruleset:
    """Read every rule below ``folders``. Raise `RulesError` with all faults of all files."""
    book = read(folders)
    if book.faults:
        raise RulesError(book.faults)
    return book


def read(folders: Sequence[Path], base: Sequence[Rule] = ()) -> Ruleset:
    """Read every rule below ``folders`` that has no fault. Later folders replace rules of earlier ones.

    Faults are collected in `Ruleset.faults`. If a file is faulty, the earlier folder's rule with this id stays.
    ``base`` are the rules of the first folder, if they were read before.
    """
    rules_by_id = {rule.id: (rule, Document(None)) for rule in base}
    faults: list[RuleError] = []
    tables = read_tables(folders, faults)
    choices = _choices(folders, faults)
    defects = read_defects(folders, tables.signatures, faults)
    names = {rule.id for rule in base}
    for folder in folders[1:] if base else folders:
        files = [*read_documents(folder, faults)]
        mends, mend_faults = read_mends(folder, faults)
        if not files and not mends:
            faults.append(_empty(folder))
        for file, document in files:
            names.add(file.id)
            rule = _read_rule(file, document, tables, choices, faults) if document else None
            if rule and document:
                rules_by_id[file.id] = rule, document
        for rule in with_mends([rule for rule, _ in rules_by_id.values()], mends, mend_faults):
            rules_by_id[rule.id] = rule, rules_by_id[rule.id][1]
        faults += mend_faults.errors
    rules = tuple(rules_by_id[rule_id][0] for rule_id in sorted(rules_by_id))
    faults += _check_together(rules, {*names, *tables.signatures})
    documents = {rule_id: document for rule_id, (_, document) in rules_by_id.items()}
    distinct = {str(fault): fault for fault in faults}  # variants repeat the faults of what they take from their base
    return Ruleset(rules, tables.signatures, tables.mechanism, defects, tuple(distinct.values()), documents)


def _choices(folders: Sequence[Path], errors: list[RuleError]) -> tuple[Decisions, Owners]:
    decisions, owners, things = Decisions(), Owners(), Things()
    for folder in folders:
        decisions.update(read_decisions(folder / DECISIONS_FILE, errors))
        owners.update(read_owners(folder / OWNERS_FILE, errors))
        things.update(read_things(folder / THINGS_FILE, errors))
    return with_things(decisions, things), owners


def _empty(folder: Path) -> RuleError:
    what = "there is no rule in this folder" if folder.is_dir() else "there is no such folder of rules"
    return RuleError(what, str(folder), "", "a rule is a file FOLDER/<family>/<signature>/rule.yaml")


def _read_rule(
    file: RuleFile, document: Document, tables: Tables, choices: tuple[Decisions, Owners], errors: list[RuleError]
) -> Rule | None:
    """Read the rule of a file. Return None if it has a fault, which is added to ``errors``."""
    faults = Faults(document, str(file.path))
    rule = read_rule(document, file, faults)
    if rule:
        rule = _with_action(rule, tables.signatures, faults)
        rule = _with_class(rule, tables, faults)
        rule = _with_choices(rule, choices, tables)
    errors += faults.errors
    return None if faults.errors else rule


def _with_class(rule: Rule, tables: Tables, faults: Faults) -> Rule:
    """Return the rule with its failure class, and with the role that follows from the side of that class.

    A signature of no table fails as a program does.
    """
    agreed = tables.signatures.get(rule.signature)
    name = rule.failure_class or (agreed.failure_class if agreed else "") or UNLISTED
    failure_class = tables.mechanism.classes.get(name)
    known = failure_class is not None and name != END_OF_LIFE
    if rule.failure_class and tables.mechanism.classes and not known:
        faults.add(("failure_class",), f"there is no failure class '{name}'", "", f"see {CLASSES}")
    if failure_class is None:
        return replace(rule, failure_class=name, role=rule.role or "cause")
    role: Role = "symptom" if failure_class.side == "seen" else "cause"
    side, place = failure_class.side, failure_class.scope
    return replace(rule, failure_class=name, role=rule.role or role, side=side, place=place)


def _with_choices(rule: Rule, choices: tuple[Decisions, Owners], tables: Tables) -> Rule:
    """Return the rule with its decisions and owners.

    A decision in its file wins. Owners of its failure class stand last.
    """
    decisions, owners = choices
    of_class = tables.mechanism.classes.get(rule.failure_class)
    default = tuple(OwnerRow("", who) for who in (of_class.owner if of_class else ()))
    names = rule.id, rule.signature
    return replace(
        rule,
        decisions=rule.decisions or next((decisions[name] for name in names if name in decisions), ()),
        owners=(*next((owners[name] for name in names if name in owners), ()), *default),
    )


def _with_action(rule: Rule, signatures: dict[str, Signature], faults: Faults) -> Rule:
    """Return the rule with the action of its signature, which a signature of no table says in the rule."""
    agreed = signatures.get(rule.signature)
    if not rule.action and (agreed or rule.role == "benign"):
        return replace(rule, action=agreed.action if agreed else "none")
    if not rule.action:
        why = f"signatures.tsv does not list {rule.signature}"
        faults.add((), "'action' is missing", why, f"one of {', '.join(ACTIONS)}")
    elif agreed and rule.role != "benign" and agreed.action != rule.action:
        why = f"signatures.tsv agrees on '{agreed.action}' for {agreed.id}"
        faults.add(("action",), f"the action is '{rule.action}'", why, "take it out, or use the agreed action")
    return rule


def _check_together(rules: Sequence[Rule], names: AbstractSet[str]) -> list[RuleError]:
    """Check that every id exists that a rule names. ``names`` holds ids of faulty rules too."""
    existing = {r.signature for r in rules} | names | set(VERDICTS)
    errors = []
    for rule in rules:
        for name in (because.of for because in rule.because):
            if name not in existing:
                errors.append(
                    RuleError(f"'because' names '{name}', which nothing has", rule.path, "", "see signatures.tsv")
                )
        for miss in rule.near_misses:
            if miss.truth not in existing:
                where = f"{rule.path}:{miss.line}"
                errors.append(
                    RuleError(f"a near-miss is '{miss.truth}', which nothing has", where, "", "see signatures.tsv")
                )
    return errors
