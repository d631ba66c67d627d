"""The pack is loaded once, and again after a rule has changed."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from logdoctor.model import LogdoctorError
from logdoctor.pack import cached_files, shipped
from logdoctor.pipeline import knowledge as pack_module
from logdoctor.pipeline.knowledge import gather
from logdoctor.ruleset import documents

RULE = """\
title: The {what} is out of tune
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
def rules_folder(tmp_path, monkeypatch) -> Path:
    """Return a folder with one rule, with a cache of its own.

    Only a few of the formats' patterns are used, because all of them take seconds.
    """
    monkeypatch.setenv("LOGDOCTOR_CACHE", str(tmp_path / "cache"))
    few = pack_module.record_patterns()[:3]
    monkeypatch.setattr(pack_module, "record_patterns", lambda: few)
    rule = tmp_path / "rules/app/out-of-tune.yaml"
    rule.parent.mkdir(parents=True)
    rule.write_text(RULE)
    return tmp_path / "rules"


def settle(monkeypatch) -> None:
    """Treat all files as unchanged for a long time."""
    monkeypatch.setattr(cached_files, "SETTLE_NS", -(10**15))


def count_compilations(monkeypatch) -> list[int]:
    compiled: list[int] = []
    compile_pack = pack_module.compile_rules
    monkeypatch.setattr(pack_module, "compile_rules", lambda *args: compiled.append(1) or compile_pack(*args))
    return compiled


def titles(rules_folder: Path) -> list[str]:
    return [rule.say("en").title[0] for rule in gather([rules_folder]).rules]


def test_unchanged_rules_are_compiled_once(rules_folder, monkeypatch):
    settle(monkeypatch)
    compiled = count_compilations(monkeypatch)
    assert titles(rules_folder) == titles(rules_folder) == ["The {what} is out of tune"]
    assert compiled == [1]


def test_rule_changed_in_place_is_read_again(rules_folder, monkeypatch):
    settle(monkeypatch)
    before = titles(rules_folder)
    (rules_folder / "app/out-of-tune.yaml").write_text(RULE.replace("out of tune\ncause", "in bad tune\ncause"))
    assert [before, titles(rules_folder)] == [["The {what} is out of tune"], ["The {what} is in bad tune"]]


def test_changed_rule_of_the_same_size_and_age_is_not_read_from_the_cache(rules_folder, monkeypatch):
    settle(monkeypatch)
    rule = rules_folder / "app/out-of-tune.yaml"
    age = rule.stat()
    before = titles(rules_folder)
    rule.write_text(RULE.replace("Nobody tuned it.", "Nobody heard it."))
    os.utime(rule, ns=(age.st_atime_ns, age.st_mtime_ns))
    assert titles(rules_folder) == before
    assert gather([rules_folder]).rules[0].say("en").cause[0] == "Nobody heard it."


def test_rule_changed_a_moment_ago_is_not_cached(rules_folder, monkeypatch):
    compiled = count_compilations(monkeypatch)
    assert titles(rules_folder) == titles(rules_folder)
    assert compiled == [1, 1]


def test_missing_folder_has_no_rules(rules_folder):
    assert gather([rules_folder / "gone"]).rules == ()


# ── a wheel's compiled rules ────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def as_wheel(rules_folder, monkeypatch) -> Path:
    """Return the folder of shipped rules, which are compiled as in a wheel."""
    monkeypatch.setattr(pack_module, "shipped_rules", lambda: rules_folder)
    table = msgspec.msgpack.encode(pack_module.compile_rules([rules_folder]))
    monkeypatch.setattr(shipped, "_tables", lambda: {pack_module.TABLE: msgspec.Raw(table)})
    return rules_folder


def test_shipped_rules_of_a_wheel_are_not_read_again(as_wheel, monkeypatch):
    compiled = count_compilations(monkeypatch)
    (as_wheel / "app/out-of-tune.yaml").unlink()
    assert titles(as_wheel) == ["The {what} is out of tune"]
    assert compiled == []


def test_compiled_rules_hold_no_path_of_the_machine_that_built_them(as_wheel):
    assert gather([as_wheel]).rules[0].path == ""


def test_own_rules_are_compiled_on_top_of_those_of_a_wheel(as_wheel, tmp_path, monkeypatch):
    own = tmp_path / "own/app/off-beat.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(RULE.replace("out of tune", "off the beat"))
    read_files: list[str] = []
    parse = documents.parse
    monkeypatch.setattr(documents, "parse", lambda text, where: read_files.append(where) or parse(text, where))
    pack = gather([as_wheel, tmp_path / "own"])
    assert [rule.id for rule in pack.rules] == ["app.off-beat", "app.out-of-tune"]
    assert read_files == [str(own)]
    found = [pack.matcher.match(f"the spinet is {how}".encode()) for how in ("off the beat", "out of tune")]
    assert found == [(3,), (4,)], "symptoms are numbered after the three patterns of formats"


def test_own_rule_replaces_the_rule_of_a_wheel_with_its_id(as_wheel, tmp_path):
    own = tmp_path / "own/app/out-of-tune.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(RULE.replace("Nobody tuned it.", "Somebody tuned it."))
    (rule,) = gather([as_wheel, tmp_path / "own"]).rules
    assert rule.say("en").cause[0] == "Somebody tuned it."


def test_damaged_table_of_a_wheel_is_told_with_its_file(as_wheel, monkeypatch):
    monkeypatch.setattr(shipped, "_tables", lambda: {pack_module.TABLE: msgspec.Raw(b"\x93")})
    with pytest.raises(LogdoctorError, match="damaged"):
        gather([as_wheel])
