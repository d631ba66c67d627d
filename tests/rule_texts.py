"""Rule files: ours, read once, and those that the tests of the author's tools write."""

from __future__ import annotations

from pathlib import Path

from logdoctor.rulebook import shipped_rules
from logdoctor.rulebook.loading import load

BOOK = load([shipped_rules()])
"""The shipped rules with their examples: reading them takes a second."""
LICENCE = """\
title: The licence server {server|of the site} is gone
cause: The licence server {server|of the site} did not answer.
action: retry
remedy: ['Start it again']
references: ['https://example.org/licences']
symptoms:
  gone: {text: 'licence server (?P<server>[a-z]+) did not answer'}
examples: [{log: 'FATAL licence server hydra did not answer'}]
near_misses: [{is: healthy, log: 'licence server hydra answered'}]
"""


def rule_file(folder: Path, rule_id: str, text: str = LICENCE, *changes: tuple[str, str]) -> Path:
    """Write a rule of that id below ``folder``, with some of its text changed; each must be there."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path = folder.joinpath(*rule_id.split(".")).with_suffix(".yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
