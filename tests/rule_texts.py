"""The shipped rules, and a rule file that tests can write and change."""

from __future__ import annotations

from pathlib import Path

from logdoctor.model import StepWords, Words, pack_words
from logdoctor.ruleset import shipped_rules
from logdoctor.ruleset.loading import load

BOOK = load([shipped_rules()])
"""The shipped rules with their examples.  They are read once, because that takes a second."""
LICENCE = """\
title: ['The licence server {server} is gone', A licence server is gone]
cause: ['The licence server {server} did not answer.', A licence server did not answer.]
action: retry
remedy: ['Start it again']
references: ['https://example.org/licences']
symptoms:
  gone: {text: 'licence server (?P<server>[a-z]+) did not answer'}
examples: [{log: 'FATAL licence server hydra did not answer'}]
near_misses: [{is: healthy, log: 'licence server hydra answered'}]
"""


def packed_words(title: str, cause: str, *steps: str) -> bytes:
    """Return English words without further forms, as a rule holds them."""
    return pack_words((("en", Words((title,), (cause,), tuple(StepWords((step,)) for step in steps))),))


def rule_file(folder: Path, rule_id: str, text: str = LICENCE, *changes: tuple[str, str]) -> Path:
    """Write the rule ``rule_id`` below ``folder``.

    ``changes`` are pairs of old and new text.  Each old text must be in the rule.
    """
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path = folder.joinpath(*rule_id.split(".")).with_suffix(".yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
