"""Issues of the lint, and the list of their codes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from logdoctor.model import Rule
from logdoctor.pack.yaml_lines import Document
from logdoctor.pack.yaml_lines import Path as Place

Severity = Literal["error", "warning", "note"]
TEXTS: Severity = "note"
"""Severity of issues of the language of texts. Notes are only counted, until all shipped rules are rewritten."""

CODES: dict[str, tuple[Severity, str]] = {
    "faulty": ("error", "the file cannot be read as a rule, or names something that does not exist"),
    "unlisted": ("error", "the signature is not in the signatures.tsv of the rule's folder"),
    "todo": ("error", "words of the skeleton are still to be written"),
    "unreachable": ("error", "the rule, or a symptom of it, can never hold"),
    "shadowed": ("error", "another rule takes the same lines and wins every time"),
    "never-hit": ("warning", "no example shows the symptom, so nothing proves it"),
    "overlapping": ("warning", "another rule claims the same line and nothing but the length of the match decides"),
    "unproven-because": ("warning", "no example or near-miss of the rule shows what its 'because' names beside it"),
    "broad": ("warning", "the literal words are so common that many harmless lines would be looked at"),
    "slow": ("warning", "there is no plain text in it to search for, which slows every scan"),
    "unknown-word": ("warning", "a {name} in the words, or the name of a field, is one that nothing fills"),
    "translation": ("warning", "another language's remedy has other steps, or other commands in backticks"),
    "old-slot": ("error", "an insertion holds other words for an unknown value; alternatives take their place"),
    "never-told": ("warning", "a form or an alternative is never told, because the one before it needs no value"),
    "denial": ("error", "a sentence says that the log does not tell something, and nothing looked whether that is so"),
    "last-form": (TEXTS, "the last form of a sentence needs a value that a log may leave open"),
    "long-title": (TEXTS, "a title has more than 70 characters, filled with the values of an example"),
    "long-cause": (TEXTS, "the first sentence of the cause has more than 25 words"),
    "long-remedy": (TEXTS, "the remedy has more than 60 words"),
    "no-help": ("error", "a step gives advice that 'not' names as useless or harmful"),
    "placeholder": (TEXTS, "a command holds a placeholder, so it cannot be copied"),
    "unused-ignore": ("warning", "the rule's lint entry silences what is not said"),
}
"""Code -> severity and meaning."""


class LintIssue(Struct, frozen=True):
    """A fault of a rule: what, where (``file:line``), why, and what to do."""

    code: str
    rule: str
    what: str
    where: str
    why: str = ""
    help: str = ""

    @property
    def severity(self) -> Severity:
        return CODES[self.code][0]

    def __str__(self) -> str:
        """Return the issue as compilers print it.

        ``my/net.yaml:3: error: still to be written: TODO [todo]``, with the reason and the help on lines of their own.
        """
        more = [f"  {name}: {text}" for name, text in (("why", self.why), ("help", self.help)) if text]
        return "\n".join([f"{self.where}: {self.severity}: {self.what} [{self.code}]", *more])


class RuleSource(Struct, frozen=True):
    """A rule and the file it was read from."""

    rule: Rule
    document: Document

    def issue(self, code: str, part: Place, what: str, why: str = "", help: str = "") -> LintIssue:
        """Return an issue at the line of ``part``, for example ``("symptoms", "gone", "text")``."""
        return LintIssue(code, self.rule.id, what, self.document.where(part), why, help)

    def folder(self, folders: Sequence[Path]) -> Path:
        """Return the folder of rules that holds the rule."""
        return next(f for f in reversed(folders) if Path(self.rule.path).is_relative_to(f))

    def ignored(self) -> dict[str, str]:
        """Return code -> reason of the rule's ``lint: {ignore: {code: reason}}``."""
        entry: Any = self.document.data.get("lint") or {}
        return dict(entry.get("ignore") or {})
