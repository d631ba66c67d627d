"""Folders of YAML files in, a `Rulebook` out, or all faults at once."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from logdoctor.model import Rule, RuleError, RulesError
from logdoctor.rulebook import rule_files
from logdoctor.rulebook.reader import Faults, read_rule
from logdoctor.rulebook.signatures import VERDICTS, Signature, read_signatures
from logdoctor.rulebook.yaml_lines import parse


@dataclass(frozen=True)
class Rulebook:
    """All rules by their ids' order, and the agreed signatures."""

    rules: tuple[Rule, ...] = ()
    signatures: dict[str, Signature] = field(default_factory=dict)

    def rule(self, name: str) -> Rule | None:
        """The rule with this id, if there is one."""
        return next((r for r in self.rules if r.id == name), None)


def load(folders: Sequence[Path]) -> Rulebook:
    """Read every rule below ``folders``.  Raises `RulesError` with all faults of all files."""
    signatures: dict[str, Signature] = {}
    for folder in folders:
        signatures.update(read_signatures(folder / "signatures.tsv"))
    rules: list[Rule] = []
    errors: list[RuleError] = []
    for rule_id, path in rule_files(folders):
        try:
            document = parse(path.read_text("utf-8"), str(path))
        except RuleError as error:
            errors.append(error)
            continue
        except (OSError, UnicodeDecodeError) as error:
            errors.append(RuleError("the rule file could not be read", str(path), str(error), "save it as UTF-8 text"))
            continue
        faults = Faults(document, str(path))
        rule = read_rule(document, rule_id, str(path), faults)
        if rule:
            _check_signature(rule, signatures, faults)
            rules.append(rule)
        errors += faults.errors
    errors += _check_together(rules, signatures)
    if errors:
        raise RulesError(errors)
    return Rulebook(tuple(rules), signatures)


def _check_signature(rule: Rule, signatures: dict[str, Signature], faults: Faults) -> None:
    agreed = signatures.get(rule.signature)
    if agreed and rule.role != "benign" and agreed.action != rule.action:
        why = f"signatures.tsv agrees on '{agreed.action}' for {agreed.id}"
        faults.add(("action",), f"the action is '{rule.action}'", why, "use the agreed action")


def _check_together(rules: list[Rule], signatures: dict[str, Signature]) -> list[RuleError]:
    """The laws between rules: every id that one names exists."""
    known = {r.signature for r in rules} | {r.id for r in rules} | set(signatures) | set(VERDICTS)
    errors = []
    for rule in rules:
        for name in rule.explains:
            if not any(fnmatch.fnmatchcase(k, name) for k in known):
                errors.append(
                    RuleError(f"'explains' names '{name}', which nothing has", rule.path, "", "see signatures.tsv")
                )
        for miss in rule.near_misses:
            if miss.truth not in known:
                where = f"{rule.path}:{miss.line}"
                errors.append(
                    RuleError(f"a near-miss is '{miss.truth}', which nothing has", where, "", "see signatures.tsv")
                )
    return errors
