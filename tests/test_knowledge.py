"""What logdoctor knows is read once, and anew when a rule was changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from logdoctor import cached_files
from logdoctor import knowledge as knowing
from logdoctor.knowledge import gather

RULE = """\
title: The {what|part} is out of tune
cause: Nobody tuned it.
action: retry
remedy: [Tune it.]
references: ['https://example.org/tuning']
symptoms:
  untuned: {text: 'the (?P<what>harpsichord|spinet) is out of tune'}
examples: [{log: 'the spinet is out of tune'}]
near_misses: [{is: healthy, log: 'the spinet is in tune'}]
"""


@pytest.fixture
def own(tmp_path, monkeypatch) -> Path:
    """A folder with one rule, and a cache of its own; most of the parsers' patterns, which take seconds, are left out."""
    monkeypatch.setenv("LOGDOCTOR_CACHE", str(tmp_path / "cache"))
    few = knowing.records()[:3]
    monkeypatch.setattr(knowing, "records", lambda: few)
    rule = tmp_path / "rules/app/out-of-tune.yaml"
    rule.parent.mkdir(parents=True)
    rule.write_text(RULE)
    return tmp_path / "rules"


def settle(monkeypatch) -> None:
    """Go on as if what lies there had not been touched for long."""
    monkeypatch.setattr(cached_files, "SETTLED", -(10**15))


def count_compiled(monkeypatch) -> list[int]:
    compiled: list[int] = []
    compile_it = knowing._compile
    monkeypatch.setattr(knowing, "_compile", lambda *given: compiled.append(1) or compile_it(*given))
    return compiled


def titles(own: Path) -> list[str]:
    return [rule.say("en").title for rule in gather([own]).rules]


def test_what_did_not_change_is_compiled_once(own, monkeypatch):
    settle(monkeypatch)
    compiled = count_compiled(monkeypatch)
    assert titles(own) == titles(own) == ["The {what|part} is out of tune"]
    assert compiled == [1]


def test_a_rule_that_was_changed_in_place_is_read_again(own, monkeypatch):
    settle(monkeypatch)
    before = titles(own)
    (own / "app/out-of-tune.yaml").write_text(RULE.replace("out of tune\ncause", "in bad tune\ncause"))
    assert [before, titles(own)] == [["The {what|part} is out of tune"], ["The {what|part} is in bad tune"]]


def test_a_rule_of_the_same_size_and_age_is_another_one(own, monkeypatch):
    settle(monkeypatch)
    rule = own / "app/out-of-tune.yaml"
    age = rule.stat()
    before = titles(own)
    rule.write_text(RULE.replace("Nobody tuned it.", "Nobody heard it."))
    os.utime(rule, ns=(age.st_atime_ns, age.st_mtime_ns))
    assert titles(own) == before
    assert gather([own]).rules[0].say("en").cause == "Nobody heard it."


def test_what_changed_a_moment_ago_is_not_kept(own, monkeypatch):
    compiled = count_compiled(monkeypatch)
    assert titles(own) == titles(own)
    assert compiled == [1, 1]


def test_a_folder_that_is_gone_has_no_rules(own):
    assert gather([own / "gone"]).rules == ()
