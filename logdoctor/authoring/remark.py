"""What the lint says about a rule: a remark, and the kinds of remarks there are."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from logdoctor.model import Rule
from logdoctor.rulebook.yaml_lines import Document, Path

Severity = Literal["error", "warning"]

CODES: dict[str, tuple[Severity, str]] = {
    "faulty": ("error", "the file cannot be read as a rule, or names something that does not exist"),
    "todo": ("error", "words of the skeleton are still to be written"),
    "unreachable": ("error", "the rule, or a symptom of it, can never hold"),
    "shadowed": ("error", "another rule takes the same lines and wins every time"),
    "never-hit": ("warning", "no example shows the symptom, so nothing proves it"),
    "overlapping": ("warning", "another rule claims the same line and neither explains the other"),
    "cycle": ("warning", "rules explain each other in a circle, so none of them would be the cause"),
    "broad": ("warning", "the literal words are so common that many harmless lines would be looked at"),
    "slow": ("warning", "there is no plain text in it to search for, which slows every scan"),
    "unknown-word": ("warning", "a {name} in the words, or the name of a field, is one that nothing fills"),
    "translation": ("warning", "another language's remedy has other steps, or other commands in backticks"),
    "unused-ignore": ("warning", "the rule's lint entry silences what is not said"),
}
"""Every kind of remark: how bad it is, and what it means."""


class Remark(Struct, frozen=True):
    """One thing that is wrong with a rule: what, where (``file:line``), why, and what to do."""

    code: str
    rule: str
    what: str
    where: str
    why: str = ""
    help: str = ""

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return CODES[self.code][0]

    def __str__(self) -> str:
        """As a compiler says it, with why and help below."""
        more = [f"  {name}: {text}" for name, text in (("why", self.why), ("help", self.help)) if text]
        return "\n".join([f"{self.where}: {self.severity}: {self.what} [{self.code}]", *more])


class Written(Struct, frozen=True):
    """A rule and the file it was read from."""

    rule: Rule
    document: Document

    def remark(self, code: str, part: Path, what: str, why: str = "", help: str = "") -> Remark:
        """A remark on the part of the file that stands at ``part``."""
        where = f"{self.rule.path}:{self.document.line(part)}"
        return Remark(code, self.rule.id, what, where, why, help)

    def ignored(self) -> dict[str, str]:
        """The codes that the rule's ``lint: {ignore: {code: reason}}`` silences, with the reasons."""
        entry: Any = self.document.data.get("lint") or {}
        return dict(entry.get("ignore") or {})
