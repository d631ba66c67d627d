"""Check that ``signatures.tsv`` lists the signature of a rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from logdoctor.authoring.lint_issue import LintIssue, RuleSource
from logdoctor.ruleset.tables import SIGNATURES, Signature


def check_signature(
    source: RuleSource, folders: Sequence[Path], signatures: Mapping[str, Signature]
) -> Iterator[LintIssue]:
    """Find a signature that no table lists. A folder of rules without a table may use any signature."""
    signature, action = source.rule.signature, source.rule.action
    folder = source.folder(folders)
    if signature in signatures or not (folder / SIGNATURES).is_file():
        return
    what = f"the signature {signature} is not in {folder / SIGNATURES}"
    why = "rules, labelled cases and reports agree there on its family, action, failure class and meaning"
    cure = f'add the line "{signature}<TAB>{_family(signature, signatures)}<TAB>{action}<TAB>CLASS<TAB>-<TAB>MEANING"'
    yield source.issue("unlisted", ("signature",), what, why, cure)


def _family(signature: str, signatures: Mapping[str, Signature]) -> str:
    """Return the family of signatures with the same first word: ``network`` for ``net.link-lost``."""
    prefix = signature.partition(".")[0]
    return next((s.family for s in signatures.values() if s.id.partition(".")[0] == prefix), prefix)
